package redis

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// listing is the position in a list of all sessions. The zero value is the beginning.
type listing struct {
	// node is the address of the server being scanned, and next the cursor of its scan.
	node string
	next uint64
	// last is true if the node was scanned, end if all nodes were and nothing is pending.
	last, end bool
	// pending are the principals that were found, by the hash in their key.
	pending []string
	// until and member are the last listed session of the first of them: its expiry and its tag. An
	// empty member means none.
	until  int64
	member string
}

// String returns the cursor; empty at the end.
func (p *listing) String() string {
	if p.end {
		return ""
	}
	out := packer{format}
	out.text(p.node)
	out.number(p.next)
	out.flag(p.last)
	out.number(uint64(len(p.pending)))
	for _, h := range p.pending {
		raw, _ := hex.DecodeString(h)
		out.bytes(raw)
	}
	out.number(uint64(p.until)) // #nosec G115 -- parseListing turns it back
	out.text(p.member)
	return base64.RawURLEncoding.EncodeToString(out)
}

func parseListing(cursor string) (*listing, error) {
	if cursor == "" {
		return &listing{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, badCursor(cursor)
	}
	u := open(raw)
	p := &listing{node: u.text(), next: u.number(), last: u.number() == 1}
	for n := u.number(); n > 0 && !u.bad; n-- {
		p.pending = append(p.pending, hex.EncodeToString(u.bytes()))
	}
	p.until, p.member = int64(u.number()), u.text() // #nosec G115 -- it was packed from an int64
	if u.bad {
		return nil, badCursor(cursor)
	}
	return p, nil
}

// node is a server that has keys.
type node struct {
	addr   string
	client redis.Cmdable
}

// nodes returns the masters of a Cluster with their addresses, or the one server.
func (r *Replica) nodes(ctx context.Context) ([]node, error) {
	cluster, ok := r.client.(*redis.ClusterClient)
	if !ok {
		return []node{{"redis", r.client}}, nil
	}
	var mu sync.Mutex
	var out []node
	err := cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		out = append(out, node{c.Options().Addr, c})
		return nil
	})
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	slices.SortFunc(out, func(a, b node) int { return cmp.Compare(a.addr, b.addr) })
	return out, nil
}

// scan scans for further principals.
func (r *Replica) scan(ctx context.Context, nodes []node, at *listing) error {
	i := slices.IndexFunc(nodes, func(n node) bool { return n.addr > at.node || n.addr == at.node && !at.last })
	if i < 0 {
		at.end = true
		return nil
	}
	n := nodes[i]
	if n.addr != at.node {
		at.node, at.next = n.addr, 0
	}
	pattern := globEscaper.Replace(r.prefix) + ":p:{*}"
	keys, next, err := n.client.Scan(ctx, at.next, pattern, scanMany).Result()
	if err == nil && len(keys) > maxPending {
		// A scan may be resumed from the same cursor any number of times.
		keys, next, err = n.client.Scan(ctx, at.next, pattern, scanFew).Result()
	}
	if err != nil {
		return unavailable(ctx, err)
	}
	for _, k := range keys {
		k = strings.TrimSuffix(strings.TrimPrefix(k, r.prefix+":p:{"), "}")
		if raw, err := hex.DecodeString(k); err == nil && len(raw) > 0 {
			at.pending = append(at.pending, k)
		}
	}
	at.next, at.last = next, next == 0
	return nil
}

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

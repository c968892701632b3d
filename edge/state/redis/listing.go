package redis

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
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
	until  uint64
	member string
}

// String returns the cursor; empty at the end.
func (p *listing) String() string {
	if p.end {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(pack(p, (*codec).listing))
}

func (c *codec) listing(p *listing) {
	c.text(&p.node)
	c.number(&p.next)
	c.flag(&p.last)
	c.texts(&p.pending)
	c.number(&p.until)
	c.text(&p.member)
}

func parseListing(cursor string) (*listing, error) {
	if cursor == "" {
		return &listing{}, nil
	}
	p := new(listing)
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || unpack(raw, p, (*codec).listing) != nil {
		return nil, fmt.Errorf("cursor %.40q: %w", cursor, state.ErrCursor)
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

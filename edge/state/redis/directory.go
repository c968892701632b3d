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
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

const (
	// listRounds bounds the round trips that look for one page, besides the one that reads it.
	listRounds = 64
	// scanMany keys are scanned in one of them, or scanFew if many are keys of principals: those
	// wait in the cursor, whose length maxPending bounds.
	scanMany, scanFew, maxPending = 1000, 16, 64
)

// peek reads a session without using it.
func (r *Replica) peek(ctx context.Context, id string) (*state.SessionInfo, error) {
	var info *state.SessionInfo
	found := noSession(id)
	err := r.readSessions(ctx, []string{escapeID(id)}, func(_ string, s *state.SessionInfo, err error) { info, found = s, err })
	if err = cmp.Or(err, found); err != nil {
		return nil, err
	}
	return info, nil
}

// List implements medium.Replicas. It walks the sessions counted for each principal, which it finds
// by SCAN. If a server is replaced or the slots of a Cluster move meanwhile, some may be missing.
func (r *Replica) List(ctx context.Context, cursor string, max int) ([]*state.SessionInfo, string, error) {
	if err := ctx.Err(); err != nil || max <= 0 {
		return nil, cursor, err
	}
	at, err := parseListing(cursor)
	if err != nil {
		return nil, "", err
	}
	nodes, err := r.nodes(ctx)
	if err != nil {
		return nil, "", err
	}
	var tags []string
	for round := 0; round < listRounds && len(tags) < max && !at.end; round++ {
		if len(at.pending) == 0 {
			err = r.scan(ctx, nodes, at)
		} else {
			var more []string
			more, err = r.members(ctx, at, max-len(tags))
			tags = append(tags, more...)
		}
		if err != nil {
			return nil, "", err
		}
	}
	var page []*state.SessionInfo
	// A session that has ended is counted for a while.
	err = r.readSessions(ctx, tags, func(id string, s *state.SessionInfo, err error) {
		if err != nil {
			r.log.Warn("a session cannot be listed", "session", telemetry.SessionPrint(id), "error", err)
			return
		}
		page = append(page, s)
	})
	return page, at.String(), err
}

// readSessions reads sessions by their tags in one round trip, without using them. It calls visit for
// each that exists, with the error if its record cannot be read.
func (r *Replica) readSessions(ctx context.Context, tags []string, visit func(id string, s *state.SessionInfo, err error)) error {
	records, lives := make([]*redis.SliceCmd, len(tags)), make([]*redis.DurationCmd, len(tags))
	subscribed := make([]*redis.StringSliceCmd, len(tags))
	err := r.pipe(ctx, func(p redis.Pipeliner) {
		for i, tag := range tags {
			key := r.tagged(tag)
			records[i], lives[i] = p.HMGet(ctx, key, "rec", "ser", "run"), p.PTTL(ctx, key)
			subscribed[i] = p.ZRange(ctx, key+":s", 0, -1)
		}
	})
	if err != nil {
		return err
	}
	for i, tag := range tags {
		fields := reply{rest: records[i].Val()}
		if fields.text(0) == "" {
			continue
		}
		rec, err := r.readSession(idOf(tag), fields.text(0), fields.text(1), subscribed[i].Val())
		visit(idOf(tag), &state.SessionInfo{
			Session: rec, OpenCalls: int(max(fields.number(2), 0)), Expires: time.Now().Add(max(lives[i].Val(), 0)),
		}, err)
	}
	return nil
}

// members returns at most max next sessions of the first pending principal. They are sorted by
// expiry, which only increases, so that none is skipped, and then by name.
func (r *Replica) members(ctx context.Context, at *listing, max int) (out []string, err error) {
	by := &redis.ZRangeBy{Min: "-inf", Max: "+inf", Count: int64(max)}
	if at.member != "" {
		by.Min = text(at.until)
	}
	last := *at
	for len(out) == 0 {
		list, err := r.client.ZRangeByScoreWithScores(ctx, r.principalOf(at.pending[0]), by).Result()
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		for _, z := range list {
			tag, _ := z.Member.(string)
			if uint64(z.Score) == at.until && tag <= at.member {
				continue // It was listed before and expires at the same time.
			}
			last.until, last.member = uint64(z.Score), tag
			out = append(out, tag)
		}
		if len(list) < max {
			last.pending, last.until, last.member = at.pending[1:], 0, ""
			break
		}
		by.Offset += int64(len(list))
	}
	*at = last
	return out, nil
}

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
	notHex := func(k string) bool {
		raw, err := hex.DecodeString(k)
		return err != nil || len(raw) == 0
	}
	if err != nil || unpack(raw, p, (*codec).listing) != nil || slices.ContainsFunc(p.pending, notHex) {
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
	if r.cluster == nil {
		return []node{{"redis", r.single}}, nil
	}
	var mu sync.Mutex
	var out []node
	err := r.cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
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

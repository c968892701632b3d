package redis

import (
	"context"
	"errors"
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
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	seen, err := r.readSessions(ctx, []string{escapeID(id)})
	switch {
	case err != nil:
		return nil, err
	case seen[0] == nil:
		return nil, noSession(id)
	}
	return r.sighting(seen[0])
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
	page, err := r.sightings(ctx, tags)
	return page, at.String(), err
}

func (r *Replica) sightings(ctx context.Context, tags []string) ([]*state.SessionInfo, error) {
	seen, err := r.readSessions(ctx, tags)
	if err != nil {
		return nil, err
	}
	var out []*state.SessionInfo
	for i, s := range seen {
		if s == nil {
			continue // It has ended; its place is counted for a while.
		}
		one, err := r.sighting(s)
		if err != nil {
			r.log.Warn("a session cannot be listed", "session", telemetry.SessionPrint(idOf(tags[i])), "error", err)
			continue
		}
		out = append(out, one)
	}
	return out, nil
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

// storedSession is a session as stored in Redis, with its record as readSession takes it.
type storedSession struct {
	id     string
	record []any
	calls  int
	left   time.Duration
}

func (r *Replica) sighting(s *storedSession) (*state.SessionInfo, error) {
	rec, err := r.readSession(s.id, s.record)
	if err != nil {
		return nil, err
	}
	return &state.SessionInfo{Session: rec, OpenCalls: s.calls, Expires: time.Now().Add(s.left)}, nil
}

// readSessions reads sessions by their tags in one round trip; nil for one that does not exist.
func (r *Replica) readSessions(ctx context.Context, tags []string) ([]*storedSession, error) {
	if len(tags) == 0 {
		return nil, nil
	}
	records, lives := make([]*redis.SliceCmd, len(tags)), make([]*redis.DurationCmd, len(tags))
	subscribed := make([]*redis.StringSliceCmd, len(tags))
	_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, tag := range tags {
			key := r.tagged(tag)
			records[i], lives[i] = p.HMGet(ctx, key, "rec", "ser", "run"), p.PTTL(ctx, key)
			subscribed[i] = p.ZRange(ctx, key+":s", 0, -1)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, unavailable(ctx, err)
	}
	out := make([]*storedSession, len(tags))
	for i := range tags {
		fields := reply{rest: records[i].Val()}
		if rec := fields.text(0); rec != "" {
			var uris []any
			for _, uri := range subscribed[i].Val() {
				uris = append(uris, uri)
			}
			record := []any{rec, fields.text(1), uris}
			out[i] = &storedSession{id: idOf(tags[i]), record: record, calls: int(max(fields.number(2), 0)), left: max(lives[i].Val(), 0)}
		}
	}
	return out, nil
}

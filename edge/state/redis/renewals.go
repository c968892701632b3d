package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// maxRenewal bounds the interval at which uses of a session are counted in Redis.
const maxRenewal = time.Minute

// renewal returns that interval. A session may live that much longer than its limit, and a
// follower's registration lasts as long. It is short compared with the limit, so that a session
// that ended soon frees its place.
func renewal(l state.Limits) time.Duration {
	pause := min(l.SessionTTL/16, maxRenewal)
	return max(pause, min(l.SessionTTL/4, time.Second), time.Millisecond)
}

// renewals are the sessions whose use by this replica was recently counted in Redis: their expiry
// was extended, and the replica is among their holders. Until the next renewal is due, a copy is
// revalidated without one.
type renewals struct {
	every time.Duration
	mu    sync.Mutex
	due   map[string]time.Time
	swept time.Time
}

func (u *renewals) init(every time.Duration) { u.every, u.due = every, make(map[string]time.Time) }

// recordUse records a use. The next one is due at a time that varies between sessions.
func (u *renewals) recordUse(id string) {
	now := time.Now()
	next := now.Add(u.every - rand.N(u.every/4+1)) // #nosec G404 -- a pause is no secret
	u.mu.Lock()
	defer u.mu.Unlock()
	u.due[id] = next
	u.sweep(now)
}

// forget makes every session due, because Redis may have lost the uses.
func (u *renewals) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.due)
}

// isEarly reports whether a session's next use need not be counted.
func (u *renewals) isEarly(id string) bool {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	return now.Before(u.due[id])
}

// sweep occasionally drops sessions that are not used here any more. The caller holds u.mu.
func (u *renewals) sweep(now time.Time) {
	if now.Sub(u.swept) <= u.every {
		return
	}
	u.swept = now
	maps.DeleteFunc(u.due, func(_ string, at time.Time) bool { return now.Sub(at) > u.every })
}

// split separates the sessions whose use must be counted from those for which it is too early.
func (u *renewals) split(ids []string) (due, early []string) {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, id := range ids {
		if now.Before(u.due[id]) {
			early = append(early, id)
		} else {
			due = append(due, id)
		}
	}
	u.sweep(now)
	return due, early
}

// Touch implements medium.Sessions. With use, it mostly only reads the serials; at the latest after
// a quarter of SessionTTL, or a minute, it also counts a use.
func (r *Replica) Touch(ctx context.Context, ids []string, use bool) (map[string]uint64, error) {
	out := make(map[string]uint64, len(ids))
	var due []string
	early := ids
	if use {
		due, early = r.renewals.split(ids)
	}
	for batch := range slices.Chunk(early, pipeline) {
		if err := r.serials(ctx, batch, out); err != nil {
			return nil, err
		}
	}
	err := r.each(ctx, touchScript, due, func(int) []any { return nil }, func(i int, rep reply) (err error) {
		if rep.code == "ok" {
			r.renewals.recordUse(due[i])
			out[due[i]], err = serial(due[i], rep.text(0))
		}
		return cmp.Or(rep.err, err)
	})
	if err != nil {
		return nil, err
	}
	return out, ctx.Err()
}

// serials reads the serials of those sessions that exist.
func (r *Replica) serials(ctx context.Context, ids []string, out map[string]uint64) error {
	cmds := make([]*redis.StringCmd, len(ids))
	err := r.pipe(ctx, func(p redis.Pipeliner) {
		for i, id := range ids {
			cmds[i] = p.HGet(ctx, r.session(id), "ser")
		}
	})
	if cmds[0] == nil { // Nothing was sent.
		return err
	}
	for i, cmd := range cmds {
		text, err := cmd.Result()
		switch {
		case errors.Is(err, redis.Nil):
			continue
		case err != nil:
			return unavailable(ctx, err)
		}
		if out[ids[i]], err = serial(ids[i], text); err != nil {
			return err
		}
	}
	return nil
}

func serial(session, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("session %s: %w", mcp.SessionPrint(session), errRecord)
	}
	return n, nil
}

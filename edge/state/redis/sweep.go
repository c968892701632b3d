package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

const (
	// pipeline bounds the commands sent in one round trip.
	pipeline = 512
	// sweepPage is the number of entries of one bucket that a sweep checks; the next sweep
	// continues after them.
	sweepPage = 64
	// staleAge is the age from which an index entry without a stream cannot belong to a stream that
	// is just beginning.
	staleAge = 30 * time.Second
	// waiting is the interval between checks of a stream whose calls all wait for their client. The
	// stream is checked again when one of them is claimed. If the index is on other servers, which
	// are not updated in the same step, the interval is waitingApart: a replica that claims a call to
	// cancel it may be lost before the index has it.
	waiting, waitingApart = time.Hour, time.Minute
	// bucketLife is the lifetime of an unused bucket.
	bucketLife = 60 * 24 * time.Hour
	// mostUnreadable bounds the sessions with unreadable records that are logged.
	mostUnreadable = 100
	// markLife is the lifetime of the mark of a replica that has left. It is longer than sweeps take
	// to find all calls of the replica.
	markLife = time.Hour
)

// sweeps is where the last sweep of each bucket stopped.
type sweeps struct {
	// busy is held by the one Beat at a time that does more than send a heartbeat. It guards the others.
	busy sync.Mutex
	next [buckets]int64
	// unreadable are the sessions whose unreadable records were logged.
	unreadable map[string]struct{}
}

// Beat implements medium.Replicas. It also renews this replica's registrations as a follower. One
// call looks for orphans in a bounded part of the index, and the next continues after it; with very
// many unfinished streams it takes several to see all. A Beat during the sweep of another sends a
// heartbeat and does nothing else.
func (r *Replica) Beat(ctx context.Context, most int, leaving bool) (orphans []medium.ClaimTarget, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if leaving {
		return nil, r.leave(ctx)
	}
	defer func() {
		if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
			r.lapses.failed(r.limits.Lease)
		}
	}()
	if err := r.beat(ctx); err != nil {
		return nil, err
	}
	if !r.sweeps.busy.TryLock() {
		return nil, nil
	}
	defer r.sweeps.busy.Unlock()
	r.logs.sweep(r.followers.any)
	if err := r.refollow(ctx); err != nil || most <= 0 {
		return nil, err
	}
	return r.orphans(ctx, most)
}

// beat sends the heartbeat, and restores the secret if that is due.
func (r *Replica) beat(ctx context.Context) error {
	r.life.Lock()
	if r.left.Load() {
		r.life.Unlock()
		return fmt.Errorf("replica %.80q has left and cannot come back, start a new one: %w", r.id, state.ErrFenced)
	}
	key := r.heartbeat(r.id)
	sent, missing := time.Now(), false
	err := r.send(ctx, key, func() error {
		err := r.client.SetArgs(ctx, key, 1, redis.SetArgs{TTL: r.limits.Lease, Get: true}).Err()
		if missing = errors.Is(err, redis.Nil); missing {
			return nil
		}
		return err
	})
	if err == nil {
		r.lapses.stored(sent, missing, r.limits.Lease)
	}
	r.life.Unlock()
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) {
			r.health.failed(err)
		}
		return err
	}
	r.health.stored()
	r.restoreSecret()
	return nil
}

// leave ends this incarnation.
func (r *Replica) leave(ctx context.Context) error {
	r.life.Lock()
	defer r.life.Unlock()
	r.left.Store(true)
	mark, key := r.leftMark(r.id), r.heartbeat(r.id)
	if err := r.send(ctx, mark, func() error { return r.client.Set(ctx, mark, 1, markLife).Err() }); err != nil {
		return err
	}
	return r.send(ctx, key, func() error { return r.client.Del(ctx, key).Err() })
}

// index adds a stream to the index before it exists, or has an owner again. It is checked after a delay.
func (r *Replica) index(ctx context.Context, session, stream string, delay time.Duration) error {
	_, err := r.eval(ctx, indexScript, []string{r.bucketOf(session)}, indexed(session, stream), bucketLife.Milliseconds(), delay.Milliseconds())
	return err
}

// reindex makes the sweeps check the stream of a claimed call, if the script that claimed it could
// not. A failure only delays the check.
func (r *Replica) reindex(ctx context.Context, o *medium.Owned) {
	if r.cluster == nil {
		return
	}
	actx, cancel := detachedContext(ctx)
	defer cancel()
	_ = r.index(actx, o.Record.Session, o.Record.Stream, 0)
}

// unindex removes ended streams from the index. After a failure the sweep removes them.
func (r *Replica) unindex(ctx context.Context, session string, streams ...string) {
	if len(streams) == 0 {
		return
	}
	actx, cancel := detachedContext(ctx)
	defer cancel()
	members := make([]any, len(streams))
	for i, s := range streams {
		members[i] = indexed(session, s)
	}
	bucket := r.bucketOf(session)
	_ = r.send(actx, bucket, func() error { return r.client.ZRem(actx, bucket, members...).Err() })
}

// suspect is a call that is not done.
type suspect struct {
	which   medium.ClaimTarget
	owner   string
	overdue bool
}

func (r *Replica) orphans(ctx context.Context, most int) ([]medium.ClaimTarget, error) {
	sessions, err := r.unfinished(ctx)
	if err != nil {
		return nil, err
	}
	suspects, err := r.suspects(ctx, sessions)
	if err != nil {
		return nil, err
	}
	lost, err := r.lost(ctx, suspects)
	if err != nil {
		return nil, err
	}
	var out []medium.ClaimTarget
	for _, s := range suspects {
		if owner := lost[s.owner]; len(out) < most && (s.overdue || owner.lost) {
			if s.which.Lapsed = owner.lost && !owner.left; s.which.Lapsed {
				s.which.Lost = nameOf(s.owner)
			}
			out = append(out, s.which)
		}
	}
	return out, nil
}

// nameOf returns the configured name in the id of a replica.
func nameOf(id string) string {
	if at := strings.LastIndexByte(id, '-'); at >= 0 {
		return id[:at]
	}
	return id
}

// indexEntry is a stream in the index: its bucket, member, and score, which is the time of its next
// check in ms.
type indexEntry struct {
	bucket, member, stream string
	score                  float64
}

// unfinished reads a page of the due entries of every bucket, in random order, and returns streams
// by session.
func (r *Replica) unfinished(ctx context.Context) (map[string][]indexEntry, error) {
	order := rand.Perm(buckets) // #nosec G404 -- an order is no secret
	pages := make([]*redis.ZSliceCmd, buckets)
	var clock *redis.TimeCmd
	err := r.pipe(ctx, func(p redis.Pipeliner) {
		clock = p.Time(ctx)
		for _, n := range order {
			from := r.sweeps.next[n]
			pages[n] = p.ZRangeWithScores(ctx, r.bucket(n), from, from+sweepPage-1)
			p.PExpire(ctx, r.bucket(n), bucketLife)
		}
	})
	if err != nil {
		return nil, err
	}
	out := map[string][]indexEntry{}
	now := float64(clock.Val().UnixMicro()) / 1000
	for n, page := range pages {
		entries := page.Val()
		due, _ := slices.BinarySearchFunc(entries, now, func(z redis.Z, now float64) int { return cmp.Compare(z.Score, math.Nextafter(now, math.Inf(1))) })
		if r.sweeps.next[n] += sweepPage; due < sweepPage {
			r.sweeps.next[n] = 0
		}
		for _, z := range entries[:due] {
			m, _ := z.Member.(string)
			if session, stream, ok := cutCounted(m); ok {
				out[session] = append(out[session], indexEntry{r.bucket(n), m, stream, z.Score})
			}
		}
	}
	return out, nil
}

// suspects asks the sessions for their unfinished calls, prunes the index, and postpones waiting
// streams. It passes over sessions with unreadable records, whose calls cannot be continued, so that
// they do not prevent the takeover of all others.
func (r *Replica) suspects(ctx context.Context, sessions map[string][]indexEntry) ([]suspect, error) {
	ids := slices.Collect(maps.Keys(sessions))
	var out []suspect
	stale, waits := map[string][]any{}, map[string][]any{}
	longest := waiting
	if r.cluster != nil {
		longest = waitingApart
	}
	err := r.each(ctx, orphansScript, ids, func(i int) []any {
		args := append(make([]any, 0, 1+len(sessions[ids[i]])), longest.Milliseconds())
		for _, e := range sessions[ids[i]] {
			args = append(args, e.stream)
		}
		return args
	}, func(i int, rep reply) error {
		if rep.err != nil {
			r.skipUnreadable(ids[i], rep.err)
			return nil
		}
		streams, again := reply{rest: rep.list(0)}, reply{rest: rep.list(1)}
		for j, e := range sessions[ids[i]] {
			calls := streams.list(j)
			if len(calls) == 0 {
				stale[e.bucket] = append(stale[e.bucket], e.member)
			} else if due := again.text(j); due != "0" {
				waits[e.bucket] = append(waits[e.bucket], e.member, strconv.FormatFloat(e.score, 'f', -1, 64), due)
			}
			for ; len(calls) > 3; calls = calls[4:] {
				c := reply{rest: calls}
				out = append(out, suspect{
					which: medium.ClaimTarget{Session: ids[i], Call: c.text(0), Epoch: medium.Epoch(c.unsigned(1))},
					owner: c.text(2), overdue: c.text(3) == "1",
				})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for bucket, args := range waits {
		if _, err := r.eval(ctx, postponeScript, []string{bucket}, args...); err != nil {
			return nil, err
		}
	}
	for bucket, members := range stale {
		if _, err := r.eval(ctx, pruneScript, []string{bucket}, append([]any{staleAge.Milliseconds()}, members...)...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// skipUnreadable logs, once, that a sweep cannot read a session. The caller holds r.sweeps.busy.
func (r *Replica) skipUnreadable(session string, err error) {
	if _, logged := r.sweeps.unreadable[session]; logged || len(r.sweeps.unreadable) >= mostUnreadable {
		return
	}
	r.sweeps.unreadable[session] = struct{}{}
	r.log.Warn("a session or task in Redis has a damaged record: its calls are not taken over when their replica is lost",
		"session", telemetry.SessionPrint(session), "error", err)
}

// fate is the fate of a call's owner: whether it is lost, and whether it left before.
type fate struct{ lost, left bool }

// lost returns which owners have left, or have no heartbeat while that counts. An empty owner is
// none, and never lost.
func (r *Replica) lost(ctx context.Context, suspects []suspect) (map[string]fate, error) {
	var owners, keys []string
	for _, s := range suspects {
		if s.owner != "" && !slices.Contains(owners, s.owner) {
			owners, keys = append(owners, s.owner), append(keys, r.heartbeat(s.owner), r.leftMark(s.owner))
		}
	}
	there, err := r.exist(ctx, keys)
	if err != nil {
		return nil, err
	}
	out, counts := map[string]fate{}, r.lapses.count(r.limits.Lease)
	for i, owner := range owners {
		beats, left := there[2*i], there[2*i+1]
		out[owner] = fate{lost: !beats && (left || counts), left: left}
	}
	return out, nil
}

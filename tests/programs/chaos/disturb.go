package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// mode is one way to disturb the stage.
type mode struct {
	name string
	// flags of the replicas beside the defaults.
	flags []string
	// durable: Redis writes everything to disk before it acknowledges it.
	durable bool
	// audited: the replicas must record who did what.
	audited bool
	// standby: there is a second Redis, a replica of the first. Such a mode does not run on a Cluster.
	standby bool
	// prepare changes the replicas before they are started; nil: nothing is to be changed.
	prepare func(s *stage, o options)
	// disturb does it until ctx ends; by then everything runs again.
	disturb func(ctx context.Context, s *stage, o options) error
	// rules say what may be lost.
	rules rules
	// least are the counts that a run of a minute must reach.
	least least
}

// rules are what a mode may cost the clients. The zero value: nothing at all.
type rules struct {
	// cuts: POSTs may be cut before an event id.
	cuts bool
	// unknown: the outcome of calls that were dispatched at a loss may be unknown.
	unknown bool
	// unavailable: calls may be put off with 503, and may fail in-band because they must ask without
	// state; progress may have gaps.
	unavailable bool
	// rollback: what Redis acknowledged last may be lost, so streams may be forgotten, start over with
	// new ids, and calls be answered twice.
	rollback bool
}

// least are the numbers without which a run shows nothing.
type least struct{ losses, runs, takeovers, resumes, answers int }

var modes = []mode{
	{
		name: "kill", disturb: kill, rules: rules{cuts: true, unknown: true},
		least: least{losses: 20, takeovers: 20, resumes: 20, answers: 20},
	},
	{
		name: "audit", audited: true, disturb: kill, rules: rules{cuts: true, unknown: true},
		least: least{losses: 20, takeovers: 20, answers: 20},
	},
	{
		name: "term", disturb: roll, flags: []string{"MCPEDGE_SHUTDOWN_DELAY=500ms"},
		// Its runs outlive the SIGTERM, and nobody has to resume.
		least: least{losses: 10, runs: 20, answers: 20},
	},
	{
		name: "redis", durable: true, disturb: restartRedis, rules: rules{unavailable: true},
		least: least{losses: 10, answers: 20},
	},
	{
		name: "blackout", durable: true, disturb: blackout, rules: rules{cuts: true, unknown: true, unavailable: true},
		least: least{losses: 10, takeovers: 10, answers: 10},
	},
	{
		name: "promotion", standby: true, disturb: promote,
		rules: rules{cuts: true, unavailable: true, unknown: true, rollback: true},
		least: least{losses: 10, answers: 20},
	},
}

// every does something at each tick until ctx ends, what it began included.
func every(ctx context.Context, d time.Duration, do func() error) error {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := do(); err != nil {
			return err
		}
	}
}

// kill ends a replica with SIGKILL every 2 s, and starts it again.
func kill(ctx context.Context, s *stage, o options) error {
	random := rand.New(rand.NewPCG(o.seed, 0))
	return every(ctx, 2*time.Second, func() error {
		e := s.edges[random.IntN(len(s.edges))]
		if err := s.lose(e.Name(), "replica "+e.Name()+" was killed", e.Kill); err != nil {
			return err
		}
		// What it sent at the last moment arrives before its successor has a name.
		sleep(ctx, 50*time.Millisecond)
		if err := e.Start(); err != nil {
			return err
		}
		return e.AwaitReady(context.WithoutCancel(ctx))
	})
}

// roll ends one replica after the other with SIGTERM, and starts each again.
func roll(ctx context.Context, s *stage, _ options) error {
	next := 0
	return every(ctx, time.Second, func() error {
		e := s.edges[next%len(s.edges)]
		next++
		if err := s.lose(e.Name(), "replica "+e.Name()+" was told to end, and has", e.Stop); err != nil {
			return err
		}
		if err := e.Start(); err != nil {
			return err
		}
		return e.AwaitReady(context.WithoutCancel(ctx))
	})
}

// restartRedis restarts Redis with its data; of a Cluster one master after the other.
func restartRedis(ctx context.Context, s *stage, o options) error {
	interval, next := 3*time.Second, 0
	if o.cluster {
		interval = 4 * time.Second // A master is away for more than 2 s of them.
	}
	return every(ctx, interval, func() error {
		r := s.redis[next%len(s.redis)]
		next++
		return s.lose("", "Redis on "+r.Addr+" was restarted", func() error { return replicas.Restart(context.WithoutCancel(ctx), r) })
	})
}

// blackout ends all replicas at once, restarts Redis with its data, and starts the replicas again.
func blackout(ctx context.Context, s *stage, _ options) error {
	whole := context.WithoutCancel(ctx)
	return every(ctx, 6*time.Second, func() error {
		first := len(s.losses)
		for _, e := range s.edges {
			if err := s.lose(e.Name(), "replica "+e.Name()+" was killed, as all", e.Kill); err != nil {
				return err
			}
		}
		if err := s.lose("", "Redis was restarted", func() error { return replicas.Restart(whole, s.redis...) }); err != nil {
			return err
		}
		for _, e := range s.edges {
			if err := e.Start(); err != nil {
				return err
			}
		}
		err := s.edges.AwaitReady(whole)
		// A new replica gives the others a lease: they may not have been able to reach Redis.
		for i := range s.losses[first:] {
			s.losses[first+i].until = time.Now()
		}
		return err
	})
}

// behind is how much of the newest writes a promoted Redis lacks.
const behind = 200 * time.Millisecond

// promote puts the standby in the place of Redis, without its last writes, and makes the former one the
// next standby.
func promote(ctx context.Context, s *stage, _ options) error {
	whole := context.WithoutCancel(ctx)
	return every(ctx, 3*time.Second, func() error {
		if err := s.standby.Detach(whole); err != nil {
			return err
		}
		time.Sleep(behind)
		err := s.lose("", "Redis was replaced by one without the last writes", func() error {
			s.front.Switch(s.standby.Addr)
			return nil
		})
		s.redis[0], s.standby = s.standby, s.redis[0]
		return errors.Join(err, s.standby.Copy(whole, s.redis[0]))
	})
}

// sessionOf is the session that a key belongs to.
func sessionOf(key string) (string, bool) {
	_, rest, ok := strings.Cut(key, "{")
	id, _, ok2 := strings.Cut(rest, "}")
	return id, ok && ok2
}

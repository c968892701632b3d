package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// stalled is how long Redis may take for an answer before it counts as one that did not answer: less
// than what a replica waits for it.
const stalled = 400 * time.Millisecond

// stall is a time in which Redis did not answer, though nobody disturbed it: the machine had too much
// to do.
type stall struct{ from, to time.Time }

// watch pings each server of Redis until the returned function is called, which returns the stalls. The edges see the same ones.
func watch(servers []*replicas.Redis) (end func() []stall) {
	ctx, cancel := context.WithCancel(context.Background())
	found := make([][]stall, len(servers))
	var watching sync.WaitGroup
	for i, r := range servers {
		watching.Go(func() { found[i] = stallsOf(ctx, r) })
	}
	return func() []stall {
		cancel()
		watching.Wait()
		return slices.Concat(found...)
	}
}

// stallsOf pings one server until ctx ends, and returns its stalls.
func stallsOf(ctx context.Context, r *replicas.Redis) (found []stall) {
	c := r.Client()
	defer c.Close()
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for last := time.Now(); ctx.Err() == nil; {
		err := c.Ping(ctx).Err()
		if now := time.Now(); ctx.Err() == nil && (err != nil || now.Sub(last) > stalled) {
			found = append(found, stall{last, now})
		}
		if err == nil {
			last = time.Now()
		}
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return found
}

// stallEffect is how long after a stall its effects may last: what waited for Redis gives up or goes on.
const stallEffect = 2 * time.Second

// overlaps says whether a stall may have had an effect on a call.
func (s stall) overlaps(c *call) bool {
	return s.from.Before(c.entries[len(c.entries)-1].at) && c.entries[0].at.Before(s.to.Add(stallEffect))
}

// rulesOf are the rules for one call: during a stall a call may cost what the loss of Redis may.
func (e *evidence) rulesOf(c *call) rules {
	r := e.rules
	for _, s := range e.stalls {
		r.unavailable = r.unavailable || s.overlaps(c)
	}
	return r
}

// happened are the losses that were made, and the stalls, in order.
func (e *evidence) happened() []loss {
	all := append([]loss(nil), e.losses...)
	for _, s := range e.stalls {
		all = append(all, loss{at: s.to, what: fmt.Sprintf("Redis had not answered for %.1f s", s.to.Sub(s.from).Seconds())})
	}
	slices.SortFunc(all, func(a, b loss) int { return a.at.Compare(b.at) })
	return all
}

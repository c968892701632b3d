package runtime

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

const (
	// restoreAtOnce bounds the concurrently restored records of ended runs. Each is tried
	// restoreTries times, with restorePause between two attempts.
	restoreAtOnce, restoreTries, restorePause = 16, 10, 500 * time.Millisecond
)

// Returning is the store's hook: the store was unavailable and may have lost acknowledged writes.
// Returning renews the heartbeat, which may be about to expire, and restores all knowledge of this
// replica. It does so again after state.Timeout, since the notification may be early.
func (r *Replica) Returning() {
	if r.o.Returning != nil {
		r.o.Returning()
	}
	if r.IsClosing() || !r.work.Enter() {
		return
	}
	defer r.work.Leave()
	r.returns.Add(1)
	if r.started.Load() {
		r.work.Spawn(func() {
			ctx, cancel := r.bounded()
			defer cancel()
			r.beatOnce(ctx, 0)
		})
	}
	r.restoreAll()
	r.work.Spawn(func() {
		if r.sleep(state.Timeout) {
			r.restoreAll()
		}
	})
}

// restoreAll restores the knowledge of this replica about all calls.
func (r *Replica) restoreAll() {
	r.mu.Lock()
	now := r.now()
	r.back = now
	r.forgetUnmatched(now)
	for i := range r.unmatched {
		r.unmatched[i].until = now + unmatchedFor
	}
	r.matchAgain()
	kept := r.keeper.Restore(now)
	r.mu.Unlock()
	for _, c := range r.all() {
		c.post(call.Event{Kind: call.Returning})
	}
	slots := make(chan struct{}, restoreAtOnce)
	for _, k := range kept {
		slots <- struct{}{}
		r.work.Spawn(func() {
			defer func() { <-slots }()
			r.restoreKept(k.Record, k.Entries)
		})
	}
}

// restoreCall restores the knowledge about one call.
func (r *Replica) restoreCall(id string) {
	r.mu.Lock()
	c := r.calls[id]
	k, ok := r.keeper.Get(id, r.now())
	r.mu.Unlock()
	if c != nil {
		c.post(call.Event{Kind: call.Returning})
	}
	if ok {
		r.work.Spawn(func() { r.restoreKept(k.Record, k.Entries) })
	}
}

// restoreKept restores the kept knowledge about a call, unless its machine has newer knowledge and
// restores that.
func (r *Replica) restoreKept(rec *medium.Record, entries []medium.Entry) {
	for range restoreTries {
		runs := false
		if c := r.Driver(rec.ID); c != nil {
			known, held := c.known()
			if runs = held && known.Epoch == rec.Epoch; runs && known.N >= rec.N {
				return
			}
		}
		returns := r.returns.Load()
		ctx, cancel := r.bounded()
		verdict, err := r.store.Restore(ctx, rec, entries, runs)
		cancel()
		if err == nil && verdict == medium.Restored { // This write may be the next to be lost.
			r.keep(rec, entries)
		}
		switch {
		case err != nil && call.FaultOf(err) != call.Unavailable, err == nil && r.returns.Load() == returns:
			return
		case err != nil:
			r.failed(err)
			if !r.sleep(restorePause) {
				return
			}
		}
	}
}

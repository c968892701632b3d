package run

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

const (
	// restoreAtOnce bounds the records of ended runs that are restored at a time. Each is tried
	// restoreTries times, with restorePause between two.
	restoreAtOnce, restoreTries, restorePause = 16, 10, 500 * time.Millisecond
)

// Returning is the store's hook: the store was away and may have lost acknowledged writes. It
// renews the heartbeat, which may be about to lapse, and restores all that this replica knows, and again
// after Options.Timeout, since the notification may be early.
func (r *Replica) Returning() {
	if r.isClosing() || !r.work.Enter() {
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
		if r.sleep(r.o.Timeout) {
			r.restoreAll()
		}
	})
}

// restoreAll restores all that this replica knows.
func (r *Replica) restoreAll() {
	r.mu.Lock()
	now := r.now()
	r.back, r.hasBack = now, true
	r.forgetLoose(now)
	for i := range r.loose {
		r.loose[i].until = now + looseFor
	}
	r.giveLoose()
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

// restoreCall restores what is known of one call.
func (r *Replica) restoreCall(id string) {
	r.mu.Lock()
	c := r.calls[id]
	k, ok := r.keeper.Of(id, r.now())
	r.mu.Unlock()
	if c != nil {
		c.post(call.Event{Kind: call.Returning})
	}
	if ok {
		r.work.Spawn(func() { r.restoreKept(k.Record, k.Entries) })
	}
}

// restoreKept restores what is kept of a call, unless its machine knows more and restores that.
func (r *Replica) restoreKept(rec *medium.Record, entries []medium.Entry) {
	for range restoreTries {
		runs := false
		r.mu.Lock()
		if c := r.calls[rec.ID]; c != nil {
			known, held := c.known()
			if held && known.Epoch == rec.Epoch && known.N >= rec.N {
				r.mu.Unlock()
				return
			}
			runs = held && known.Epoch == rec.Epoch
		}
		r.mu.Unlock()
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

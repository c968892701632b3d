package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// sessions are those of a history.
var sessions = []string{"s", "t"}

// deletedBy is how long after a DELETE was answered nothing of its session runs.
const deletedBy = 5 * time.Second

// deletion is the DELETE of a session: when it was sent first, and when it was answered; 0: it was not.
type deletion struct{ sent, done time.Duration }

// deleteSession sends a DELETE, again if it is not answered.
func (w *world) deleteSession(id string) {
	d := w.deletions[id]
	if d == nil {
		d = &deletion{sent: w.now}
		w.deletions[id] = d
	}
	again := func() { w.at(time.Second, clientDeletes, func() { w.deleteSession(id) }) }
	r := w.anyReplica()
	if r == nil {
		again()
		return
	}
	told := false
	r.soon(clientDeletes, func() {
		r.deleteSession(id, func(ok bool) {
			told = true
			if !ok {
				again()
				return
			}
			w.logf("r%d has deleted %s", r.id, id)
			if d.done == 0 {
				d.done = w.now
			}
			for _, x := range w.exchanges {
				if x.session == id && x.conn == nil {
					x.done = true
				}
			}
		})
	})
	w.at(opTimeout+time.Second, clientDeletes, func() {
		if !told && d.done == 0 {
			again()
		}
	})
}

// deleteSession deletes a session as edge/era/stateful does. done is told whether it is deleted.
func (r *replica) deleteSession(id string, done func(ok bool)) {
	r.spawn(func() {
		ctx, cancel := state.Bounded(context.Background())
		defer cancel()
		err := r.wire.Delete(ctx, id)
		if err == nil {
			_ = r.wire.Notify(ctx, state.SessionEvent{Kind: state.SessionDeleted, Session: id})
		}
		r.arrive(arrival{what: clientDeletes, name: id, do: func() {
			gone := err == nil || errors.Is(err, state.ErrNotFound)
			if gone {
				r.drop(id)
			}
			done(gone)
		}})
	})
}

// drop ends what is here of a deleted session.
func (r *replica) drop(id string) {
	leaves := r.w.bugs(deleteLeavesRunning)
	for _, x := range r.w.exchanges {
		if x.session != id {
			continue
		}
		for _, c := range x.calls {
			if d := r.local[c.id]; d != nil && !leaves {
				d.End()
			}
		}
		if k := x.conn; k != nil && k.r == r && k.reads && k.leave != nil {
			k.leave()
		}
	}
	if !leaves {
		r.runtime.End(id)
	}
}

// revalidate looks every second whether the sessions exist, as edge/era/stateful does: the event of their deletion may be lost.
func (r *replica) revalidate() {
	if r.closed {
		return
	}
	r.after(time.Second, opTouch, r.revalidate)
	r.spawn(func() {
		ctx, cancel := state.Bounded(context.Background())
		defer cancel()
		there, err := r.wire.Touch(ctx, sessions, true)
		if err != nil {
			return
		}
		r.arrive(arrival{what: opTouch, name: "gone", do: func() {
			for _, id := range sessions {
				if _, ok := there[id]; !ok {
					r.drop(id)
				}
			}
		}})
	})
}

// lost says whether the store has lost the session, also while it is away: no replica has a copy that it could restore.
func (w *world) lost(session string) bool {
	return !w.medium.Has(session) && w.deletions[session] == nil
}

// deleted says whether the client has sent a DELETE of its session.
func (x *exchange) deleted() bool { return x.w.deletions[x.session] != nil }

// runs judges that a backend still runs a call.
func (j *judge) runs(c *request) {
	if c.x == nil {
		j.runsTask(c, false)
		return
	}
	d := j.w.deletions[c.x.session]
	if d != nil && d.done > 0 && j.w.now > d.done+deletedBy && j.calm() && !j.w.lossy && j.w.stops+j.w.outages == 0 {
		j.fail("%s runs %v after its session was deleted", c.id, j.w.now-d.done)
	}
}

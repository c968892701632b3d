package runtime

import (
	"encoding/json"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

const (
	// maxCanceller bounds the identity of a canceller in a record, in bytes.
	maxCanceller = 4 << 10
	// cancelAgain is the pause before a cancelled call that had no record is looked up again.
	cancelAgain = 500 * time.Millisecond
)

// Cancel cancels a request that does not run here by its record, on whichever replica. The replicas
// that may run it are notified at once. by is the canceller; nil if only the session's principal
// may cancel. Cancel returns after a query of the store; if the store is unavailable, it retries in
// the background.
func (r *Replica) Cancel(session, requestID string, by *mcp.Principal) {
	r.cancel(medium.ClaimTarget{Session: session, RequestID: requestID}, by)
}

func (r *Replica) cancel(w medium.ClaimTarget, by *mcp.Principal) {
	w.Cancel = true
	if by != nil {
		who := by.Identity()
		if raw, err := json.Marshal(who); err == nil && len(raw) <= maxCanceller {
			w.CancelledBy = string(raw)
		}
		by = &who
	}
	f := r.takeOver(w, call.ByCancel)
	if f == call.Fenced || r.IsClosing() {
		return // The call has ended.
	}
	r.notifyCancelled(w, by)
	if f != call.Gone && f != call.Unavailable {
		return
	}
	size := answerOverhead + len(w.Session) + len(w.Call) + len(w.RequestID)
	latest := r.o.Now().Add(r.o.Lifetime) // that of a call which begins now
	r.retryLater(&r.cancelRetries, size, func() { r.cancelLater(w, by, f, latest) })
}

// notifyCancelled notifies the other replicas of a cancellation, because one of them may run the
// call.
func (r *Replica) notifyCancelled(w medium.ClaimTarget, by *mcp.Principal) {
	if w.RequestID == "" {
		return
	}
	ctx, cancel := r.bounded()
	defer cancel()
	r.failed(r.store.Notify(ctx, state.SessionEvent{Kind: state.RequestCancelled, Session: w.Session, RequestID: w.RequestID, By: by}))
}

// AttemptOf returns the attempt of a claimed record, from 1. A claim of a round that began counts as
// one, unless it only cancels the call.
func AttemptOf(r *medium.Record, why call.Why) int {
	if why == call.ByCancel && r.Phase == state.PhaseDispatched {
		return max(r.Attempt-1, 1)
	}
	return max(r.Attempt, 1)
}

// Canceller returns the canceller of the call of a record, or nil if it is unknown.
func Canceller(r *medium.Record) *mcp.Principal {
	by := new(mcp.Principal)
	if r.CancelledBy == "" || json.Unmarshal([]byte(r.CancelledBy), by) != nil {
		return nil
	}
	return by
}

// cancelLater cancels a call again after fault f. After Gone it queries once more, because the call
// may have got a record and parked since its replica was notified. It retries while the store is
// unavailable, which may also have prevented the notification of the other replicas. The query after
// Gone spares calls that began since with the same request id, whose deadline is after latest.
func (r *Replica) cancelLater(w medium.ClaimTarget, by *mcp.Principal, f call.Fault, latest time.Time) {
	for range retryTries {
		pause := cancelAgain
		if f == call.Unavailable {
			pause = time.Second
		}
		if !r.sleep(pause) {
			return
		}
		before := f
		if w.Latest = (time.Time{}); f == call.Gone && w.RequestID != "" {
			w.Latest = latest
		}
		if f = r.takeOver(w, call.ByCancel); before == call.Unavailable && (f == call.NoFault || f == call.Gone) {
			r.notifyCancelled(w, by)
		}
		if f != call.Unavailable && (f != call.Gone || before == call.Gone) {
			return
		}
	}
}

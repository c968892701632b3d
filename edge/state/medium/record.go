package medium

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// Question is a request to the client with its answer, which is nil until it is answered.
type Question struct {
	state.Ask
	Answer *state.Answer
}

// Layout is the version of a stored Record's form. A medium that finds a record of another layout,
// written by another release, refuses the operation with an error that names both. A release that
// changes the form increments it.
const Layout = 1

// Record is a call as the medium has it after one of its steps. Epoch and N number the step. A
// *Record is shared: its receiver does not change it or its slices. Apply, Answered, Claim and
// Merge are for a private copy.
type Record struct {
	state.Request
	Session, Stream string
	// Batch is the number of calls that share the stream, this one included; 0 means that it is
	// alone. In a batch the medium assigns all entries their places in the log (see Calls.Commit);
	// Start and Last, like Write.Seq, count those of the call alone.
	Batch int
	Phase state.Phase
	Epoch Epoch
	N     uint64
	// Start is the place after which the entries of the epoch begin, Last that of the last entry.
	Start, Last uint64
	Asked       []Question
	State       []byte
	// Open are the ids of URL elicitations, by key, that are not complete: those of the last
	// questions, without those that an entry Completes. nil means none.
	Open map[string]string
	// Progress is the highest progress that the client got. HasProgress is true if it got any.
	Progress    float64
	HasProgress bool
	// Resumable means that the current round, or the next one, may be rerun from State after the
	// loss of its owner, even if Repeatable is false.
	Resumable bool
	// Brief is the summary of the log by the writer of its last entries. A call that is done also
	// has it. nil means none.
	Brief []byte
	// Cancelled means that it was claimed because the client has cancelled it. Its owner ends it
	// without a response.
	Cancelled bool
	// CancelledBy is who did, as ClaimTarget.CancelledBy of that claim. Empty means unknown.
	CancelledBy string
}

// Apply changes the record to its state after a step, for all media and replicas alike.
func (r *Record) Apply(w *Write) {
	r.N = w.N
	if w.Brief != nil {
		r.Brief = w.Brief
	}
	if n := uint64(len(w.Entries)); n > 0 {
		r.Last = w.Seq + n - 1
	}
	for i := range w.Entries {
		switch e := &w.Entries[i]; {
		case e.Kind == state.EntryProgress && (!r.HasProgress || e.Progress > r.Progress):
			r.Progress, r.HasProgress = e.Progress, true
		case e.Completes != "" && r.Open[e.Completes] != "":
			r.Open = maps.Clone(r.Open)
			delete(r.Open, e.Completes)
		}
	}
	if w.Round > 0 {
		r.Round, r.Attempt, r.Lapses, r.State, r.Asked, r.Resumable = w.Round, 1, 0, w.State, nil, w.Resumable
	}
	switch w.Next {
	case NextSame:
	case NextDispatched:
		r.Phase = state.PhaseDispatched
	case NextReady:
		r.Phase = state.PhaseReady
	case NextWaiting:
		r.Phase, r.State, r.Resumable = state.PhaseWaiting, w.State, w.Resumable
		r.ask(w.Asks)
	case NextDone:
		r.Phase, r.State, r.Asked, r.Params, r.Open, r.Resumable = state.PhaseDone, nil, nil, nil, nil, false
	}
}

// ask replaces the call's open questions by asks.
func (r *Record) ask(asks []state.Ask) {
	r.Asked, r.Open = make([]Question, len(asks)), nil
	for i := range asks {
		r.Asked[i].Ask = asks[i]
		if id := asks[i].ElicitationID; id != "" {
			if r.Open == nil {
				r.Open = map[string]string{}
			}
			r.Open[asks[i].Key] = id
		}
	}
}

// Answered stores the answer to a question that has none. It returns false if nothing changed.
func (r *Record) Answered(ask string, a state.Answer) bool {
	i := slices.IndexFunc(r.Asked, func(q Question) bool { return q.ID == ask })
	if r.Phase != state.PhaseWaiting || i < 0 || r.Asked[i].Answer != nil {
		return false
	}
	r.Asked = slices.Clone(r.Asked)
	r.Asked[i].Answer = &a
	r.N++
	return true
}

// Missing returns the number of questions without an answer.
func (r *Record) Missing() (n int) {
	for i := range r.Asked {
		if r.Asked[i].Answer == nil {
			n++
		}
	}
	return n
}

// KeptBytes returns the size of the call's state and answers for SessionBytes.
func (r *Record) KeptBytes() int {
	n := len(r.State)
	for i := range r.Asked {
		if a := r.Asked[i].Answer; a != nil {
			n += a.Bytes()
		}
	}
	return n
}

// Claim gives the call to a new owner. lapsed means that the last owner was lost without leaving.
// cancel means that the client has cancelled the call, and by is ClaimTarget.CancelledBy; the first one
// is kept. A cancelled call does not wait for its client.
func (r *Record) Claim(random uint32, lapsed, cancel bool, by string) {
	r.Cancelled = r.Cancelled || cancel
	if cancel && r.CancelledBy == "" {
		r.CancelledBy = by
	}
	switch {
	case r.Phase == state.PhaseWaiting && r.Missing() == 0:
		r.Phase = state.PhaseReady
		r.Round, r.Attempt, r.Lapses = r.Round+1, 1, 0
	case r.Phase == state.PhaseWaiting && r.Cancelled:
		r.Phase = state.PhaseReady // It has an owner, which ends it.
	case r.Phase == state.PhaseDispatched:
		r.Attempt++
		if lapsed {
			r.Lapses++
		}
	}
	r.Epoch, r.N, r.Start = r.Epoch.Next(random), 0, r.Last
}

// NameOf returns how an error names a call: by its id in quotes, or, if it is a task, whose id is that of its
// session, by the hash of that. Logs and spans have the error, and the id of a task or session may give
// access to it.
func NameOf(session, call string) string {
	if call == session {
		return mcp.SessionPrint(call)
	}
	return fmt.Sprintf("%.40q", call)
}

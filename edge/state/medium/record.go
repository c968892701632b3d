package medium

import (
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Question is a request to the client with its answer; nil: none yet.
type Question struct {
	state.Ask
	Answer *state.Answer
}

// Layout is the form of a stored Record. A medium that finds one of another layout, as another release wrote it, refuses
// what is asked of it with an error that names both.
const Layout = 2

// Record is a call as the medium has it after one of its steps. Epoch and N number the step. Who is given a *Record does not
// change it, nor what its slices have: it is shared. Apply, Answered, Claim and Merge are for a copy of one's own.
type Record struct {
	state.Call
	Session, Stream string
	// Batch is how many calls share the stream, this one included; 0: it is alone. The medium then gives the entries of
	// them all their places in the log (see Calls.Commit), and Start and Last, as Write.Seq, count those of the call alone.
	Batch int
	Phase state.Phase
	Epoch Epoch
	N     uint64
	// Start is the place behind which the entries of the epoch are, Last that of the last entry.
	Start, Last uint64
	Asked       []Question
	State       []byte
	// Open are the ids of URL elicitations, by key, whose completion was not told yet: those of the last asking, without
	// those that an entry Completes. Nil: none.
	Open map[string]string
	// Progress is the highest that the client was sent; HasProgress: there is one.
	Progress    float64
	HasProgress bool
	// Resumable: the round in progress, or the next, may be run again from State when its owner is lost, whatever Repeatable says.
	Resumable bool
	// Brief is the summary of its log, as the writer of the last entries made it, also of a call that is done; nil: none.
	Brief []byte
	// Cancelled: it was claimed because the client has cancelled it. Whoever owns it ends it without a response.
	Cancelled bool
}

// Apply makes the record what it is after a step, for every medium and every replica the same.
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

// ask makes asks the last asking.
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

// Answered takes the answer to a question, if it has none; false: nothing changed.
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

// Missing counts the questions without an answer.
func (r *Record) Missing() (n int) {
	for i := range r.Asked {
		if r.Asked[i].Answer == nil {
			n++
		}
	}
	return n
}

// Claim gives the call to a new owner: with lapsed, for its last one was lost without a word of leaving; with cancel,
// for the client has cancelled it.
func (r *Record) Claim(random uint32, lapsed, cancel bool) {
	r.Cancelled = r.Cancelled || cancel
	if r.Phase == state.PhaseWaiting && r.Missing() == 0 {
		r.Phase = state.PhaseReady
		r.Round, r.Attempt, r.Lapses = r.Round+1, 1, 0
	} else if r.Phase == state.PhaseDispatched {
		r.Attempt++
		if lapsed {
			r.Lapses++
		}
	}
	r.Epoch, r.N, r.Start = r.Epoch.Next(random), 0, r.Last
}

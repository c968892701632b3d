package statetest

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Writer makes the steps of a call, for tests of one medium. After an error the next step has the
// number of the failed one: with the same content it is a repetition. It is not safe for concurrent
// use.
type Writer struct {
	s medium.Store
	// Record is the call as this replica knows it; Entries are those that it wrote.
	Record  medium.Record
	Entries []medium.Entry
}

// Begin begins calls on one stream. Repeated calls use the same epoch.
func Begin(ctx context.Context, s medium.Store, session, stream string, calls ...state.Request) ([]*Writer, error) {
	w := &medium.Write{Session: session, Stream: stream, Begin: recordsOf(session, stream, calls)}
	var out []*Writer
	for _, r := range w.Begin {
		out = append(out, Own(s, r))
	}
	return out, s.Commit(ctx, w)
}

// Conclude begins a call and ends it in one step.
func Conclude(ctx context.Context, s medium.Store, session, stream string, c state.Request, response []byte, before ...state.Entry) error {
	return s.Commit(ctx, &medium.Write{
		Session: session, Stream: stream, Begin: recordsOf(session, stream, []state.Request{c}),
		Call: c.ID, Epoch: first, N: 1, Seq: 1, Next: medium.NextDone, Entries: ending(before, response),
	})
}

// Own returns the Writer of a call that the replica owns.
func Own(s medium.Store, r *medium.Record) *Writer { return &Writer{s: s, Record: *r} }

// Claim takes a call over.
func Claim(ctx context.Context, s medium.Store, w medium.ClaimTarget) (*Writer, error) {
	o, err := s.Claim(ctx, w)
	if err != nil {
		return nil, err
	}
	return Own(s, o.Record), nil
}

// ClaimTarget names the call at the writer's epoch.
func (w *Writer) ClaimTarget() medium.ClaimTarget {
	return medium.ClaimTarget{Session: w.Record.Session, Call: w.Record.ID, Epoch: w.Record.Epoch, Random: 1}
}

// Append makes a step of entries.
func (w *Writer) Append(ctx context.Context, entries ...state.Entry) error {
	return w.Step(ctx, &medium.Write{Entries: entries})
}

// Ask makes a step that asks.
func (w *Writer) Ask(ctx context.Context, kept []byte, asks ...state.Ask) error {
	s := &medium.Write{Next: medium.NextWaiting, Asks: asks, State: kept}
	for _, a := range asks {
		s.Entries = append(s.Entries, state.Entry{Kind: state.EntryRequest, Data: a.Message})
	}
	return w.Step(ctx, s)
}

// Finish makes the last step; without a response the call ends silently.
func (w *Writer) Finish(ctx context.Context, response []byte, before ...state.Entry) error {
	return w.Step(ctx, &medium.Write{Next: medium.NextDone, Entries: ending(before, response)})
}

// Step makes a step, and sets its names, numbers and places.
func (w *Writer) Step(ctx context.Context, s *medium.Write) error {
	r := &w.Record
	s.Session, s.Stream, s.Call, s.Epoch, s.N, s.After, s.Seq = r.Session, r.Stream, r.ID, r.Epoch, r.N+1, r.N, r.Last+1
	err := w.s.Commit(ctx, s)
	if err == nil {
		r.Apply(s)
		w.Entries = append(w.Entries, s.Placed()...)
	}
	return err
}

// Restore restores what the writer knows, as the replica that runs the call.
func (w *Writer) Restore(ctx context.Context) (medium.Verdict, error) {
	r := w.Record
	return w.s.Restore(ctx, &r, w.Entries, true)
}

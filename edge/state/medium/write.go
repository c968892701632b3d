package medium

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Next is the effect of a step on the call.
type Next uint8

// The steps.
const (
	// NextSame: the backend still runs.
	NextSame Next = iota
	// NextDispatched: the backend is being called.
	NextDispatched
	// NextReady: the backend was busy. It is called again later with the state.
	NextReady
	// NextWaiting: the call waits for its client, and the lease ends.
	NextWaiting
	// NextDone: the last step; the lease ends.
	NextDone
)

// Write is one step of a call under a lease, or the beginning of calls, or both at once.
//
// N rises with each step and is never reused, not even after a refusal, because a repetition may
// still be in flight. After is the N of the last acknowledged step: a medium with a lower N has
// lost steps, one with the step's N has the step. Seq is the place of the first entry. A write
// never changes once it was sent: it is acknowledged, refused or repeated unchanged.
type Write struct {
	// Session and Stream are always set.
	Session, Stream string
	// Begin are the calls whose records, and whose log, begin here. Their epoch is their first,
	// their phase is dispatched, and the random bits of the epoch identify a repetition. One that
	// begins in a later round, or behind a checkpoint, has its State and Resumable.
	Begin []*Record
	// Call is the call that the step is about. Empty means no step; the following fields are then
	// zero.
	Call          string
	Epoch         Epoch
	N, After, Seq uint64
	// Entries include the requests of NextWaiting and the response of NextDone. Without a response
	// the call ends silently.
	Entries []state.Entry
	Next    Next
	// Asks are the questions of NextWaiting, in the order of their entries.
	Asks []state.Ask
	// Round is the number of the round that begins, with State, if the record does not have it. 0
	// means that none begins. The number of the current round means that it restarts from State: a
	// checkpoint.
	Round int
	// State is that of NextWaiting, or of a round that begins.
	State []byte
	// Resumable is that of NextWaiting, or of a round that begins: see Record.
	Resumable bool
	// Brief is the summary of the log after the step, at most MaxBrief bytes. nil keeps the old
	// one.
	Brief []byte
}

// MaxBrief bounds the summary of a log, in bytes. It is not counted separately: the allowance of a
// call covers it.
const MaxBrief = 8 << 10

// Placed returns the write's entries at their places.
func (w *Write) Placed() []Entry {
	out := make([]Entry, len(w.Entries))
	for i := range w.Entries {
		out[i] = Entry{Epoch: w.Epoch, Entry: w.Entries[i]}
		out[i].Seq = w.Seq + uint64(i)
	}
	return out
}

// Check returns why every medium refuses the write: state.ErrTooLarge if an entry that may not be
// dropped, or a state, exceeds maxResult bytes, state.ErrExists if two calls with one id begin, or
// another error if the write is invalid.
func (w *Write) Check(maxResult int) error {
	if w.Stream == "" || strings.Contains(w.Stream, ".") || w.Call == "" && len(w.Begin) == 0 {
		return fmt.Errorf("a write for call %s and %d new calls, on stream %.40q: it needs a call, and a stream name without a dot", NameOf(w.Session, w.Call), len(w.Begin), w.Stream)
	}
	for i, b := range w.Begin {
		switch {
		case b.ID == "" || b.Session != w.Session || b.Stream != w.Stream || b.Epoch == 0 || b.N > 0:
			return fmt.Errorf("call %s of stream %.40q, epoch %d, step %d, cannot begin on stream %.40q", NameOf(b.Session, b.ID), b.Stream, b.Epoch, b.N, w.Stream)
		case max(b.Batch, 1) != len(w.Begin):
			return fmt.Errorf("call %s is one of %d by its record, and begins with %d", NameOf(b.Session, b.ID), max(b.Batch, 1), len(w.Begin))
		case slices.ContainsFunc(w.Begin[:i], func(o *Record) bool { return o.ID == b.ID }):
			return fmt.Errorf("call %s begins twice: %w", NameOf(b.Session, b.ID), state.ErrExists)
		}
		if err := bounded(b.Session, b.ID, "a state", len(b.State), maxResult); err != nil {
			return err
		}
	}
	if w.Call == "" {
		return nil
	}
	if w.N <= w.After || w.Seq == 0 && len(w.Entries) > 0 {
		return fmt.Errorf("step %d after step %d of call %s, with entries at %d: steps increase, and places begin at 1", w.N, w.After, NameOf(w.Session, w.Call), w.Seq)
	}
	return w.checkEntries(maxResult)
}

// bounded returns state.ErrTooLarge if n bytes of a call exceed most.
func bounded(session, call, what string, n, most int) error {
	if n <= most {
		return nil
	}
	return fmt.Errorf("call %s: %s of %d bytes, at most %d can be kept: %w", NameOf(session, call), what, n, most, state.ErrTooLarge)
}

func (w *Write) checkEntries(maxResult int) error {
	for i := range w.Entries {
		switch e := &w.Entries[i]; {
		case e.Kind == state.EntryProgress, e.Kind == state.EntryLog:
			continue
		case e.Kind == state.EntryResponse && (w.Next != NextDone || i < len(w.Entries)-1):
			return fmt.Errorf("call %s: a response ends the call", NameOf(w.Session, w.Call))
		case e.Kind < state.EntryProgress || e.Kind > state.EntryResponse:
			return fmt.Errorf("call %s: an entry of the unknown kind %d", NameOf(w.Session, w.Call), e.Kind)
		default:
			if err := bounded(w.Session, w.Call, "an entry", len(e.Data), maxResult); err != nil {
				return err
			}
		}
	}
	if len(w.Brief) > MaxBrief {
		return fmt.Errorf("call %s: a summary of %d bytes, at most %d are kept", NameOf(w.Session, w.Call), len(w.Brief), MaxBrief)
	}
	return bounded(w.Session, w.Call, "a state", len(w.State), maxResult)
}

package medium

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Verdict is the result of a Restore.
type Verdict uint8

// The verdicts.
const (
	// AlreadyStored: the medium already has the step, or a later one of the same epoch.
	AlreadyStored Verdict = iota
	// Restored: the medium had lost the call's last writes, and has them again.
	Restored
	// Superseded: the call has another owner, or has ended; the medium keeps what it has.
	Superseded
)

// Merge merges what a replica knows of the call after the medium has lost writes. The end of a call
// wins, then the higher epoch, then the later step; answers to the same questions are united. So
// the result does not depend on the order or number of restores. known is false if the medium lacks
// the call; r is then empty.
func (r *Record) Merge(o *Record, known bool) Verdict {
	switch {
	case !known:
		*r = *o
		return Restored
	case r.Phase == state.PhaseDone:
		if o.Epoch == r.Epoch {
			return AlreadyStored
		}
		return Superseded
	case o.Phase == state.PhaseDone:
		*r = *o
		return Restored
	case o.Epoch == r.Epoch:
		return r.mergeStep(o)
	case o.Epoch > r.Epoch:
		*r = *o
		return Restored
	}
	return Superseded
}

// mergeStep merges another step of the same epoch.
func (r *Record) mergeStep(o *Record) Verdict {
	verdict, other := AlreadyStored, r.Asked
	if o.N > r.N {
		verdict = Restored
		*r = *o
	} else {
		other = o.Asked
	}
	if r.Phase != state.PhaseWaiting {
		return verdict
	}
	for _, q := range other {
		if q.Answer != nil && r.Answered(q.ID, *q.Answer) {
			verdict = Restored
		}
	}
	return verdict
}

// MergeLog merges the entries that a replica knows into a log that has lost some, after the records
// were merged. from is the replica's record, now the merged one. Log entries of a lost branch are
// removed; entries of the replica that do not fit between existing ones are left out. Both inputs
// are in the order of Seq, and so is the result, which is a new slice.
func MergeLog(log []Entry, from *Record, entries []Entry, now *Record) []Entry {
	out := slices.Clone(log)
	if from.Epoch == now.Epoch {
		out = slices.DeleteFunc(out, func(e Entry) bool {
			return e.Epoch != from.Epoch && (e.Seq > from.Start || e.Epoch.Counter() >= from.Epoch.Counter())
		})
	}
	for _, e := range entries {
		if e.Epoch == now.Epoch || e.Seq <= now.Start {
			out = fit(out, e)
		}
	}
	return out
}

// fit inserts an entry if its place is free and its epoch is in order.
func fit(log []Entry, e Entry) []Entry {
	i, found := slices.BinarySearchFunc(log, e.Seq, func(x Entry, seq uint64) int { return cmp.Compare(x.Seq, seq) })
	follows := func(a, b Epoch) bool { return a == b || a.Counter() < b.Counter() }
	if found || i > 0 && !follows(log[i-1].Epoch, e.Epoch) || i < len(log) && !follows(e.Epoch, log[i].Epoch) {
		return log
	}
	return slices.Insert(log, i, e)
}

// MissingEntries returns the entries of a call of a batch that the log lacks, after the call's
// record was merged. has is the position, as its writer counts, of the last entry of the call in
// the log. from is the replica's record, now the merged one. The log of a batch is not merged
// itself, because writers do not know the places of their entries in it.
func MissingEntries(has Position, now, from *Record, entries []Entry) (out []Entry) {
	for _, e := range entries {
		if now.Epoch == from.Epoch && (e.Epoch > has.Epoch || e.Epoch == has.Epoch && e.Seq > has.Seq) {
			out = append(out, e)
		}
	}
	return out
}

// RewoundError means that a write does not follow the medium's state, because the medium lost
// writes. Nothing was written. Restore restores the lost writes.
type RewoundError struct {
	// Epoch and N are the state that the medium has of the call instead. Zero means that it has
	// none.
	Epoch Epoch
	N     uint64
}

// Error implements error.
func (e *RewoundError) Error() string {
	return fmt.Sprintf("state: the medium lost writes: it has the call at epoch %d/%08x, step %d", e.Epoch.Counter(), e.Epoch.Random(), e.N)
}

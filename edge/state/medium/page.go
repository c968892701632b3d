package medium

import (
	"slices"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Page is a part of a log after a position.
type Page struct {
	Entries []Entry
	// Last is the place of the log's last entry.
	Last Position
	// Ahead means that the reader's position is beyond Last, because the medium has lost entries.
	// Entries are then those that are sent again: the questions that are still open under another
	// epoch, or in a batch, and the responses.
	Ahead bool
	// Ended means that the log has ended and Entries reaches its end.
	Ended bool
	// More means that a bound on the page cut off further entries.
	More bool
	// Trace is that of the stream's first call, as a W3C traceparent. Empty means none.
	Trace string
}

// PageOf returns the page of a log after a position, for all media alike. calls are the calls of
// the stream. last is the place of the log's last entry: LastOf, or with several calls the last
// place that the medium assigned.
func PageOf(log []Entry, last Position, calls []*Record, after Position) Page {
	p := Page{Last: last, Ended: Ended(calls)}
	if after == (Position{}) {
		p.Entries = log
		return p
	}
	from := len(log)
	for from > 0 && after.Before(log[from-1].Position()) {
		from--
	}
	p.Entries = log[from:]
	if p.Ahead = from == len(log) && after.Ahead(last); p.Ahead {
		p.Entries = EntriesToResend(log, calls, after)
	}
	return p
}

// LastOf returns the place of the last entry in the log of one call, even if that entry was
// dropped.
func LastOf(log []Entry, r *Record) Position {
	if len(log) == 0 {
		return Position{Epoch: r.Epoch, Seq: r.Last}
	}
	p := log[len(log)-1].Position()
	if p.Epoch == r.Epoch {
		p.Seq = max(p.Seq, r.Last)
	} else {
		p.Seq = max(p.Seq, r.Start)
	}
	return p
}

// Ended reports whether a stream with these calls has ended.
func Ended(calls []*Record) bool {
	for _, r := range calls {
		if r.Phase != state.PhaseDone || r.Batch > len(calls) {
			return false
		}
	}
	return true
}

// Ahead reports whether a log that ends at last has lost entries that a reader at p knows.
func (p Position) Ahead(last Position) bool {
	return p.Epoch.Counter() > last.Epoch.Counter() || p.Epoch == last.Epoch && p.Seq > last.Seq
}

// EntriesToResend returns the entries that must be sent again to a reader that is ahead of the log
// (see Ahead): responses, and requests that still wait for an answer. In a batch, a call that has
// lost nothing continues to write, at places at which the reader has seen other entries; the reader
// must not miss these two kinds.
func EntriesToResend(log []Entry, calls []*Record, after Position) (out []Entry) {
	batch := slices.ContainsFunc(calls, func(r *Record) bool { return r.Batch > 0 })
	for _, e := range log {
		asks := func(r *Record) bool { return r.waitsFor(e.Data) }
		switch {
		case e.Kind == state.EntryResponse,
			e.Kind == state.EntryRequest && (batch || after.Epoch != e.Epoch) && slices.ContainsFunc(calls, asks):
			out = append(out, e)
		}
	}
	return out
}

// waitsFor reports whether a question of the call waits for its answer.
func (r *Record) waitsFor(message []byte) bool {
	return slices.ContainsFunc(r.Asked, func(q Question) bool { return q.Answer == nil && string(q.Message) == string(message) })
}

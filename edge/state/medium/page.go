package medium

import (
	"slices"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Page is what a log has behind a position.
type Page struct {
	Entries []Entry
	// Last is the place of the log's last entry.
	Last Position
	// Ahead: the position is behind Last: the medium has lost what the reader knows. Entries are then what may come
	// again: the questions that still wait under another epoch, and the response of a log that has ended.
	Ahead bool
	// Ended: the log has, and Entries reaches its end.
	Ended bool
	// More: there is more behind Entries, which a bound on the page left out.
	More bool
	// Trace is that of the stream's first call, as a W3C traceparent; empty: none.
	Trace string
}

// PageOf is the page of a log behind a position, for every medium the same. calls are those of the stream, and last is the
// place of the log's last entry: LastOf, or with several calls what the medium gave out last.
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
		p.Entries = Again(log, calls, after, p.Ended)
	}
	return p
}

// LastOf is the place of the last entry of a log that is of one call, also if that entry was dropped.
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

// Ended says whether a stream has ended that has these calls.
func Ended(calls []*Record) bool {
	for _, r := range calls {
		if r.Phase != state.PhaseDone || r.Batch > len(calls) {
			return false
		}
	}
	return true
}

// Ahead says whether a log that ends at last has lost what a reader at p knows.
func (p Position) Ahead(last Position) bool {
	return p.Epoch.Counter() > last.Epoch.Counter() || p.Epoch == last.Epoch && p.Seq > last.Seq
}

// Again are the entries of a log that a reader is sent, who is ahead of it.
func Again(log []Entry, calls []*Record, after Position, ended bool) (out []Entry) {
	for _, e := range log {
		asks := func(r *Record) bool { return r.waitsFor(e.Data) }
		switch {
		case e.Kind == state.EntryResponse && ended,
			e.Kind == state.EntryRequest && after.Epoch != e.Epoch && slices.ContainsFunc(calls, asks):
			out = append(out, e)
		}
	}
	return out
}

// waitsFor says whether a question of the call waits for its answer.
func (r *Record) waitsFor(message []byte) bool {
	return slices.ContainsFunc(r.Asked, func(q Question) bool { return q.Answer == nil && string(q.Message) == string(message) })
}

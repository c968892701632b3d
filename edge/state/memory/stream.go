package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// maxRises bounds how many epochs of one log are told apart.
const maxRises = 64

// stream is the log of one stream. Guarded by its session's mu.
type stream struct {
	name  string
	calls []*call
	// entries are in the order of Seq; seq is the last that was given out.
	entries []state.Entry
	seq     uint64
	// bytes of all entries; droppable counts those that may be dropped.
	bytes, droppable int
	epoch            uint64
	rises            []rise
	// unfinished counts the calls that are not done; at 0 the stream has ended.
	unfinished int
	ended      time.Time
}

// rise is the end of one of the log's epochs: entries up to end are the same in the next one.
type rise struct{ epoch, end uint64 }

func droppable(e *state.Entry) bool {
	return e.Kind == state.EntryProgress || e.Kind == state.EntryLog
}

// add appends an entry within the bounds, and returns how many were dropped for it.
func (l *stream) add(e state.Entry, lim *state.Limits) (dropped int) {
	soft := droppable(&e)
	if soft && len(e.Data) > lim.LogBytes {
		return 1
	}
	l.seq++
	e.Seq = l.seq
	l.entries = append(l.entries, e)
	l.bytes += len(e.Data)
	if soft {
		l.droppable++
	}
	for (len(l.entries) > lim.LogEvents || l.bytes > lim.LogBytes) && l.droppable > 0 {
		l.dropOldest()
		dropped++
	}
	return dropped
}

// dropOldest drops the oldest entry that may be dropped; there is one. The pinned entries before it
// are few: they move up by one.
func (l *stream) dropOldest() {
	i := 0
	for !droppable(&l.entries[i]) {
		i++
	}
	l.bytes -= len(l.entries[i].Data)
	l.droppable--
	copy(l.entries[1:i+1], l.entries[:i])
	l.entries[0] = state.Entry{}
	l.entries = l.entries[1:]
}

// knows says whether the position is a place of this log: its entry, and those before it, were not
// lost in a rollback. beyond is true when nobody knew so far that the log lost something.
func (l *stream) knows(p state.Position) (ok, beyond bool) {
	if p.Epoch > l.epoch || p.Seq > l.seq {
		return false, true
	}
	for _, r := range l.rises {
		if r.epoch >= p.Epoch && p.Seq > r.end {
			return false, false
		}
	}
	return true, false
}

// raise begins an epoch above the log's and above another that somebody has seen.
func (l *stream) raise(seen uint64) {
	if len(l.rises) == maxRises {
		// The two oldest become one, with the lower end.
		l.rises[1].end = min(l.rises[0].end, l.rises[1].end)
		l.rises = slices.Delete(l.rises, 0, 1)
	}
	l.rises = append(l.rises, rise{l.epoch, l.seq})
	l.epoch = max(l.epoch, seen) + 1
}

// page copies at most max entries after a place.
func (l *stream) page(after uint64, max int) state.Page {
	i, found := slices.BinarySearchFunc(l.entries, after, func(e state.Entry, seq uint64) int {
		return cmp.Compare(e.Seq, seq)
	})
	if found {
		i++
	}
	end := min(i+max, len(l.entries))
	return state.Page{
		Entries: slices.Clone(l.entries[i:end]),
		Epoch:   l.epoch,
		Trace:   l.calls[0].Trace,
		AtEnd:   end == len(l.entries),
		Ended:   l.unfinished == 0 && end == len(l.entries),
	}
}

package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// maxPast bounds how many epochs of one log are known.
const maxPast = 64

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
	// past are the log's epochs before, the oldest first.
	past []past
	// unfinished counts the calls that are not done; at 0 the stream has ended.
	unfinished int
	ended      time.Time
}

// past is an epoch that has ended: entries up to end are the same in the next one.
type past struct{ epoch, end uint64 }

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

// place finds a position in this log: behind which number to read, or that the log does not reach it. A position
// whose entry was lost, or that is of another history, gives the log's start, rewound.
func (l *stream) place(p state.Position) (after uint64, rewound, ahead bool) {
	switch i := slices.IndexFunc(l.past, func(e past) bool { return e.epoch == p.Epoch }); {
	case p.Epoch == 0:
		return 0, false, false
	case p.Epoch == l.epoch:
		return p.Seq, false, p.Seq > l.seq
	case i >= 0 && p.Seq <= l.past[i].end:
		return p.Seq, false, false
	case i < 0 && state.EpochCounter(p.Epoch) > state.EpochCounter(l.epoch):
		return 0, false, true
	}
	return 0, true, false
}

// begin begins an epoch, of which drawn is the random part.
func (l *stream) begin(drawn uint32) {
	if len(l.past) == maxPast {
		l.past = slices.Delete(l.past, 0, 1)
	}
	l.past = append(l.past, past{l.epoch, l.seq})
	l.epoch = state.NextEpoch(l.epoch, drawn)
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

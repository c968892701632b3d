package memory

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// stream is the log of one stream. Guarded by its session's mu.
type stream struct {
	name  string
	calls []*storedCall
	// entries are in the order of Seq. If the medium assigns their places, seq is the last.
	entries []medium.Entry
	seq     uint64
	// bytes is the size of all entries; droppable is the number of droppable ones.
	bytes, droppable int
	// epoch is the epoch of a log whose places the medium assigns.
	epoch medium.Epoch
	// unfinished is the number of calls that are not done. At 0 the stream has ended.
	unfinished int
	ended      time.Time
	// keep is Session.Keep when the stream began.
	keep time.Time
}

func droppable(e *state.Entry) bool {
	return e.Kind == state.EntryProgress || e.Kind == state.EntryLog
}

// add appends an entry within the bounds. It assigns a place to an entry without one. dropped is
// the number of entries that were dropped for it.
func (l *stream) add(e medium.Entry, lim *state.Limits) (dropped int) {
	soft := droppable(&e.Entry)
	if soft && len(e.Data) > lim.LogBytes {
		return 1
	}
	if e.Seq == 0 {
		l.seq++
		e.Epoch, e.Seq = l.epoch, l.seq
	}
	l.entries = append(l.entries, e)
	l.bytes += len(e.Data)
	if soft {
		l.droppable++
	}
	return l.bound(lim)
}

// bound drops the oldest droppable entries until the bounds hold, and returns their number.
func (l *stream) bound(lim *state.Limits) (dropped int) {
	for (len(l.entries) > lim.LogEvents || l.bytes > lim.LogBytes) && l.droppable > 0 {
		l.dropOldest()
		dropped++
	}
	return dropped
}

// set replaces all entries.
func (l *stream) set(entries []medium.Entry) {
	l.entries, l.bytes, l.droppable = entries, 0, 0
	for i := range entries {
		if l.bytes += len(entries[i].Data); droppable(&entries[i].Entry) {
			l.droppable++
		}
	}
}

// dropOldest drops the oldest droppable entry; there must be one. The few pinned entries before it
// move up by one.
func (l *stream) dropOldest() {
	i := 0
	for !droppable(&l.entries[i].Entry) {
		i++
	}
	l.bytes -= len(l.entries[i].Data)
	l.droppable--
	copy(l.entries[1:i+1], l.entries[:i])
	l.entries[0] = medium.Entry{}
	l.entries = l.entries[1:]
}

// last returns the place of the log's last entry.
func (l *stream) last() medium.Position {
	if c := l.calls[0]; c.Batch == 0 {
		return medium.LastOf(l.entries, &c.Record)
	}
	return medium.Position{Epoch: l.epoch, Seq: l.seq}
}

// hasFrom reports whether there are entries at or after a place.
func (l *stream) hasFrom(seq uint64) bool {
	n := len(l.entries)
	return n > 0 && l.entries[n-1].Seq >= seq
}

// streamOf returns the stream of a locked session with a name, or nil.
func (m *Medium) streamOf(s *session, name string, now time.Time) *stream {
	l := s.streams[name]
	if l != nil && m.lapsed(l, now) {
		m.dropStream(s, l)
		return nil
	}
	return l
}

package memory

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// stream is the log of one stream. Guarded by its session's mu.
type stream struct {
	name  string
	calls []*call
	// entries are in the order of Seq. Where the medium gives them their places, seq is the last.
	entries []medium.Entry
	seq     uint64
	// bytes of all entries; droppable counts those that may be dropped.
	bytes, droppable int
	// epoch is that of a log to which the medium gives places.
	epoch medium.Epoch
	// unfinished counts the calls that are not done; at 0 the stream has ended.
	unfinished int
	ended      time.Time
	// keep is that of the session's record when the stream began.
	keep time.Time
}

func droppable(e *state.Entry) bool {
	return e.Kind == state.EntryProgress || e.Kind == state.EntryLog
}

// add appends an entry within the bounds, and returns how many were dropped for it. Without a place it is given one.
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

// bound drops the oldest entries that may be dropped for as long as there are too many, and returns how many.
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

// dropOldest drops the oldest entry that may be dropped; there is one. The pinned entries before it
// are few: they move up by one.
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

// last is the place of the log's last entry.
func (l *stream) last() medium.Position {
	if c := l.calls[0]; c.Batch == 0 {
		return medium.LastOf(l.entries, &c.Record)
	}
	return medium.Position{Epoch: l.epoch, Seq: l.seq}
}

// reaches says whether there are entries at a place or behind.
func (l *stream) reaches(seq uint64) bool {
	n := len(l.entries)
	return n > 0 && l.entries[n-1].Seq >= seq
}

// streamOf is the stream of a locked session that has the name; nil when there is none any more.
func (m *Medium) streamOf(s *session, name string, now time.Time) *stream {
	l := s.streams[name]
	if l != nil && m.lapsed(l, now) {
		m.dropStream(s, l)
		return nil
	}
	return l
}

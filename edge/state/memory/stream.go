package memory

import (
	"time"

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

// set replaces all entries.
func (l *stream) set(entries []medium.Entry) {
	l.entries, l.bytes, l.droppable = entries, 0, 0
	for i := range entries {
		if l.bytes += len(entries[i].Data); entries[i].Kind.Droppable() {
			l.droppable++
		}
	}
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

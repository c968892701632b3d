package medium

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Position is a place in the log of a stream; with the stream's name it is an event id. The owner
// of the epoch assigns the places of its entries, and never assigns one twice. The zero Position is
// before the first entry.
type Position struct {
	Epoch Epoch
	Seq   uint64
}

// Before reports whether a reader at p must still be sent the entry at q.
func (p Position) Before(q Position) bool {
	if p.Epoch == q.Epoch {
		return p.Seq < q.Seq
	}
	// Epochs with the same counter belong to two histories: a reader that has seen one has not seen
	// the other.
	return p.Epoch.Counter() <= q.Epoch.Counter()
}

// EventID returns the position as the id of an event of a stream, whose name has no dot. Ids are
// unique in the session, and none identifies two entries. Seq 0, before the first entry, is the
// priming event.
func (p Position) EventID(stream string) string {
	var room [64]byte
	b := append(room[:0], stream...)
	b = append(b, '.')
	b = strconv.AppendUint(b, uint64(p.Epoch), 36)
	b = append(b, '.')
	b = strconv.AppendUint(b, p.Seq, 10)
	return string(b)
}

// MaxPosition bounds the numbers of a position that is parsed: every medium holds such numbers
// exactly.
const MaxPosition = 1 << 52

// ParseEventID parses an event id. It accepts only what EventID prints: at most 128 bytes, an Epoch
// of at least 1, and both numbers up to MaxPosition.
func ParseEventID(id string) (stream string, p Position, err error) {
	stream, rest, ok := strings.Cut(id, ".")
	epoch, seq, ok2 := strings.Cut(rest, ".")
	e, err1 := strconv.ParseUint(epoch, 36, 64)
	n, err2 := strconv.ParseUint(seq, 10, 64)
	p = Position{Epoch: Epoch(e), Seq: n}
	if !ok || !ok2 || stream == "" || len(id) > 128 || err1 != nil || err2 != nil || e == 0 || e > MaxPosition || n > MaxPosition || p.EventID(stream) != id {
		return "", Position{}, fmt.Errorf("event id %.80q was not issued here", id)
	}
	return stream, p, nil
}

// Entry is a log entry at its place: under its owner's epoch, at Seq.
type Entry struct {
	Epoch Epoch
	state.Entry
}

// Position returns the entry's place.
func (e *Entry) Position() Position { return Position{Epoch: e.Epoch, Seq: e.Seq} }

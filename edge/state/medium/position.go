package medium

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Position is a place in the log of a stream, and with the stream's name an event id. The owner of the epoch gives
// its entries their places, and never gives one place to two of them. The zero Position is before the first entry.
type Position struct {
	Epoch Epoch
	Seq   uint64
}

// Before says whether a reader at p is still to be sent what stands at q.
func (p Position) Before(q Position) bool {
	if p.Epoch == q.Epoch {
		return p.Seq < q.Seq
	}
	// Epochs that count the same are of two histories: who has seen one has not seen the other.
	return p.Epoch.Counter() <= q.Epoch.Counter()
}

// EventID is the position as the id of an event of the stream, whose name has no dot: so ids are unique in the session, and
// one never stands for two entries. Seq 0 is before the first entry: the priming event's.
func (p Position) EventID(stream string) string {
	var room [64]byte
	b := append(room[:0], stream...)
	b = append(b, '.')
	b = strconv.AppendUint(b, uint64(p.Epoch), 36)
	b = append(b, '.')
	b = strconv.AppendUint(b, p.Seq, 10)
	return string(b)
}

// MaxPosition bounds the numbers of a position that can be read: every medium can count so far without rounding.
const MaxPosition = 1 << 52

// ParseEventID reads an event id. Only what EventID prints is accepted, at most 128 bytes, with an Epoch from 1 and
// both numbers up to MaxPosition.
func ParseEventID(id string) (stream string, p Position, err error) {
	stream, rest, ok := strings.Cut(id, ".")
	epoch, seq, ok2 := strings.Cut(rest, ".")
	e, err1 := strconv.ParseUint(epoch, 36, 64)
	n, err2 := strconv.ParseUint(seq, 10, 64)
	p = Position{Epoch: Epoch(e), Seq: n}
	if !ok || !ok2 || stream == "" || len(id) > 128 || err1 != nil || err2 != nil || e == 0 || e > MaxPosition || n > MaxPosition || p.EventID(stream) != id {
		return "", Position{}, fmt.Errorf("event id %.80q was not given out here", id)
	}
	return stream, p, nil
}

// Entry is an entry of a log in its place: under its owner's epoch, at Seq.
type Entry struct {
	Epoch Epoch
	state.Entry
}

// Position is the entry's place.
func (e *Entry) Position() Position { return Position{Epoch: e.Epoch, Seq: e.Seq} }

package state

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in the log of one stream. As an event id it names the stream, the epoch of the
// log and the place, so ids are unique in the session and never used again after a rollback.
// Seq 0 is before the first entry: the priming event's. With Epoch 0 it is the start under any epoch.
type Position struct {
	// Stream is not empty and has no dot.
	Stream string
	// Epoch of the log; the first is FirstEpoch.
	Epoch uint64
	// Seq of the entry; the first is 1.
	Seq uint64
}

// MaxPosition bounds Epoch and Seq: every medium can count so far without rounding.
const MaxPosition = 1 << 52

// MaxAhead bounds how far the counter of a position's Epoch may be ahead of the log's: so many claims a medium may have
// lost. What is further ahead was made up.
const MaxAhead = 64

// Epochs, of leases and of logs, are one number of 52 bits: a counter of 20 above 32 random bits, which whoever begins
// the epoch draws, so that two histories of one medium never count the same. A double has 53 bits: scripts and
// JSON hold an epoch without rounding. The higher number is the later epoch, or of two with one counter that which wins.
const (
	// FirstEpoch is the one that leases and logs begin under: counter 0. Releases before counted on from it by one, so
	// that the counter of all their epochs is 0.
	FirstEpoch = 1

	epochBits  = 32
	maxCounter = 1<<20 - 1
)

// EpochCounter is how many claims came before an epoch.
func EpochCounter(epoch uint64) uint64 { return epoch >> epochBits }

// NextEpoch is the epoch behind another one. The counter stays at its end, should it come there: then the random
// bits alone tell epochs apart.
func NextEpoch(epoch uint64, drawn uint32) uint64 {
	return min(EpochCounter(epoch)+1, maxCounter)<<epochBits | uint64(drawn)
}

// String is the event id.
func (p Position) String() string {
	var room [64]byte
	b := append(room[:0], p.Stream...)
	b = append(b, '.')
	b = strconv.AppendUint(b, p.Epoch, 36)
	b = append(b, '.')
	b = strconv.AppendUint(b, p.Seq, 10)
	return string(b)
}

// ParsePosition reads an event id. Only what String prints is accepted, at most 128 bytes, with an Epoch from 1 and
// both numbers up to MaxPosition.
func ParsePosition(id string) (Position, error) {
	bad := func() (Position, error) {
		return Position{}, fmt.Errorf("event id %.80q was not given out here", id)
	}
	stream, rest, ok := strings.Cut(id, ".")
	epoch, seq, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 || stream == "" || len(id) > 128 {
		return bad()
	}
	p := Position{Stream: stream}
	var err error
	if p.Epoch, err = strconv.ParseUint(epoch, 36, 64); err != nil {
		return bad()
	}
	if p.Seq, err = strconv.ParseUint(seq, 10, 64); err != nil {
		return bad()
	}
	if p.Epoch == 0 || p.Epoch > MaxPosition || p.Seq > MaxPosition || p.String() != id {
		return bad()
	}
	return p, nil
}

// EntryKind says what an entry is, which decides whether it may be dropped.
type EntryKind uint8

// The kinds of entries.
const (
	// EntryProgress and EntryLog may be dropped when the log is full.
	EntryProgress EntryKind = iota + 1
	EntryLog
	// EntryNotice is another notification; kept.
	EntryNotice
	// EntryRequest is a request to the client; kept.
	EntryRequest
	// EntryResponse ends a call; kept.
	EntryResponse
)

// Entry is one event of a stream. Data is a whole JSON-RPC message, immutable once appended.
type Entry struct {
	Kind EntryKind
	Data []byte
	// Progress is the value of an EntryProgress; the medium keeps the highest with the call.
	Progress float64
	// Completes is the key of the URL elicitation whose completion an EntryNotice tells: it leaves the
	// call's open elicitations (see Claim). Empty: none.
	Completes string
	// Seq is set by the medium.
	Seq uint64
}

// Page is a piece of a log.
type Page struct {
	// Entries after the asked position, in order, with gaps in Seq where messages were dropped. Data is
	// shared: do not change it.
	Entries []Entry
	// Epoch of the log: that of the entries' event ids.
	Epoch uint64
	// Ahead: the log does not reach the position, since the medium lost what came before it. There are no Entries. Stay
	// there and read again: the log grows back when who wrote it notices the loss, or it begins an epoch.
	Ahead bool
	// Rewound: the position's entry was lost, or is of another history of the medium, so Entries begin with the
	// log's first.
	Rewound bool
	// Trace is that of the stream's first call; empty: none.
	Trace string
	// AtEnd: there was nothing behind Entries when they were read.
	AtEnd bool
	// Ended: the stream has its last response, and Entries reaches it, or the position is Ahead: nothing follows.
	Ended bool
}

// Log reads and grows the logs. Safe for concurrent use.
type Log interface {
	// Append adds entries to the stream of the lease's call; none, with w.Dispatched, only records
	// the phase. Responses are refused: they are Finish's. ErrFenced, ErrNotFound, ErrTooLarge.
	Append(ctx context.Context, w Write, entries ...Entry) error
	// Read returns at most max entries after a position; max 0: a page of the medium's choice. It changes nothing. A
	// position under an earlier epoch of the log is as good as one under the log's, if its entry was there when
	// the epoch ended; else the page is Rewound, as it is for a position of an epoch that the log never had, or no longer
	// knows, whose counter is not above the log's. A position beyond the end of the log's epoch, or of a
	// counter above, is Ahead. ErrNotFound when session or stream is gone, or the position's counter is more
	// than MaxAhead above the log's.
	Read(ctx context.Context, session string, after Position, max int) (Page, error)
}

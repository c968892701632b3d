package call

import (
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// readPause is the interval at which a log is read that another replica may write to.
const readPause = time.Second

// ReaderEventKind is the kind of an event of a reader.
type ReaderEventKind uint8

// The events of a reader.
const (
	// Opened: the client begins to read.
	Opened ReaderEventKind = iota
	// Woken: the log may have grown, or TimerRead has fired.
	Woken
	// HasPage: the log was read.
	HasPage
	// ReadFailed: the log was not read, because of Fault.
	ReadFailed
	// ReaderLeft: the client has disconnected, or this replica is shutting down.
	ReaderLeft

	readerEventKinds
)

// ReaderEvent is one event of a reader.
type ReaderEvent struct {
	Kind  ReaderEventKind
	Page  medium.Page
	Fault Fault
}

// Reading is the state of a reader.
type Reading uint8

// The states of a reader.
const (
	// Unopened: no event has arrived.
	Unopened Reading = iota
	// Fetching: the log is being read.
	Fetching
	// FetchingAgain: the log is being read and has grown since.
	FetchingAgain
	// Resting: everything was sent.
	Resting
	// Left: the reader has ended.
	Left

	readings
)

// The effects of a reader.
const (
	// Read reads the log after the reader's Position.
	Read EffectKind = iota + 64
	// Send sends Entries to the client.
	Send
	// EndStream ends the client's stream: the whole log was sent, or it no longer exists.
	EndStream
)

// Reader sends a log to one client. It never writes and never goes back. If the store has lost
// writes and the reader is ahead of the log, it waits until the log has them again, has entries of
// another owner in their place, or ends. It is not safe for concurrent use.
type Reader struct {
	state Reading
	pos   medium.Position
	// left are the last positions of other epochs with the same counter that the log had before.
	left []medium.Position
	// resent is the last resent entry while the client is ahead of the store.
	resent medium.Position
}

// NewReader makes a reader that begins after a position.
func NewReader(after medium.Position) *Reader { return &Reader{pos: after} }

// Position returns the position after which the reader reads next.
func (r *Reader) Position() medium.Position { return r.pos }

// State returns the state of the machine.
func (r *Reader) State() Reading { return r.state }

// Step takes an event and appends its effects to buf, in order.
func (r *Reader) Step(e *ReaderEvent, buf []Effect) []Effect {
	return readerTransitions[r.state][e.Kind](r, e, buf)
}

type readerTransition func(r *Reader, e *ReaderEvent, buf []Effect) []Effect

func skip(_ *Reader, _ *ReaderEvent, buf []Effect) []Effect { return buf }

// readerTransitions is the transition table: a row for each state, a column for each event.
var readerTransitions = [readings][readerEventKinds]readerTransition{
	Unopened:      {Opened: fetch, Woken: skip, HasPage: skip, ReadFailed: skip, ReaderLeft: endReader},
	Fetching:      {Opened: skip, Woken: fetchAgain, HasPage: sendPage, ReadFailed: notRead, ReaderLeft: endReader},
	FetchingAgain: {Opened: skip, Woken: skip, HasPage: sendPage, ReadFailed: notRead, ReaderLeft: endReader},
	Resting:       {Opened: skip, Woken: fetch, HasPage: skip, ReadFailed: skip, ReaderLeft: endReader},
	Left:          {Opened: skip, Woken: skip, HasPage: skip, ReadFailed: skip, ReaderLeft: skip},
}

func fetch(r *Reader, _ *ReaderEvent, buf []Effect) []Effect {
	r.state = Fetching
	return append(buf, Effect{Kind: Read})
}

func fetchAgain(r *Reader, _ *ReaderEvent, buf []Effect) []Effect {
	r.state = FetchingAgain
	return buf
}

func endReader(r *Reader, _ *ReaderEvent, buf []Effect) []Effect {
	r.state = Left
	return buf
}

func notRead(r *Reader, e *ReaderEvent, buf []Effect) []Effect {
	if e.Fault == Gone {
		r.state = Left
		return append(buf, Effect{Kind: EndStream})
	}
	return r.rest(buf)
}

func (r *Reader) rest(buf []Effect) []Effect {
	r.state = Resting
	return append(buf, Effect{Kind: SetTimer, Timer: TimerRead, After: readPause})
}

func sendPage(r *Reader, e *ReaderEvent, buf []Effect) []Effect {
	again := r.state == FetchingAgain
	p := &e.Page
	if p.Ahead {
		buf = r.resend(p.Entries, buf)
	} else {
		r.resent = medium.Position{}
		buf = r.send(p.Entries, buf)
	}
	switch {
	case p.Ended:
		r.state = Left
		return append(buf, Effect{Kind: EndStream})
	case again, p.More && !p.Ahead:
		return fetch(r, nil, buf)
	}
	return r.rest(buf)
}

// send sends entries. The client already has the entries of an epoch that the log lost and has
// again. Of these it gets only requests and responses, without ids, because no id is sent twice.
func (r *Reader) send(entries []medium.Entry, buf []Effect) []Effect {
	for from := 0; from < len(entries); {
		known, to := r.advance(entries[from].Position()), from+1
		for to < len(entries) && r.advance(entries[to].Position()) == known {
			to++
		}
		part := entries[from:to]
		if known {
			part = slices.DeleteFunc(slices.Clone(part), func(e medium.Entry) bool {
				return e.Kind != state.EntryRequest && e.Kind != state.EntryResponse
			})
		}
		if len(part) > 0 {
			buf = append(buf, Effect{Kind: Send, Entries: part, Unnumbered: known})
		}
		from = to
	}
	return buf
}

// advance advances the reader to a position. known is true if that position was sent before.
func (r *Reader) advance(to medium.Position) (known bool) {
	if to.Epoch.Counter() != r.pos.Epoch.Counter() {
		r.left = nil
	} else if to.Epoch != r.pos.Epoch {
		r.left = append(r.left, r.pos)
	}
	r.pos = to
	return slices.ContainsFunc(r.left, func(p medium.Position) bool { return p.Epoch == to.Epoch && p.Seq >= to.Seq })
}

// resend resends entries, once, to a client that is ahead of the store. They have no ids, so
// that the client keeps the id of the last entry that it has.
func (r *Reader) resend(entries []medium.Entry, buf []Effect) []Effect {
	i := slices.IndexFunc(entries, func(e medium.Entry) bool { return r.resent.Before(e.Position()) })
	if i < 0 {
		return buf
	}
	r.resent = entries[len(entries)-1].Position()
	return append(buf, Effect{Kind: Send, Entries: entries[i:], Unnumbered: true})
}

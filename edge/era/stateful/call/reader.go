package call

import (
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// readPause is how often a log is read that another replica may write.
const readPause = time.Second

// ReaderEventKind is what happened to a reader.
type ReaderEventKind uint8

// The events of a reader.
const (
	// Opened: the client reads from now on.
	Opened ReaderEventKind = iota
	// Woken: the log may have grown, or TimerRead is due.
	Woken
	// HasPage: the log was read.
	HasPage
	// ReadFailed: it was not, because of Fault.
	ReadFailed
	// ReaderLeft: the client, or this replica, goes.
	ReaderLeft

	readerEventKinds
)

// ReaderEvent is one event of a reader.
type ReaderEvent struct {
	Kind  ReaderEventKind
	Page  medium.Page
	Fault Fault
}

// Reading is what a reader does.
type Reading uint8

// The states of a reader.
const (
	// Unopened: nothing has happened.
	Unopened Reading = iota
	// Fetching: the log is being read.
	Fetching
	// FetchingAgain: it is, and has grown since.
	FetchingAgain
	// Resting: all there is was sent.
	Resting
	// Left: the reader has ended.
	Left

	readings
)

// The effects of a reader.
const (
	// Read reads the log behind the reader's Position.
	Read EffectKind = iota + 64
	// Send sends Entries to the client.
	Send
	// EndStream ends the client's stream: it has all of it, or the stream is not there any more.
	EndStream
)

// Reader sends a log to one client. It never writes, and never goes back: one that is ahead of the log, because the
// store has lost writes, waits until the log has them again, has another owner's in their place, or ends. It is not
// safe for concurrent use.
type Reader struct {
	state Reading
	pos   medium.Position
	// left are the last places of epochs that count as that of pos does, which the log has had before.
	left []medium.Position
	// told is the last of what was told again, while the store has lost what the client knows.
	told medium.Position
}

// NewReader makes a reader behind a position.
func NewReader(after medium.Position) *Reader { return &Reader{pos: after} }

// Position is where the reader reads next.
func (r *Reader) Position() medium.Position { return r.pos }

// State is where the machine is.
func (r *Reader) State() Reading { return r.state }

// Step takes an event and appends what is to be done to buf, in order.
func (r *Reader) Step(e *ReaderEvent, buf []Effect) []Effect {
	return readerTransitions[r.state][e.Kind](r, e, buf)
}

type readerTransition func(r *Reader, e *ReaderEvent, buf []Effect) []Effect

func skip(_ *Reader, _ *ReaderEvent, buf []Effect) []Effect { return buf }

// readerTransitions are all of them: a row for each state, a column for each event.
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
		buf = r.tellAgain(p.Entries, buf)
	} else {
		r.told = medium.Position{}
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

// send sends entries. Those of an epoch that the log had before, and has again, the client knows: of these it is told what may
// come again, without ids, since no id comes twice.
func (r *Reader) send(entries []medium.Entry, buf []Effect) []Effect {
	for from := 0; from < len(entries); {
		known, to := r.moves(entries[from].Position()), from+1
		for to < len(entries) && r.moves(entries[to].Position()) == known {
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

// moves moves the reader to a place, which is not before its own. known: the client was sent that before.
func (r *Reader) moves(to medium.Position) (known bool) {
	if to.Epoch.Counter() != r.pos.Epoch.Counter() {
		r.left = nil
	} else if to.Epoch != r.pos.Epoch {
		r.left = append(r.left, r.pos)
	}
	r.pos = to
	return slices.ContainsFunc(r.left, func(p medium.Position) bool { return p.Epoch == to.Epoch && p.Seq >= to.Seq })
}

// tellAgain sends what may come again to a client that knows more than the store does, once. It has no ids: the
// client keeps that of the last entry that it knows.
func (r *Reader) tellAgain(entries []medium.Entry, buf []Effect) []Effect {
	i := slices.IndexFunc(entries, func(e medium.Entry) bool { return r.told.Before(e.Position()) })
	if i < 0 {
		return buf
	}
	r.told = entries[len(entries)-1].Position()
	return append(buf, Effect{Kind: Send, Entries: entries[i:], Unnumbered: true})
}

package call

// Stage is the state of an exchange: one POST with its calls.
//
//	          the last HasDecided: one body
//	    ┌───────────────────────────────────────────────────────────────────► Finished
//	    │                             │ the last HasDecided                      ▲
//	Unwritten ─ Wanted, OpenDue ─► Opening ─ HasBegun ─► Streaming ─ its end ────┤
//	    │                         ▲   │   │                                      │
//	    │                 OpenDue │   │   └─ ClientLeft ─► OpeningUnread ─ HasBegun
//	    │ ClientLeft              │   │ BeginFailed           BeginFailed │   ▲
//	    ▼                         │   ▼                                   ▼   │ OpenDue
//	Abandoned ◄── ClientLeft ── Postponed ──── ClientLeft ─────────► PostponedUnread
//
// ClientLeft in Postponed and BeginFailed in OpeningUnread lead to PostponedUnread if records may have
// begun, and otherwise to Abandoned. The last HasDecided in PostponedUnread leads to Finished.
type Stage uint8

// The stages of an exchange.
const (
	// Unwritten: nothing was sent; replies are collected for one body.
	Unwritten Stage = iota
	// Postponed: as Unwritten, after a Begin that failed. TimerOpen starts the next one.
	Postponed
	// Opening: the records of the calls are being begun.
	Opening
	// OpeningUnread: as Opening, but the client has disconnected.
	OpeningUnread
	// PostponedUnread: as Postponed, but the client has disconnected. The records may have begun, so
	// that another replica may run the calls: they are begun again until that is known.
	PostponedUnread
	// Streaming: the calls have records, and the exchange follows their log.
	Streaming
	// Abandoned: the client disconnected before anything was sent. The calls continue without a
	// reader.
	Abandoned
	// Finished: the exchange has ended. Calls with a record continue.
	Finished

	stages
)

// ExchangeEventKind is the kind of an event of an exchange.
type ExchangeEventKind uint8

// The events of an exchange.
const (
	// Wanted: call Index has events or questions for the client.
	Wanted ExchangeEventKind = iota
	// HasDecided: call Index has ended without a record.
	HasDecided
	// OpenDue: TimerOpen has fired.
	OpenDue
	// HasBegun: the records exist.
	HasBegun
	// BeginFailed: the records were not begun, because of Fault. With Unavailable their existence
	// is unknown.
	BeginFailed
	// ClientLeft: the client has disconnected.
	ClientLeft
	// StreamEnded: the whole log was sent and has ended, or the reader was cut off.
	StreamEnded

	exchangeEventKinds
)

// ExchangeEvent is one event of an exchange.
type ExchangeEvent struct {
	Kind  ExchangeEventKind
	Index int
	Fault Fault
	// Err is the store's error, in BeginFailed.
	Err error
}

// Exchange is one POST: the calls that share its response, and their stream once a call needs one.
// It is not safe for concurrent use.
type Exchange struct {
	stage Stage
	// accepted is true if the exchange has ended without a body.
	accepted bool
	// decided marks the calls that have decided; left counts the others.
	decided []bool
	left    int
	// room is the storage of decided in exchanges of at most four calls.
	room [4]bool
	// mayHaveBegun is true if a failed Begin may have succeeded.
	mayHaveBegun bool
}

// init sets stage Unwritten for an exchange of calls calls, at least one.
func (x *Exchange) init(calls int) {
	if x.left = calls; calls <= len(x.room) {
		x.decided = x.room[:calls]
		return
	}
	x.decided = make([]bool, calls)
}

// Step takes an event and appends its effects to buf, in order.
func (x *Exchange) Step(e ExchangeEvent, buf []Effect) []Effect {
	return exchangeTransitions[x.stage][e.Kind](x, e, buf)
}

type exchangeTransition func(x *Exchange, e ExchangeEvent, buf []Effect) []Effect

func pass(_ *Exchange, _ ExchangeEvent, buf []Effect) []Effect { return buf }

// exchangeTransitions is the transition table: a row for each stage, a column for each event.
var exchangeTransitions = [stages][exchangeEventKinds]exchangeTransition{
	Unwritten:       {Wanted: open, HasDecided: gatherReply, OpenDue: open, HasBegun: pass, BeginFailed: pass, ClientLeft: abandon, StreamEnded: pass},
	Postponed:       {Wanted: refuseForNow, HasDecided: gatherReply, OpenDue: open, HasBegun: pass, BeginFailed: pass, ClientLeft: leavePostponed, StreamEnded: pass},
	Opening:         {Wanted: pass, HasDecided: recordDecided, OpenDue: pass, HasBegun: stream, BeginFailed: postpone, ClientLeft: openUnread, StreamEnded: pass},
	OpeningUnread:   {Wanted: pass, HasDecided: recordDecided, OpenDue: pass, HasBegun: streamUnread, BeginFailed: postponeUnread, ClientLeft: pass, StreamEnded: pass},
	PostponedUnread: {Wanted: refuseForNow, HasDecided: gatherReply, OpenDue: openAgainUnread, HasBegun: pass, BeginFailed: pass, ClientLeft: pass, StreamEnded: pass},
	Streaming:       {Wanted: pass, HasDecided: pass, OpenDue: pass, HasBegun: pass, BeginFailed: pass, ClientLeft: closeStream, StreamEnded: closeStream},
	Abandoned:       {Wanted: refuse, HasDecided: keepUnread, OpenDue: pass, HasBegun: pass, BeginFailed: pass, ClientLeft: pass, StreamEnded: pass},
	Finished:        {Wanted: refuse, HasDecided: keepUnread, OpenDue: pass, HasBegun: pass, BeginFailed: pass, ClientLeft: pass, StreamEnded: pass},
}

func forward(call int, what EventKind, f Fault, err error) Effect {
	return Effect{Kind: Forward, Call: int32(call), Event: what, Fault: f, Err: err} // #nosec G115 -- of a batch, which is bounded
}

func open(x *Exchange, _ ExchangeEvent, buf []Effect) []Effect {
	x.stage = Opening
	return append(buf, Effect{Kind: Begin})
}

// refuseForNow refuses a stream until TimerOpen fires.
func refuseForNow(_ *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	return append(buf, forward(e.Index, Refused, Unavailable, nil))
}

// recordDecided records that a call has decided.
func recordDecided(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	if !x.decided[e.Index] {
		x.decided[e.Index] = true
		x.left--
	}
	return buf
}

func gatherReply(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	recordDecided(x, e, buf)
	if x.left > 0 {
		return buf
	}
	return x.respond(buf)
}

// respond ends the exchange. It keeps the replies of its calls, and sends them if the client is
// still connected.
func (x *Exchange) respond(buf []Effect) []Effect {
	x.stage = Finished
	for i := range x.decided {
		buf = append(buf, forward(i, Kept, NoFault, nil))
	}
	if x.mayHaveBegun {
		buf = append(buf, Effect{Kind: CleanUp})
	}
	if !x.accepted {
		buf = append(buf, Effect{Kind: Respond})
	}
	return buf
}

func stream(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	buf = streamUnread(x, e, buf)
	x.stage = Streaming
	return append(buf, Effect{Kind: Open})
}

// streamUnread lets the calls continue with their records, without a reader.
func streamUnread(x *Exchange, _ ExchangeEvent, buf []Effect) []Effect {
	x.stage = Finished
	for i := range x.decided {
		buf = append(buf, forward(i, Begun, NoFault, nil))
	}
	return buf
}

// postpone continues without a stream until TimerOpen fires.
func postpone(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	x.noteFailed(e.Fault)
	x.stage = Postponed
	return x.notBegun(e, buf)
}

// postponeUnread tries again later, without a client, if the records may have begun.
func postponeUnread(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	if x.noteFailed(e.Fault); !x.mayHaveBegun {
		return x.notBegun(e, abandon(x, e, buf))
	}
	x.stage = PostponedUnread
	return x.notBegun(e, x.accept(buf))
}

// leavePostponed tries again later, without a client, if the records may have begun. Otherwise it refuses
// a stream for ever.
func leavePostponed(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	if !x.mayHaveBegun {
		return x.notBegun(ExchangeEvent{Kind: BeginFailed, Fault: Fenced}, abandon(x, e, buf))
	}
	x.stage = PostponedUnread
	return x.accept(buf) // TimerOpen is set.
}

// noteFailed records whether records may exist after a Begin that failed. With IDTaken they do: another
// replica has taken one of them over.
func (x *Exchange) noteFailed(f Fault) {
	x.mayHaveBegun = x.mayHaveBegun || f == Unavailable || f == IDTaken
}

// accept ends the exchange without a body, once.
func (x *Exchange) accept(buf []Effect) []Effect {
	if x.accepted {
		return buf
	}
	x.accepted = true
	return append(buf, Effect{Kind: Accept})
}

// notBegun refuses a stream to the calls, which drop events that need one.
func (x *Exchange) notBegun(e ExchangeEvent, buf []Effect) []Effect {
	for i, decided := range x.decided {
		if !decided || e.Fault == Gone {
			buf = append(buf, forward(i, Refused, e.Fault, e.Err))
		}
	}
	switch {
	case x.left == 0:
		return x.respond(buf)
	case x.stage != Abandoned:
		buf = append(buf, Effect{Kind: SetTimer, Timer: TimerOpen})
	}
	return buf
}

func openUnread(x *Exchange, _ ExchangeEvent, buf []Effect) []Effect {
	x.stage = OpeningUnread
	return buf
}

func openAgainUnread(x *Exchange, _ ExchangeEvent, buf []Effect) []Effect {
	x.stage = OpeningUnread
	return append(buf, Effect{Kind: Begin})
}

// abandon lets the calls continue without a reader. The replies of those that have decided are kept;
// if all have, respond does that.
func abandon(x *Exchange, _ ExchangeEvent, buf []Effect) []Effect {
	x.stage = Abandoned
	buf = x.accept(buf)
	for i, decided := range x.decided {
		if decided && x.left > 0 {
			buf = append(buf, forward(i, Kept, NoFault, nil))
		}
	}
	return buf
}

func refuse(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	return append(buf, forward(e.Index, Refused, Fenced, nil))
}

// keepUnread keeps a reply that has no reader.
func keepUnread(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	if x.decided[e.Index] {
		return buf
	}
	recordDecided(x, e, buf)
	return append(buf, forward(e.Index, Kept, NoFault, nil))
}

func closeStream(x *Exchange, _ ExchangeEvent, buf []Effect) []Effect {
	x.stage = Finished
	return buf
}

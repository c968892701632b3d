package call

// Stage is what became of an exchange: of one POST with its calls.
type Stage uint8

// The stages of an exchange.
const (
	// Unwritten: nothing is on the wire; the outcomes are gathered for one body.
	Unwritten Stage = iota
	// Opening: the calls' records are being begun.
	Opening
	// Streaming: the calls have records, and the exchange follows their log.
	Streaming
	// Abandoned: the client left while nothing was on the wire. The calls go on, unheard.
	Abandoned
	// Finished: the exchange has ended. Calls that have a record go on.
	Finished

	stages
)

// ExchangeEventKind is what happened to an exchange.
type ExchangeEventKind uint8

// The events of an exchange.
const (
	// Wanted: the call Index has events or questions for the client.
	Wanted ExchangeEventKind = iota
	// HasOutcome: the call Index has ended without a record.
	HasOutcome
	// OpenDue: TimerOpen is due.
	OpenDue
	// HasBegun: the records are there.
	HasBegun
	// BeginFailed: they are not, because of Fault; with Unavailable it is not known.
	BeginFailed
	// ClientLeft: the client has.
	ClientLeft
	// StreamEnded: the log has ended and all of it was sent, or the reader was cut off.
	StreamEnded

	exchangeEventKinds
)

// ExchangeEvent is one event of an exchange.
type ExchangeEvent struct {
	Kind  ExchangeEventKind
	Index int
	Fault Fault
	// Err is what the store said: of BeginFailed.
	Err error
}

// Exchange is what came in one POST: the calls that share its response, and their stream once one of them outgrows
// that. It is not safe for concurrent use.
type Exchange struct {
	stage Stage
	// decided calls have an outcome; left counts the others.
	decided []bool
	left    int
	// room is for decided, of most exchanges.
	room [4]bool
	// refused: a Begin failed, and the next is due with the timer. unsure: it may have happened.
	refused, unsure bool
	// gone: the client left while the records were being begun.
	gone bool
}

// init makes it one in stage Unwritten of so many calls, at least one.
func (x *Exchange) init(calls int) {
	if x.left = calls; calls <= len(x.room) {
		x.decided = x.room[:calls]
		return
	}
	x.decided = make([]bool, calls)
}

// Stage is where the machine is.
func (x *Exchange) Stage() Stage { return x.stage }

// Step takes an event and appends what is to be done to buf, in order.
func (x *Exchange) Step(e ExchangeEvent, buf []Effect) []Effect {
	return exchangeTransitions[x.stage][e.Kind](x, e, buf)
}

type exchangeTransition func(x *Exchange, e ExchangeEvent, buf []Effect) []Effect

func pass(_ *Exchange, _ ExchangeEvent, buf []Effect) []Effect { return buf }

// exchangeTransitions are all of them: a row for each stage, a column for each event.
var exchangeTransitions = [stages][exchangeEventKinds]exchangeTransition{
	Unwritten: {Wanted: openOnWish, HasOutcome: gatherOutcome, OpenDue: open, HasBegun: pass, BeginFailed: pass, ClientLeft: abandon, StreamEnded: pass},
	Opening:   {Wanted: pass, HasOutcome: note, OpenDue: pass, HasBegun: stream, BeginFailed: notBegun, ClientLeft: noteGone, StreamEnded: pass},
	Streaming: {Wanted: pass, HasOutcome: pass, OpenDue: pass, HasBegun: pass, BeginFailed: pass, ClientLeft: closeStream, StreamEnded: closeStream},
	Abandoned: {Wanted: refuse, HasOutcome: keepUnheard, OpenDue: pass, HasBegun: pass, BeginFailed: pass, ClientLeft: pass, StreamEnded: pass},
	Finished:  {Wanted: refuse, HasOutcome: keepUnheard, OpenDue: pass, HasBegun: pass, BeginFailed: pass, ClientLeft: pass, StreamEnded: pass},
}

func tell(call int, what EventKind, f Fault, err error) Effect {
	return Effect{Kind: Tell, Call: int32(call), Event: what, Fault: f, Err: err} // #nosec G115 -- of a batch, which is bounded
}

func openOnWish(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	if x.refused {
		return append(buf, tell(e.Index, Refused, Unavailable, nil))
	}
	return open(x, e, buf)
}

func open(x *Exchange, _ ExchangeEvent, buf []Effect) []Effect {
	x.stage, x.refused = Opening, false
	return append(buf, Effect{Kind: Begin})
}

// note counts an outcome.
func note(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	if !x.decided[e.Index] {
		x.decided[e.Index] = true
		x.left--
	}
	return buf
}

func gatherOutcome(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	note(x, e, buf)
	if x.left > 0 {
		return buf
	}
	return x.respond(buf)
}

// respond ends the exchange: its calls' outcomes are taken, and told if the client is there.
func (x *Exchange) respond(buf []Effect) []Effect {
	heard := x.stage == Unwritten
	x.stage = Finished
	for i := range x.decided {
		buf = append(buf, tell(i, Kept, NoFault, nil))
	}
	if x.unsure {
		buf = append(buf, Effect{Kind: Tidy})
	}
	if heard {
		buf = append(buf, Effect{Kind: Respond})
	}
	return buf
}

func stream(x *Exchange, _ ExchangeEvent, buf []Effect) []Effect {
	x.stage = Streaming
	for i := range x.decided {
		buf = append(buf, tell(i, Begun, NoFault, nil))
	}
	if x.gone {
		x.stage = Finished
		return buf
	}
	return append(buf, Effect{Kind: Open})
}

// notBegun goes on without a stream, for now. What could not be said without one was dropped by its call.
func notBegun(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	x.unsure = x.unsure || e.Fault == Unavailable
	x.stage, x.refused = Unwritten, true
	if x.gone {
		buf = abandon(x, e, buf)
	}
	for i, decided := range x.decided {
		if !decided || e.Fault == Gone {
			buf = append(buf, tell(i, Refused, e.Fault, e.Err))
		}
	}
	switch {
	case x.left == 0:
		return x.respond(buf)
	case x.stage == Unwritten:
		buf = append(buf, Effect{Kind: SetTimer, Timer: TimerOpen})
	}
	return buf
}

func noteGone(x *Exchange, _ ExchangeEvent, buf []Effect) []Effect {
	x.gone = true
	return buf
}

func abandon(x *Exchange, _ ExchangeEvent, buf []Effect) []Effect {
	x.stage = Abandoned
	return append(buf, Effect{Kind: Accept})
}

func refuse(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	return append(buf, tell(e.Index, Refused, Fenced, nil))
}

// keepUnheard takes an outcome that nobody is told.
func keepUnheard(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	if x.decided[e.Index] {
		return buf
	}
	note(x, e, buf)
	buf = append(buf, tell(e.Index, Kept, NoFault, nil))
	if x.left == 0 && x.unsure {
		x.unsure = false
		buf = append(buf, Effect{Kind: Tidy})
	}
	return buf
}

func closeStream(x *Exchange, _ ExchangeEvent, buf []Effect) []Effect {
	x.stage = Finished
	return buf
}

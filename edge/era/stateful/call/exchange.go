package call

// Stage is the state of an exchange: one POST with its calls.
type Stage uint8

// The stages of an exchange.
const (
	// Unwritten: nothing is on the wire; outcomes are collected for one body.
	Unwritten Stage = iota
	// Opening: the records of the calls are being begun.
	Opening
	// Streaming: the calls have records, and the exchange follows their log.
	Streaming
	// Abandoned: the client left before anything was on the wire. The calls run on without a
	// reader.
	Abandoned
	// Finished: the exchange has ended. Calls that have a record run on.
	Finished

	stages
)

// ExchangeEventKind is the kind of an event of an exchange.
type ExchangeEventKind uint8

// The events of an exchange.
const (
	// Wanted: call Index has events or questions for the client.
	Wanted ExchangeEventKind = iota
	// HasOutcome: call Index has ended without a record.
	HasOutcome
	// OpenDue: TimerOpen has fired.
	OpenDue
	// HasBegun: the records exist.
	HasBegun
	// BeginFailed: the records were not begun, because of Fault. With Unavailable the outcome is
	// unknown.
	BeginFailed
	// ClientLeft: the client has left.
	ClientLeft
	// StreamEnded: the log has ended and was sent whole, or the reader was cut off.
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
	// decided marks the calls that have an outcome; left counts the others.
	decided []bool
	left    int
	// room backs decided in exchanges of at most four calls.
	room [4]bool
	// refused is whether a Begin failed; the timer starts the next one. unsure is whether a failed
	// Begin may have happened.
	refused, unsure bool
	// gone is whether the client left while the records were being begun.
	gone bool
}

// init sets stage Unwritten for an exchange of calls calls, at least one.
func (x *Exchange) init(calls int) {
	if x.left = calls; calls <= len(x.room) {
		x.decided = x.room[:calls]
		return
	}
	x.decided = make([]bool, calls)
}

// Stage returns the state of the machine.
func (x *Exchange) Stage() Stage { return x.stage }

// Step takes an event and appends its effects to buf, in order.
func (x *Exchange) Step(e ExchangeEvent, buf []Effect) []Effect {
	return exchangeTransitions[x.stage][e.Kind](x, e, buf)
}

type exchangeTransition func(x *Exchange, e ExchangeEvent, buf []Effect) []Effect

func pass(_ *Exchange, _ ExchangeEvent, buf []Effect) []Effect { return buf }

// exchangeTransitions is the transition table: a row for each stage, a column for each event.
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

// note records that a call has an outcome.
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

// respond ends the exchange. It keeps the outcomes of its calls and sends them if the client is
// still there.
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

// notBegun continues without a stream for now. Calls drop events that need one.
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

// keepUnheard keeps an outcome that has no reader.
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

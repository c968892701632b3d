package call

import "slices"

// Stage is the state of an exchange: one POST with its calls.
//
//	                 the last HasDecided: one body, or none if the client has disconnected
//	    ┌──────────────────────────────────────┬─────────────────────────┐
//	    │                                      │                         ▼
//	Unwritten ─ Wanted, OpenDue ─► Opening ─── │ ─ HasBegun: a stream ─► Finished
//	    │                           │   ▲      │                         ▲
//	    │               BeginFailed ▼   │ OpenDue                        │
//	    │                        Postponed ────┘                         │
//	    └─ ClientLeft ──────────────┴── unless records may have begun ───┘
//
// If the client disconnects while records may have begun, the exchange continues without it until their
// existence is known: another replica may run the calls.
type Stage uint8

// The stages of an exchange.
const (
	// Unwritten: nothing was sent; replies are collected for one body.
	Unwritten Stage = iota
	// Postponed: as Unwritten, after a Begin that failed. TimerOpen starts the next one.
	Postponed
	// Opening: the records of the calls are being begun.
	Opening
	// Finished: the exchange was answered or abandoned. Calls that have not ended continue.
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
	// abandoned is true if the client disconnected before the exchange was answered.
	abandoned bool
	// decided marks the calls that have decided.
	decided []bool
	// room is the storage of decided in exchanges of at most four calls.
	room [4]bool
	// mayHaveBegun is true if a failed Begin may have succeeded.
	mayHaveBegun bool
}

// init sets stage Unwritten for an exchange of calls calls, at least one.
func (x *Exchange) init(calls int) { x.decided = append(x.room[:0], make([]bool, calls)...) }

// Step takes an event and appends its effects to buf, in order. An event without a transition has no
// effect in the exchange's stage.
func (x *Exchange) Step(e ExchangeEvent, buf []Effect) []Effect {
	t := exchangeTransitions[x.stage][e.Kind]
	if t == nil {
		return buf
	}
	return t(x, e, buf)
}

type exchangeTransition func(x *Exchange, e ExchangeEvent, buf []Effect) []Effect

// exchangeTransitions is the transition table: a row for each stage.
var exchangeTransitions = [stages][exchangeEventKinds]exchangeTransition{
	Unwritten: {Wanted: open, HasDecided: gatherReply, OpenDue: open, ClientLeft: abandon},
	Postponed: {Wanted: refuseForNow, HasDecided: gatherReply, OpenDue: open, ClientLeft: abandon},
	Opening:   {HasDecided: recordDecided, HasBegun: stream, BeginFailed: postpone, ClientLeft: abandon},
	Finished:  {Wanted: refuse, HasDecided: keepUnread},
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
	x.decided[e.Index] = true
	return buf
}

func gatherReply(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	x.decided[e.Index] = true
	if x.running() {
		return buf
	}
	return x.respond(buf)
}

// running reports whether a call has not decided.
func (x *Exchange) running() bool { return slices.Contains(x.decided, false) }

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
	if !x.abandoned {
		buf = append(buf, Effect{Kind: Respond})
	}
	return buf
}

// stream lets the calls continue with their records. They and the reader of their log need the exchange no
// more.
func stream(x *Exchange, _ ExchangeEvent, buf []Effect) []Effect {
	x.stage = Finished
	for i := range x.decided {
		buf = append(buf, forward(i, Begun, NoFault, nil))
	}
	if !x.abandoned {
		buf = append(buf, Effect{Kind: Open})
	}
	return buf
}

// postpone continues without a stream until TimerOpen fires. Records may exist after Unavailable, and do
// after IDTaken: another replica has taken one of them over. After Gone, they may have existed.
func postpone(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	x.stage = Postponed
	x.mayHaveBegun = x.mayHaveBegun || e.Fault == Unavailable || e.Fault == IDTaken || e.Fault == Gone
	return x.notBegun(e, buf)
}

// abandon ends the exchange for its client, which has disconnected.
func abandon(x *Exchange, _ ExchangeEvent, buf []Effect) []Effect {
	x.abandoned = true
	buf = append(buf, Effect{Kind: Accept})
	if x.stage == Opening || x.mayHaveBegun { // A Begin is in progress or is repeated.
		return buf
	}
	return x.notBegun(ExchangeEvent{Kind: BeginFailed, Fault: Fenced}, buf)
}

// notBegun refuses a stream to the calls, which drop events that need one. If there is no client and no
// record, the calls continue without a reader.
func (x *Exchange) notBegun(e ExchangeEvent, buf []Effect) []Effect {
	unread := x.abandoned && !x.mayHaveBegun
	for i, decided := range x.decided {
		if unread && decided && x.running() {
			buf = append(buf, forward(i, Kept, NoFault, nil))
		}
		if !decided || e.Fault == Gone {
			buf = append(buf, forward(i, Refused, e.Fault, e.Err))
		}
	}
	switch {
	case !x.running():
		return x.respond(buf)
	case unread:
		x.stage = Finished
		return buf
	}
	return append(buf, Effect{Kind: SetTimer, Timer: TimerOpen})
}

func refuse(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	return append(buf, forward(e.Index, Refused, Fenced, nil))
}

// keepUnread keeps a reply that has no reader.
func keepUnread(x *Exchange, e ExchangeEvent, buf []Effect) []Effect {
	if x.decided[e.Index] {
		return buf
	}
	x.decided[e.Index] = true
	return append(buf, forward(e.Index, Kept, NoFault, nil))
}

package call

import (
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Unit is what one inbox is for: an exchange with the calls that came in it, or one call that was claimed. What its
// machines tell each other (Want, Outcome, Tell) it hands on itself, in order, so that a call which is answered in place is
// two steps for the driver. It is not safe for concurrent use, and not to be copied.
type Unit struct {
	exchange Exchange
	calls    []*Call
	// records are what the calls begin with.
	records []*medium.Record
	// ready are entries that the log begins with, should there be one.
	ready []state.Entry
	first Call
	room  [1]*Call
}

// InitExchange makes it a unit of an exchange, whose calls are added before it takes an event.
func (u *Unit) InitExchange(calls int) {
	u.exchange.init(calls)
	if u.calls = u.room[:0]; calls > 1 {
		u.calls = make([]*Call, 0, calls)
	}
}

// InitClaimed makes it a unit of a call that was claimed.
func (u *Unit) InitClaimed() {
	u.exchange.stage = Finished
	u.calls = u.room[:0]
}

// Add adds a call as the next, in state New. c is the call as its request has it, not changed any more; a claimed one comes
// with Claimed.
func (u *Unit) Add(o *Config, c *medium.Record) *Call {
	m := &u.first
	if len(u.calls) > 0 {
		m = new(Call)
	}
	m.o, m.id, m.round = o, c, c
	u.calls = append(u.calls, m)
	return m
}

// Ready sets entries that were known before any call ran: should the exchange become a stream, its log begins with them.
func (u *Unit) Ready(entries []state.Entry) { u.ready = entries }

// Call is the call with a number, from 0.
func (u *Unit) Call(i int) *Call { return u.calls[i] }

// Step gives a call an event.
func (u *Unit) Step(call int, e Event, buf []Effect) []Effect {
	from := len(buf)
	buf = u.calls[call].Step(e, buf)
	return u.handOn(from, mark(buf, from, call))
}

// Records are what the calls begin with in the store, as they were when the first Begin was given out: a Begin that is
// sent again is the same. Before it is sent, the driver puts records in their place that have all members besides,
// once.
func (u *Unit) Records() []*medium.Record { return u.records }

// StepExchange gives the exchange an event.
func (u *Unit) StepExchange(e ExchangeEvent, buf []Effect) []Effect {
	from := len(buf)
	return u.handOn(from, u.exchange.Step(e, buf))
}

// Conclusion is the step that ends the only call, which has decided, if its record begins as r: both are then one write. Nil:
// the call goes on, or asks, or is not alone. It changes nothing: the call takes the step when it has begun.
func (u *Unit) Conclusion(r *medium.Record) *medium.Write {
	c := u.calls[0]
	if len(u.calls) > 1 || len(u.ready) > 0 || c.state != Decided || c.reply.Kind != Final {
		return nil
	}
	tried := *c
	for _, f := range attachFinishing(&tried, Event{Record: r}, nil) {
		if f.Kind == Commit {
			return f.Write
		}
	}
	return nil
}

func mark(buf []Effect, from, call int) []Effect {
	for i := from; i < len(buf); i++ {
		buf[i].Call = int32(call) // #nosec G115 -- of a batch, which is bounded
	}
	return buf
}

// handOn gives each machine what the other has for it. What comes of that goes behind what came before. Outcome stays
// among the effects: the driver has its Reply; Want and Tell do too, and say nothing to it. Respond and Open come last: what
// a call frees is free when its client has the response, which is in a stream at once if the record began with it.
func (u *Unit) handOn(from int, buf []Effect) []Effect {
	for i := from; i < len(buf); i++ {
		before, to := len(buf), int(buf[i].Call)
		switch buf[i].Kind {
		case Begin:
			u.noteRecords()
		case Want:
			buf = u.exchange.Step(ExchangeEvent{Kind: Wanted, Index: to}, buf)
		case Outcome:
			buf = u.exchange.Step(ExchangeEvent{Kind: HasOutcome, Index: to}, buf)
		case Tell:
			e := Event{Kind: buf[i].Event, Fault: buf[i].Fault, Err: buf[i].Err}
			if e.Kind == Begun {
				e.Record = u.records[to]
				if to == 0 {
					u.calls[to].j.precede(u.ready)
				}
			}
			buf = mark(u.calls[to].Step(e, buf), before, to)
		case Respond, Open: // The exchange gives out one of them, once.
			if last := len(buf) - 1; i < last {
				answer := buf[i]
				copy(buf[i:], buf[i+1:])
				buf[last] = answer
				i--
			}
		}
	}
	return buf
}

func (u *Unit) noteRecords() {
	if u.records != nil {
		return
	}
	u.records = make([]*medium.Record, len(u.calls))
	for i, c := range u.calls {
		u.records[i] = c.round
	}
}

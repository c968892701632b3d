package call

import (
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Unit groups the machines of one inbox: an exchange with its calls, or one claimed call. It passes
// effects that one machine has for another (Want, Outcome, Tell) on itself, in order; so a call
// that is answered in place takes the driver two steps. It is not safe for concurrent use and must
// not be copied.
type Unit struct {
	exchange Exchange
	calls    []*Call
	// records are the records that the calls begin with.
	records []*medium.Record
	// ready are the entries that the log begins with if the exchange becomes a stream.
	ready []state.Entry
	first Call
	room  [1]*Call
}

// InitExchange initializes the unit for an exchange. Add adds its calls before the first event.
func (u *Unit) InitExchange(calls int) {
	u.exchange.init(calls)
	if u.calls = u.room[:0]; calls > 1 {
		u.calls = make([]*Call, 0, calls)
	}
}

// InitClaimed initializes the unit for a claimed call.
func (u *Unit) InitClaimed() {
	u.exchange.stage = Finished
	u.calls = u.room[:0]
}

// Add adds the next call, in state New. c is the call as requested and must not change any more;
// the record of a claimed call comes with Claimed.
func (u *Unit) Add(o *Config, c *medium.Record) *Call {
	m := &u.first
	if len(u.calls) > 0 {
		m = new(Call)
	}
	m.o, m.id, m.round = o, c, c
	u.calls = append(u.calls, m)
	return m
}

// Ready sets entries that were known before any call ran. If the exchange becomes a stream, its log
// begins with them.
func (u *Unit) Ready(entries []state.Entry) { u.ready = entries }

// Call returns the call with number i, from 0.
func (u *Unit) Call(i int) *Call { return u.calls[i] }

// Step passes an event to a call.
func (u *Unit) Step(call int, e Event, buf []Effect) []Effect {
	from := len(buf)
	buf = u.calls[call].Step(e, buf)
	return u.handOn(from, mark(buf, from, call))
}

// Records returns the records that the calls begin with, as of the first Begin; a Begin that is
// sent again is the same. Before it sends the first Begin, the driver replaces them, once, by
// complete records.
func (u *Unit) Records() []*medium.Record { return u.records }

// StepExchange passes an event to the exchange.
func (u *Unit) StepExchange(e ExchangeEvent, buf []Effect) []Effect {
	from := len(buf)
	return u.handOn(from, u.exchange.Step(e, buf))
}

// Conclusion returns the step that ends the only call if its record begins as r, so that one write
// does both. It returns nil if the exchange has several calls or ready entries, or if the call
// still runs or asks. It changes nothing: the call takes the step once it has begun.
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

// handOn passes effects that one machine has for the other on to it and appends the results.
// Outcome, Want and Tell stay among the effects: the driver uses the Reply of Outcome and ignores
// the others. Respond and Open move to the end: what a call frees is free before its client has the
// response, which a stream sends at once if the record began with it.
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
		case Respond, Open: // The exchange emits one of them, once.
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

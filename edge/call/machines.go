package call

import (
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Machines are the machines of one inbox: an exchange with its calls, or one claimed call. They
// pass each other the effects of one for another (Want, Decide, Forward), in order. So a call with
// a direct response takes the driver two steps. Machines are not safe for concurrent use and must
// not be copied.
type Machines struct {
	exchange Exchange
	calls    []*Call
	// records are the initial records of the calls.
	records []*medium.Record
	// ready are the first entries of the log if the exchange becomes a stream.
	ready []state.Entry
	room  [1]*Call
}

// InitExchange initializes s for an exchange. Add adds its calls before the first event.
func (s *Machines) InitExchange(calls int) {
	s.exchange.init(calls)
	s.calls = s.room[:0]
}

// InitClaimed initializes s for a claimed call, after InitExchange.
func (s *Machines) InitClaimed() { s.exchange.stage = Finished }

// Add adds the next call, in state New. m is its machine, which Add initializes. r is the call as requested
// and must not change any more. The record of a claimed call arrives with Claimed.
func (s *Machines) Add(m *Call, o *Config, r *medium.Record) {
	m.o, m.round = o, r
	s.calls = append(s.calls, m)
}

// Ready sets the entries that exist before any call runs. If the exchange becomes a stream, its log
// begins with them.
func (s *Machines) Ready(entries []state.Entry) { s.ready = entries }

// Step passes an event to a call.
func (s *Machines) Step(call int, e Event, buf []Effect) []Effect {
	from := len(buf)
	buf = s.calls[call].Step(e, buf)
	return s.relay(from, mark(buf, from, call))
}

// Records returns the initial records of the calls, as of the first Begin. A repeated Begin has the
// same, except that a record that was refused no longer permits another run of a round that is over.
// Before it sends the first Begin, the driver replaces them, once, by complete records.
func (s *Machines) Records() []*medium.Record { return s.records }

// StepExchange passes an event to the exchange.
func (s *Machines) StepExchange(e ExchangeEvent, buf []Effect) []Effect {
	from := len(buf)
	return s.relay(from, s.exchange.Step(e, buf))
}

// Conclusion returns the step that ends the only call if its record begins as r, so that one write
// does both. It returns nil if the exchange has several calls or ready entries, or if the call
// still runs or asks. It changes nothing: the call takes the step once its record has begun.
func (s *Machines) Conclusion(r *medium.Record) *medium.Write {
	c := s.calls[0]
	if len(s.calls) > 1 || len(s.ready) > 0 || c.state != Decided || c.reply.Kind != Final {
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

// relay passes the effects of one machine to the other and appends the results. Decide, Want
// and Forward stay among the effects: the driver uses the Reply of Decide and ignores the others.
// Respond and Open move to the end: a call frees its request id before the client has the response,
// which a stream sends at once if the record began with it.
func (s *Machines) relay(from int, buf []Effect) []Effect {
	for i := from; i < len(buf); i++ {
		before, to := len(buf), int(buf[i].Call)
		switch buf[i].Kind {
		case Begin:
			s.keepRecords()
		case Want:
			buf = s.exchange.Step(ExchangeEvent{Kind: Wanted, Index: to}, buf)
		case Decide:
			buf = s.exchange.Step(ExchangeEvent{Kind: HasDecided, Index: to}, buf)
		case Forward:
			e := Event{Kind: buf[i].Event, Fault: buf[i].Fault, Err: buf[i].Err}
			if e.Kind == Begun {
				e.Record = s.records[to]
				if to == 0 {
					s.calls[to].j.prepend(s.ready)
				}
			}
			buf = mark(s.calls[to].Step(e, buf), before, to)
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

func (s *Machines) keepRecords() {
	before := s.records // The write before has these.
	if before == nil {
		before = make([]*medium.Record, len(s.calls))
	}
	s.records = make([]*medium.Record, len(s.calls))
	for i, c := range s.calls {
		s.records[i] = c.initialRecord(before[i])
	}
}

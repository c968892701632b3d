package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// round is what the backend does in one round of a call.
type round struct {
	pauses []time.Duration // before each progress
	last   time.Duration   // before its end
	end    call.ReplyKind
	asks   int
	// checkpoint is the progress after which the round may be run again from there; 0: after none.
	checkpoint int
}

// request is one call as its client sees it.
type request struct {
	w    *world
	id   string
	safe bool
	plan []round
	conn *conn
	// after is the last event id; hasID: there is one.
	after medium.Position
	hasID bool
	// what it was sent.
	got       []medium.Entry
	response  string
	responses int
	begun     bool
	cancelled bool
	unknown   bool
	done      bool
	// returned is when the backend last ended a round.
	returned time.Duration
	// given are its answers, by their texts.
	given map[string]*given
}

// given is an answer: when it was sent first, and when the edge first said that it is safe; 0: it has not.
type given struct {
	ask         string
	sent, taken time.Duration
}

// conn is one connection of a client.
type conn struct {
	c        *request
	r        *replica
	exchange *exchange
	reading  *reading
	primed   bool
	// ids that were sent on it.
	ids []medium.Position
}

func (w *world) requestOf(id string) *request {
	for _, c := range w.requests {
		if c.id == id {
			return c
		}
	}
	return nil
}

// alive picks a replica that lives, maybe paused.
func (w *world) anyReplica() *replica {
	n := len(w.replicas)
	for i, from := 0, w.pick(n); i < n; i++ {
		if r := w.replicas[(from+i)%n]; r.alive && !r.closed {
			return r
		}
	}
	return nil
}

// send posts the request.
func (c *request) send() {
	r := c.w.anyReplica()
	if r == nil {
		c.done = true
		return
	}
	k := &conn{c: c, r: r}
	c.conn, c.begun = k, true
	c.w.logf("%s (safe %v) is sent to r%d: %+v", c.id, c.safe, r.id, c.plan)
	r.soon(30, func() { r.post(c, k) })
}

// respond ends an exchange with a body.
func (k *conn) respond(body []byte) {
	if k.c.conn != k {
		return
	}
	k.c.w.logf("%s is answered with %q", k.c.id, body)
	k.c.conn = nil
	if k.c.hasID {
		k.c.w.judge.fail("%s has a body though it had event ids", k.c.id)
	}
	k.c.take(string(body))
	k.c.done = true
}

func (c *request) take(response string) {
	c.responses++
	c.response = response
}

// event sends the client an entry of the log.
func (k *conn) event(e *medium.Entry, numbered bool) {
	c, w := k.c, k.c.w
	if c.conn != k {
		return
	}
	w.logf("%s is sent %d/%x.%d %q", c.id, e.Epoch.Counter(), uint32(e.Epoch), e.Seq, e.Data)
	w.mix(uint64(e.Epoch) ^ e.Seq)
	w.judge.sent(c, e)
	if numbered {
		if slices.Contains(k.ids, e.Position()) {
			w.judge.fail("%s is sent the id %d/%x.%d twice on one connection", c.id, e.Epoch.Counter(), uint32(e.Epoch), e.Seq)
		}
		k.ids = append(k.ids, e.Position())
		c.after, c.hasID = e.Position(), true
	}
	c.got = append(c.got, *e)
	switch e.Kind {
	case state.EntryResponse:
		c.take(string(e.Data))
	case state.EntryRequest:
		c.answer(string(e.Data))
	}
}

// answer answers a question, as often as it is asked. A few clients cancel the call instead, some of them at once.
func (c *request) answer(ask string) {
	w := c.w
	if w.maybe(5) {
		w.at(w.delay(), 31, c.cancel)
	}
	w.at(w.delay()*8, 31, func() { c.give(ask, "yes to "+ask, 0) })
	if w.maybe(3) {
		w.at(w.delay()*8, 31, func() { c.give(ask, "no to "+ask, 0) })
	}
	if w.maybe(3) {
		w.at(w.delay()*16, 31, func() { c.give(ask, "late to "+ask, 0) })
	}
}

func (c *request) give(ask, text string, tries int) {
	w := c.w
	if c.cancelled || c.done {
		return
	}
	again := func() {
		if tries < 12 {
			w.at(time.Second, 32, func() { c.give(ask, text, tries+1) })
		}
	}
	r := w.anyReplica()
	if r == nil {
		again()
		return
	}
	g := c.given[text]
	if g == nil {
		g = &given{ask: ask, sent: w.now}
		c.given[text] = g
	}
	told := false
	a := state.Answer{Result: []byte(text), Token: fmt.Sprint(w.draw32())}
	r.soon(33, func() {
		r.answer(c, ask, a, w.draw32(), func(ok bool) {
			told = true
			switch {
			case !ok:
				again()
			case g.taken == 0:
				g.taken = w.now
			}
		}, 0)
	})
	// A replica that dies does not answer.
	w.at(opTimeout+time.Second, 34, func() {
		if !told {
			again()
		}
	})
}

// broken is for a connection that ends before its stream.
func (k *conn) broken() {
	c := k.c
	if c.conn != k {
		return
	}
	c.conn = nil
	c.w.logf("%s loses its connection to r%d", c.id, k.r.id)
	if x := k.exchange; x != nil {
		x.step(call.ExchangeEvent{Kind: call.ClientLeft})
	}
	if k.reading != nil {
		k.reading.step(call.ReaderEvent{Kind: call.ReaderLeft})
	}
	c.comeBack()
	if k.primed {
		c.hasID = true
	}
	if !c.hasID {
		c.done = true // The loss is the client's to retry, as a new request.
	}
}

// ended is for a stream that the edge ended.
func (k *conn) ended(unknown bool) {
	c := k.c
	if c.conn != k {
		return
	}
	c.conn = nil
	switch {
	case c.responses > 0, c.cancelled:
		c.done = true
	case unknown:
		c.unknown, c.done = true, true
	default:
		c.w.judge.fail("the stream of %s ended without a response", c.id)
	}
}

func (c *request) comeBack() {
	c.w.at(c.w.delay()+100*time.Millisecond, 35, c.resume)
}

// resume goes on with the stream on any replica.
func (c *request) resume() {
	if c.done || c.conn != nil {
		return
	}
	if c.responses > 0 {
		c.done = true
		return
	}
	r := c.w.anyReplica()
	if r == nil {
		c.comeBack()
		return
	}
	c.w.logf("%s resumes at r%d after %d/%x.%d", c.id, r.id, c.after.Epoch.Counter(), uint32(c.after.Epoch), c.after.Seq)
	k := &conn{c: c, r: r, primed: true}
	c.conn = k
	r.soon(36, func() { r.read(c, k, c.after) })
}

// cancel sends a cancellation to any replica.
func (c *request) cancel() {
	w := c.w
	r := w.anyReplica()
	if r == nil || c.done || !c.begun {
		return
	}
	c.cancelled = true
	w.logf("%s is cancelled at r%d", c.id, r.id)
	r.soon(37, func() {
		if x := r.calls[c.id]; x != nil {
			x.cancel()
			return
		}
		r.cancel(c.id)
	})
	// A stream that does not end is given up.
	w.at(20*time.Second, 38, func() {
		if c.conn != nil && c.conn.exchange != nil && !c.hasID && !c.conn.primed {
			c.done = true
		}
	})
}

// backendRun is one run of a round.
type backendRun struct {
	x       *running
	stopped bool
}

// backend runs a round of a call.
func (w *world) backend(x *running, rec *medium.Record) *backendRun {
	b := &backendRun{x: x}
	c := x.c
	from := w.judge.ran(c, rec)
	r := c.plan[min(rec.Round, len(c.plan))-1]
	run := w.draw32()
	w.logf("r%d runs %s, round %d attempt %d", x.r.id, c.id, rec.Round, rec.Attempt)
	at := time.Duration(0)
	for i, pause := range r.pauses {
		if i < from {
			continue
		}
		at += pause
		v := float64(100*rec.Round + i)
		b.after(at, func() {
			x.step(call.Event{Kind: call.Emitted, Entry: &state.Entry{
				Kind: state.EntryProgress, Progress: v, Data: fmt.Appendf(nil, "progress %v of %d", v, run),
			}})
			if i+1 == r.checkpoint {
				text := fmt.Sprintf("checkpoint %d of round %d with %s", r.checkpoint, rec.Round, answersIn(rec))
				w.judge.checkpoint(c, text)
				x.step(call.Event{Kind: call.Checkpointed, State: []byte(text)})
			}
		})
	}
	reply := &call.Reply{Kind: r.end, State: fmt.Appendf(nil, "after round %d", rec.Round)}
	switch r.end {
	case call.Final:
		reply.Response = fmt.Appendf(nil, "result %d %s", run, answersIn(rec))
	case call.Asks:
		for i := range r.asks {
			id := fmt.Sprintf("%s-%d-%d-%d", c.id, rec.Round, i, run)
			reply.Asks = append(reply.Asks, state.Ask{ID: id, Message: []byte(id)})
		}
	case call.Busy:
		reply.Pause = 100 * time.Millisecond
	}
	b.after(at+r.last, func() { c.returned = w.now; x.step(call.Event{Kind: call.Returned, Reply: reply}) })
	return b
}

func (b *backendRun) after(d time.Duration, do func()) {
	b.x.r.after(d, 40, func() {
		if !b.stopped {
			do()
		}
	})
}

// answersIn are the answers that a round has, those that a checkpoint has kept included.
func answersIn(r *medium.Record) string {
	if _, kept, ok := strings.Cut(string(r.State), " with "); ok && r.Resumable {
		return kept
	}
	return answersOf(r)
}

// answersOf are the answers that a round is run with.
func answersOf(r *medium.Record) string {
	var out []string
	for _, q := range r.Asked {
		if q.Answer != nil {
			out = append(out, string(q.Answer.Result))
		}
	}
	return strings.Join(out, ", ")
}

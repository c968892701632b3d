package simulation

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// exchange is one POST as its client sees it: a call, or a batch of several.
type exchange struct {
	w       *world
	id      string
	session string
	calls   []*request
	// primes: its revision primes streams with an event id.
	primes bool
	conn   *conn
	// after is the last event id, of a stream; hasID: there is one.
	stream string
	after  medium.Position
	hasID  bool
	// got is what it was sent on streams.
	got   []event
	begun bool
	// unknown: its stream did not exist; heardOf: though its replica had heard that the store was away since it lost writes.
	unknown, heardOf bool
	done             bool
}

// request is one call as its client sees it.
type request struct {
	w    *world
	id   string
	safe bool
	plan []round
	// x is its exchange; nil for the call of a task.
	x *exchange
	// what it was sent.
	response  string
	responses int
	cancelled bool
	// canceller is the last replica that claimed the call to cancel it, at the time claimed; nil: none has.
	canceller *replica
	claimed   time.Duration
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

func (w *world) requestOf(id string) *request {
	for _, c := range w.requests {
		if c.id == id {
			return c
		}
	}
	return nil
}

// subject is the call that a message of the edge is about, by its text.
func (w *world) subject(text string) *request {
	if _, rest, ok := strings.Cut(text, " of "); ok {
		text = rest
	}
	return w.requestOf(text[:max(strings.IndexAny(text+" ", "-/ "), 0)])
}

// answered says whether all calls have responses, or need none.
func (x *exchange) answered() bool {
	return !slices.ContainsFunc(x.calls, func(c *request) bool { return c.responses == 0 && !c.cancelled })
}

// anyReplica picks a replica that lives, maybe paused.
func (w *world) anyReplica() *replica {
	n := len(w.replicas)
	for i, from := 0, w.pick(n); i < n; i++ {
		if r := w.replicas[(from+i)%n]; r.alive && !r.closed {
			return r
		}
	}
	return nil
}

// requestID is the id of its request, as JSON text.
func (c *request) requestID() string { return strconv.Quote(c.id) }

// connect makes a connection to a replica.
func (x *exchange) connect(r *replica) *conn {
	x.w.seq++
	x.conn = &conn{x: x, r: r, number: uint64(x.w.seq)} // #nosec G115 -- not negative
	return x.conn
}

// send posts the exchange.
func (x *exchange) send() {
	r := x.w.anyReplica()
	if r == nil || x.deleted() {
		x.done = true
		return
	}
	k := x.connect(r)
	x.begun = true
	for _, c := range x.calls {
		x.w.logf("%s (safe %v) is sent to r%d: %+v", c.id, c.safe, r.id, c.plan)
	}
	r.soon(30, func() { r.post(x, k) })
}

// take takes a response. A batch may be sent one again after the store has lost writes: its log cannot say which of its entries a client
// has that the store has not.
func (c *request) take(response string) {
	if c.responses > 0 && c.response == response && len(c.x.calls) > 1 && !c.w.judge.calm() {
		return
	}
	c.responses++
	c.response = response
}

// over says whether the client does nothing more about the call.
func (c *request) over() bool { return c.cancelled || c.x.done }

// answer answers a question, as often as it is asked. A few clients cancel the call instead, some of them at once.
func (c *request) answer(ask string) {
	w := c.w
	if w.maybe(5) {
		w.at(w.delay(), 31, c.cancel)
	}
	w.at(w.delay()*8, 31, func() { c.give(ask, "yes to "+ask) })
	if w.maybe(3) {
		w.at(w.delay()*8, 31, func() { c.give(ask, "no to "+ask) })
	}
	if w.maybe(3) {
		w.at(w.delay()*16, 31, func() { c.give(ask, "late to "+ask) })
	}
}

// give sends an answer, again while it is not acknowledged.
func (c *request) give(ask, text string) {
	w := c.w
	if c.over() {
		return
	}
	over := false
	again := func() {
		if !over {
			over = true
			w.at(time.Second, 32, func() { c.give(ask, text) })
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
	a := state.Answer{Result: []byte(text), Token: fmt.Sprint(w.draw32())}
	r.soon(33, func() {
		r.answer(c.x.session, ask, a, func(ok bool) {
			if !ok {
				again()
				return
			}
			if over = true; g.taken == 0 {
				g.taken = w.now
			}
		})
	})
	w.at(opTimeout+time.Second, 34, again) // A replica that dies does not answer.
}

func (x *exchange) comeBack() {
	x.w.at(x.w.delay()+100*time.Millisecond, 35, x.resume)
}

// resume goes on with the stream on any replica.
func (x *exchange) resume() {
	if x.done || x.conn != nil {
		return
	}
	if x.answered() && x.calls[0].responses > 0 {
		x.done = true
		return
	}
	r := x.w.anyReplica()
	if r == nil {
		x.comeBack()
		return
	}
	x.w.logf("%s resumes at r%d after %d/%x.%d", x.id, r.id, x.after.Epoch.Counter(), uint32(x.after.Epoch), x.after.Seq)
	k := x.connect(r)
	k.reads = true
	l := runtime.Log{Stream: x.stream, After: x.after}
	r.soon(36, func() { r.serve(k, func(ctx context.Context) { k.follow(ctx, l) }) })
}

// cancel sends a cancellation to any replica.
func (c *request) cancel() {
	w, x := c.w, c.x
	r := w.anyReplica()
	if r == nil || x.done || !x.begun {
		return
	}
	c.cancelled = true
	w.logf("%s is cancelled at r%d", c.id, r.id)
	r.soon(37, func() { r.cancel(c) })
	// A stream that does not end is given up.
	w.at(20*time.Second, 38, func() {
		if x.conn != nil && !x.hasID && x.answered() {
			x.done = true
		}
	})
}

package simulation

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// request is one call as its client sees it.
type request struct {
	w       *world
	id      string
	safe    bool
	plan    []round
	session string
	// primes: its revision primes streams with an event id.
	primes bool
	conn   *conn
	// after is the last event id, of a stream; hasID: there is one.
	stream string
	after  medium.Position
	hasID  bool
	// what it was sent.
	got       []event
	response  string
	responses int
	begun     bool
	cancelled bool
	// unknown: its stream did not exist, at unknownAt.
	unknown   bool
	unknownAt time.Duration
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

// requestID is the id of its request, as JSON text.
func (c *request) requestID() string { return strconv.Quote(c.id) }

// connect makes a connection to a replica.
func (c *request) connect(r *replica) *conn {
	c.w.seq++
	c.conn = &conn{c: c, r: r, number: uint64(c.w.seq)} // #nosec G115 -- not negative
	return c.conn
}

// send posts the request.
func (c *request) send() {
	r := c.w.anyReplica()
	if r == nil || c.deleted() {
		c.done = true
		return
	}
	k := c.connect(r)
	c.begun = true
	c.w.logf("%s (safe %v) is sent to r%d: %+v", c.id, c.safe, r.id, c.plan)
	r.soon(30, func() { r.post(c, k) })
}

func (c *request) take(response string) {
	c.responses++
	c.response = response
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
		r.answer(c, ask, a, func(ok bool) {
			told = true
			switch {
			case !ok:
				again()
			case g.taken == 0:
				g.taken = w.now
			}
		})
	})
	// A replica that dies does not answer.
	w.at(opTimeout+time.Second, 34, func() {
		if !told {
			again()
		}
	})
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
	k := c.connect(r)
	k.reads = true
	l := runtime.Log{Stream: c.stream, After: c.after}
	r.soon(36, func() { r.serve(k, func(ctx context.Context) { k.follow(ctx, l) }) })
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
	r.soon(37, func() { r.cancel(c) })
	// A stream that does not end is given up.
	w.at(20*time.Second, 38, func() {
		if c.conn != nil && !c.hasID {
			c.done = true
		}
	})
}

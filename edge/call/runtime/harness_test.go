package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest/model"
)

const session = "s"

// plan is the behaviour of a backend in a round: it sends progress and then ends the round. ctx is
// done when the call is to stop.
type plan func(ctx context.Context, round *medium.Record, send func(progress float64)) *call.Reply

// house is a set of replicas on one store, with a backend and clients.
type house struct {
	t      *testing.T
	m      *model.Medium
	config *call.Config
	// wrap wraps the store for replicas. It may be nil.
	wrap func(medium.Store) medium.Store
	// log receives the log of replicas. nil discards it.
	log io.Writer
	// idle means that replicas have Options.IdleBetweenRounds.
	idle bool

	mu       sync.Mutex
	plans    map[string]plan
	replicas []*Replica
	runs     map[string]int
	overs    map[string][]call.How
	asked    int
	local    map[string]*Driver
	ids      map[string]string
	// resumed maps calls to the principals whose answers continued them.
	resumed map[string][]string
}

// in runs a test with a house in virtual time. All replicas are closed at its end.
func in(t *testing.T, fn func(t *testing.T, h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, m: &model.Medium{}, plans: map[string]plan{}, runs: map[string]int{}, overs: map[string][]call.How{}, ids: map[string]string{}, resumed: map[string][]string{}}
		h.config = &call.Config{MaxAttempts: 2, Render: func(r *medium.Record, f call.Failure, _ error) []byte {
			return fmt.Appendf(nil, "failure %d of %s", f, r.ID)
		}}
		if err := h.m.Replica(medium.Hooks{}).Create(t.Context(), &state.Session{ID: session}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			h.m.Away(false)
			for _, r := range h.replicas {
				r.Close()
			}
		}()
		fn(t, h)
	})
}

// replica starts a replica. started means that it takes over lost calls.
func (h *house) replica(started bool) *Replica {
	open := func(hooks medium.Hooks) medium.Store {
		s := h.m.Replica(hooks)
		if h.wrap == nil {
			return s
		}
		return h.wrap(s)
	}
	r := New(open, Options{
		Call: h.config, Log: h.logger(), IdleBetweenRounds: h.idle,
		Resume: func(o *medium.Owned, why Reason) (*Claimed, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			by := "none"
			if why.By != nil {
				by = why.By.Subject
			}
			h.resumed[o.Record.ID] = append(h.resumed[o.Record.ID], by)
			return &Claimed{Runner: &testRunner{h: h, id: o.Record.ID}, Context: context.Background()}, nil
		},
		Number: h.number, Event: func(e state.SessionEvent) { h.cancelLocal(e.RequestID) },
	})
	if started {
		r.Start()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replicas = append(h.replicas, r)
	return r
}

func (h *house) logger() *slog.Logger {
	if h.log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(h.log, nil))
}

// cancelLocal handles the session event of a cancellation: every replica cancels the call if it
// runs it without a record.
func (h *house) cancelLocal(id string) {
	h.mu.Lock()
	c := h.local[id]
	h.mu.Unlock()
	if c != nil {
		c.Cancel()
	}
}

// testRunner is the Runner of a call in the backend.
type testRunner struct {
	h  *house
	id string
	// sent means that it is that of the replica to which the request was sent, and not of one that took the call over.
	sent bool
}

func (x *testRunner) Run(ctx context.Context, round *medium.Record, events *Driver) *call.Reply {
	h := x.h
	h.mu.Lock()
	if h.idle && strings.HasPrefix(x.id, "safe") {
		events.g.r.work.Idle()
		defer events.g.r.work.Active()
	}
	p := h.plans[x.id]
	h.runs[fmt.Sprint(x.id, "/", round.Round)]++
	run := h.runs[fmt.Sprint(x.id, "/", round.Round)]
	h.mu.Unlock()
	return p(ctx, round, func(v float64) {
		events.Emit(&state.Entry{Kind: state.EntryProgress, Progress: v, Data: fmt.Appendf(nil, "progress %v of run %d", v, run)})
	})
}

func (h *house) number(asks *call.Reply) *call.Reply {
	next := *asks
	next.Asks = nil
	for range asks.Asks {
		next.Asks = append(next.Asks, h.ask())
	}
	return &next
}

func (h *house) ask() state.Ask {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	id := fmt.Sprint("ask", h.asked)
	return state.Ask{ID: id, Message: []byte(id)}
}

func (x *testRunner) Deliver(e Event) {
	if r := e.Begins; r != nil {
		r.Repeatable = strings.HasPrefix(r.ID, "safe")
	}
}

func (x *testRunner) Done(how call.How, _ *call.Reply) {
	x.h.mu.Lock()
	defer x.h.mu.Unlock()
	x.h.overs[x.id] = append(x.h.overs[x.id], how)
	if x.sent { // Another replica that took the call over ends its own run alone.
		delete(x.h.local, x.id)
	}
}

// client is a client that has sent a request, or reads its stream.
type client struct {
	h    *house
	id   string
	r    *Replica
	call *Driver
	stop context.CancelFunc

	mu       sync.Mutex
	body     string
	hasBody  bool
	accepted bool
	streams  bool
	got      []mcp.StreamEvent
	over     bool
}

// send posts a request whose backend behaves as planned.
func (h *house) send(r *Replica, id string, p plan) *client {
	h.mu.Lock()
	h.plans[id] = p
	h.mu.Unlock()
	rec := &medium.Record{Session: session}
	rec.ID, rec.RequestID, rec.Round, rec.Attempt, rec.Deadline = id, id, 1, 1, time.Now().Add(time.Minute)
	ctx, stop := context.WithCancel(h.t.Context())
	k := &client{h: h, id: id, stop: stop}
	k.r = r
	g := new(Group)
	r.Init(g, 1)
	k.call = g.Add(ctx, rec, &testRunner{h: h, id: id, sent: true})
	h.mu.Lock()
	if h.local == nil {
		h.local = map[string]*Driver{}
	}
	h.local[id] = k.call
	h.mu.Unlock()
	r.work.Spawn(func() {
		defer stop()
		g.Serve(ctx, k)
		k.ended()
	})
	return k
}

// resume reads the stream of another client, after the events that were sent to it.
func (k *client) resume(r *Replica) *client {
	k.mu.Lock()
	last := ""
	for _, e := range k.got {
		if e.ID != "" {
			last = e.ID
		}
	}
	k.mu.Unlock()
	return k.resumeAt(r, last)
}

func (k *client) resumeAt(r *Replica, last string) *client {
	stream, at, err := medium.ParseEventID(last)
	if err != nil {
		k.h.t.Error(err)
	}
	ctx, stop := context.WithCancel(k.h.t.Context())
	n := &client{h: k.h, id: k.id, stop: stop, streams: true}
	r.work.Spawn(func() {
		defer stop()
		r.Follow(ctx, n, Log{Session: session, Stream: stream, After: at, Resumable: true})
		n.ended()
	})
	return n
}

func (k *client) ended() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
}

func (k *client) Respond(replies []*call.Reply) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.body, k.hasBody = string(replies[0].Response), true
}

func (k *client) Accept() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.accepted = true
}

func (k *client) Open(ctx context.Context, stream string) {
	k.mu.Lock()
	k.streams = true
	k.mu.Unlock()
	k.r.Follow(ctx, k, Log{Session: session, Stream: stream, Prime: true, Resumable: true, Opens: true})
}

func (k *client) KeepAlive() error { return nil }

var errLeft = errors.New("the client has left")

func (k *client) Send(e mcp.StreamEvent) error {
	k.h.mu.Lock()
	if was, ok := k.h.ids[e.ID]; e.ID != "" && len(e.Data) > 0 {
		if ok && was != string(e.Data) {
			k.h.t.Errorf("the event id %s stood for %q and stands for %q", e.ID, was, e.Data)
		}
		k.h.ids[e.ID] = string(e.Data)
	}
	k.h.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return errLeft
	}
	k.got = append(k.got, e)
	return nil
}

// received returns the data sent to a client as text: its body, or the events of its stream without
// priming events.
func (k *client) received() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []string
	switch {
	case k.hasBody:
		out = append(out, "body "+k.body)
	case k.accepted:
		out = append(out, "accepted")
	}
	for _, e := range k.got {
		if len(e.Data) > 0 {
			out = append(out, string(e.Data))
		}
	}
	if !k.over {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// want waits until all goroutines are blocked, and compares the data sent to the client.
func (k *client) want(data string) {
	k.h.t.Helper()
	synctest.Wait()
	if got := k.received(); got != data {
		k.h.t.Errorf("%s received %q, want %q", k.id, got, data)
	}
}

// wantOver checks how the runs of a call ended, on any replica.
func (h *house) wantOver(id string, hows ...call.How) {
	h.t.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if fmt.Sprint(h.overs[id]) != fmt.Sprint(hows) {
		h.t.Errorf("the runs of %s ended with %v, want %v", id, h.overs[id], hows)
	}
}

// wantResumed compares the principals whose answers continued a call.
func (h *house) wantResumed(id string, by ...string) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.resumed[id], by) {
		h.t.Errorf("%s was continued by %q, want %q", id, h.resumed[id], by)
	}
}

func (h *house) ran(id string, round int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[fmt.Sprint(id, "/", round)]
}

// pause waits, at most until the run ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func says(text string) *call.Reply { return &call.Reply{Kind: call.Final, Response: []byte(text)} }

// after returns a plan that responds after a delay.
func after(d time.Duration, text string) plan {
	return func(ctx context.Context, _ *medium.Record, _ func(float64)) *call.Reply {
		pause(ctx, d)
		return says(text)
	}
}

// counts returns a plan that sends progress from 1 to n, with a delay between two, and responds.
func counts(n int, d time.Duration) plan {
	return func(ctx context.Context, _ *medium.Record, send func(float64)) *call.Reply {
		for i := 1; i <= n && ctx.Err() == nil; i++ {
			send(float64(i))
			pause(ctx, d)
		}
		return says("done")
	}
}

// asksFirst returns a plan that asks n questions in its first round, and returns the answers in its
// second.
func (h *house) asksFirst(n int) plan {
	return func(_ context.Context, round *medium.Record, _ func(float64)) *call.Reply {
		if round.Round > 1 {
			var given []string
			for _, q := range round.Asked {
				given = append(given, string(q.Answer.Result))
			}
			return says("heard " + strings.Join(given, " and "))
		}
		r := &call.Reply{Kind: call.Asks}
		for range n {
			r.Asks = append(r.Asks, h.ask())
		}
		return r
	}
}

// answer answers a question at a replica. The principal's name is the answer.
func (h *house) answer(r *Replica, ask, text string) state.AnswerStatus {
	h.t.Helper()
	out, release, err := r.Answer(h.t.Context(), session, ask, state.Answer{Result: []byte(text), Token: text}, mcp.Principal{Subject: text})
	if err != nil {
		h.t.Fatalf("the answer to %s: %v", ask, err)
	}
	if release != nil {
		release()
	}
	return out
}

func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

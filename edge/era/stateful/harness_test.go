package stateful

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	v2024, v0326, v0618, v1125 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"
)

// flushed is the delay after which waiting events are written.
const flushed = time.Millisecond

// client is a transport that records everything it is sent.
type client struct {
	cancel context.CancelFunc // disconnects the client
	done   chan struct{}

	mu         sync.Mutex
	session    string
	response   *mcp.Response
	accepted   bool
	opened     bool
	events     []mcp.StreamEvent
	keepalives int
	broken     bool // writes fail
	// onResponse is called when a response is sent to the transport, and onAccept when the message
	// is accepted.
	onResponse, onAccept func()
}

func (x *client) Session(id string) { x.set(func() { x.session = id }) }
func (x *client) Respond(r mcp.Response) {
	if x.onResponse != nil {
		x.onResponse()
	}
	x.set(func() { x.once(); x.response = &r })
}
func (x *client) Accept() {
	if x.onAccept != nil {
		x.onAccept()
	}
	x.set(func() { x.once(); x.accepted = true })
}
func (x *client) Open() (mcp.Stream, error) {
	x.set(func() { x.once(); x.opened = true })
	return x, nil
}
func (x *client) once() {
	if x.response != nil || x.accepted || x.opened {
		panic("an exchange was ended twice")
	}
}
func (x *client) set(fn func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	fn()
}
func (x *client) Send(ev mcp.StreamEvent) error {
	if x.onResponse != nil && strings.Contains(string(ev.Data), `"result"`) {
		x.onResponse()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.broken {
		return io.ErrClosedPipe
	}
	x.events = append(x.events, ev)
	return nil
}
func (x *client) KeepAlive() error { x.set(func() { x.keepalives++ }); return nil }

// ended reports whether the era has ended the exchange.
func (x *client) ended() bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// messages returns the data of the events that have data.
func (x *client) messages() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []string
	for _, ev := range x.events {
		if len(ev.Data) > 0 {
			out = append(out, string(ev.Data))
		}
	}
	return out
}

// all returns every event.
func (x *client) all() []mcp.StreamEvent {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.events)
}

func (x *client) streaming() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.opened
}

func (x *client) alive() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.keepalives
}

func (x *client) lastID() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, ev := range slices.Backward(x.events) {
		if ev.ID != "" {
			return ev.ID
		}
	}
	return ""
}

func (x *client) body() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.response == nil {
		return ""
	}
	return string(x.response.Body)
}

func (x *client) kind() mcp.Kind {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.response == nil {
		return mcp.KindNone
	}
	return x.response.Kind
}

// world is a medium with replicas.
type world struct {
	t       *testing.T
	backend *backend
	medium  *memory.Medium
	a, b    *Era
	faults  *faults // of replica a's store
	who     mcp.Principal
	header  header
	memory  *budget.Budget
	// set, from and perRequest are those of incoming messages.
	set        string
	from       netip.Addr
	perRequest bool
}

type header map[string]string

func (h header) Get(name string) string      { return h[name] }
func (h header) Values(name string) []string { return []string{h[name]} }

// inWorld runs a test in a bubble of virtual time with two replicas, a and b.
func inWorld(t *testing.T, o Options, test func(t *testing.T, w *world)) {
	inLimits(t, o, state.Limits{}, test)
}

func inLimits(t *testing.T, o Options, l state.Limits, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(1 << 40)
		w := &world{t: t, backend: newBackend(), medium: memory.New(l, memory.WithBudget(b)), header: header{}, memory: b}
		o.Memory = b
		o.Logger, o.SessionTTL = cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), l.SessionTTL
		w.faults = &faults{}
		w.a = w.era("a", o, w.faults)
		w.b = w.era("b", o, nil)
		w.a.Start(t.Context())
		w.b.Start(t.Context())
		defer w.medium.Close()
		defer w.wantReleased()
		defer w.b.Close()
		defer w.a.Close()
		test(t, w)
	})
}

// era makes a replica. f injects faults into its store; nil injects none.
func (w *world) era(id string, o Options, f *faults) *Era {
	return New(w.backend, w.backend, func(h medium.Hooks) medium.Store {
		s := w.medium.Store(id, h)
		if f == nil {
			return s
		}
		f.Store, f.hooks = s, h
		return f
	}, o)
}

// store returns a store of a further replica on the medium.
func (w *world) store(id string) medium.Store { return w.medium.Store(id, medium.Hooks{}) }

func (w *world) incoming(session string) *mcp.Incoming {
	return &mcp.Incoming{Session: session, Principal: w.who, Header: w.header, Set: w.set, Address: w.from, PerRequest: w.perRequest}
}

// received returns a message whose memory is charged as by a transport, and released as by a
// transport.
func (w *world) received(session, body string) *mcp.Incoming {
	in := w.incoming(session)
	in.Body = []byte(body)
	held := mcp.HolderOf(w.memory, w.who, in.Address).Begin()
	held.Offer(budget.Requests, 32<<10+int64(len(body)))
	in.Memory = &held
	return in
}

// wantReleased checks that all memory is released once both replicas are closed and all sessions
// are deleted.
func (w *world) wantReleased() {
	w.t.Helper()
	synctest.Wait()
	for _, what := range budget.All() {
		if n := w.memory.UsedFor(what); n != 0 && what != budget.Sessions && what != budget.Logs {
			w.t.Errorf("%d bytes are held for %s after the end", n, what)
		}
	}
	store := w.store("last")
	left, _, err := store.List(context.Background(), "", 1<<20)
	if err != nil {
		return // The test has closed the medium.
	}
	for _, s := range left {
		if err := store.Delete(context.Background(), s.Session.ID); err != nil {
			w.t.Errorf("session %s: %v", s.Session.ID, err)
		}
	}
	if n, holders := w.memory.Used(); n != 0 || holders != 0 {
		w.t.Errorf("%d bytes of %d holders are left, %d of sessions and %d of logs", n, holders,
			w.memory.UsedFor(budget.Sessions), w.memory.UsedFor(budget.Logs))
	}
}

// begin starts an exchange; it runs until the era or the client ends it.
func (w *world) begin(fn func(ctx context.Context, x *client)) *client {
	ctx, cancel := context.WithCancel(context.Background())
	x := &client{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(x.done)
		defer cancel()
		fn(ctx, x)
	}()
	return x
}

// post sends a message. It returns when all goroutines are blocked and no event waits to be
// written.
func (w *world) post(e *Era, session, body string) *client {
	w.t.Helper()
	in := w.received(session, body)
	x := w.begin(func(ctx context.Context, x *client) {
		defer in.Memory.Release()
		if jsonrpc.IsBatch(in.Body) {
			batch, err := jsonrpc.ParseBatch(in.Body, 64)
			if err != nil {
				panic(err)
			}
			e.Batch(ctx, in, batch, x)
			return
		}
		msg, err := jsonrpc.Parse(in.Body)
		if err != nil {
			panic(err)
		}
		e.Message(ctx, in, msg, x)
		// A transport reuses its buffers.
		clear(in.Body)
	})
	synctest.Wait()
	after(flushed)
	return x
}

func (w *world) listen(e *Era, session, lastEventID string) *client {
	in := w.received(session, "")
	in.LastEventID = lastEventID
	x := w.begin(func(ctx context.Context, x *client) {
		defer in.Memory.Release()
		e.Listen(ctx, in, x)
	})
	synctest.Wait()
	return x
}

func (w *world) end(e *Era, session string) *client {
	x := w.begin(func(ctx context.Context, x *client) { e.End(ctx, w.incoming(session), x) })
	synctest.Wait()
	return x
}

// initialize creates a session of a version.
func (w *world) initialize(version string) string {
	w.t.Helper()
	x := w.post(w.a, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,`+
		`"capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`, version))
	if x.session == "" {
		w.t.Fatalf("initialize gave no session: %s", x.body())
	}
	return x.session
}

// drain drains replica a with a grace period.
func (w *world) drain(grace time.Duration) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), grace)
	defer cancel()
	return w.a.Drain(ctx)
}

func callTool(id int, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"n":%d}}}`, id, name, id)
}

func (w *world) wantBody(x *client, want string) {
	w.t.Helper()
	if got := x.body(); got != want {
		w.t.Errorf("body is %s, want %s", got, want)
	}
	if !x.ended() {
		w.t.Error("the exchange continues")
	}
}

func (w *world) wantKind(x *client, want mcp.Kind) {
	w.t.Helper()
	if got := x.kind(); got != want || x.body() == "" {
		w.t.Errorf("kind is %d (%s), want %d", got, x.body(), want)
	}
}

func (w *world) wantAccepted(x *client) {
	w.t.Helper()
	if !x.ended() || !x.accepted {
		w.t.Errorf("not accepted: %s", x.body())
	}
}

func (w *world) wantMessages(x *client, want ...string) {
	w.t.Helper()
	if got := x.messages(); !slices.Equal(got, want) {
		w.t.Errorf("messages are\n %s\nwant\n %s", strings.Join(got, "\n "), strings.Join(want, "\n "))
	}
}

func progress(v float64) mcp.Event {
	return mcp.Event{Method: mcp.NotifyProgress, Params: json.RawMessage(fmt.Sprintf(`{"progress":%v}`, v)), Progress: v}
}

func progressMessage(v float64) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%v}}`, v)
}

// after advances virtual time.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

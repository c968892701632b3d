package stateful

import (
	"context"
	"encoding/json"
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

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	v2024, v0326, v0618, v1125 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"
)

// backend is a fake dispatcher: each tool is a function.
type backend struct {
	mu         sync.Mutex
	tools      map[string]tool
	digest     mcp.Digest
	refusedURI string
	noWatch    bool
	feeds      map[*feed]struct{}
	calls      []mcp.Call
}

type tool func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error)

var _ era.Dispatcher = (*backend)(nil)

func newBackend() *backend {
	b := &backend{feeds: map[*feed]struct{}{}, tools: map[string]tool{}}
	b.tools["echo"] = func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
		return text(string(c.Params.Arguments)), nil
	}
	return b
}

func text(s string) mcp.Reply {
	return mcp.Reply{Result: []byte(fmt.Sprintf(`{"text":%q}`, s))}
}

func (b *backend) Describe(context.Context, *revision.Rules, mcp.Principal) mcp.Description {
	b.mu.Lock()
	defer b.mu.Unlock()
	return mcp.Description{
		ServerInfo: []byte(`{"name":"edge"}`), Instructions: "be nice", Digest: b.digest,
		Capabilities: []byte(fmt.Sprintf(`{"resources":{"subscribe":%t}}`, !b.noWatch)),
	}
}

func (b *backend) Call(ctx context.Context, _ *revision.Rules, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
	b.mu.Lock()
	b.calls = append(b.calls, *c)
	fn := b.tools[c.Params.Target]
	b.mu.Unlock()
	if fn == nil {
		return mcp.Reply{}, mcp.Errorf(mcp.KindMethodNotFound, "no method %q, target %q", c.Method, c.Params.Target)
	}
	return fn(ctx, c, sink)
}

func (b *backend) seen() []mcp.Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

func (b *backend) Repeatable(c *mcp.Call) bool {
	return c.Method.Repeatable() || strings.HasPrefix(c.Params.Target, "safe")
}

func (b *backend) Changes(_ context.Context, _ mcp.Principal, f mcp.Filter) (mcp.Feed, error) {
	fd := &feed{b: b, token: make(chan struct{}, 1), ended: make(chan struct{})}
	_, _ = fd.Update(context.Background(), f)
	b.mu.Lock()
	b.feeds[fd] = struct{}{}
	b.mu.Unlock()
	return fd, nil
}

// change tells every feed that wants to hear of it.
func (b *backend) change(c mcp.Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch c.Kind {
	case mcp.ToolsChanged:
		b.digest.Tools++
	case mcp.PromptsChanged:
		b.digest.Prompts++
	}
	for f := range b.feeds {
		f.offer(c)
	}
}

func (b *backend) openFeeds() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.feeds)
}

type feed struct {
	b       *backend
	mu      sync.Mutex
	filter  mcp.Filter
	pending []mcp.Change
	token   chan struct{}
	ended   chan struct{}
}

func (f *feed) offer(c mcp.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wanted := c.Kind == mcp.ToolsChanged && f.filter.Tools || c.Kind == mcp.PromptsChanged && f.filter.Prompts ||
		c.Kind == mcp.ResourceUpdated && slices.Contains(f.filter.URIs, c.URI)
	if !wanted || slices.Contains(f.pending, c) {
		return
	}
	f.pending = append(f.pending, c)
	select {
	case f.token <- struct{}{}:
	default:
	}
}

func (f *feed) Honoured() mcp.Filter {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.filter
}

func (f *feed) Next(ctx context.Context) ([]mcp.Change, error) {
	for {
		f.mu.Lock()
		out := f.pending
		f.pending = nil
		f.mu.Unlock()
		if len(out) > 0 {
			return out, nil
		}
		select {
		case <-f.token:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-f.ended:
			return nil, errors.New("feed closed")
		}
	}
}

func (f *feed) Update(_ context.Context, to mcp.Filter) (mcp.Filter, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	to.URIs = slices.DeleteFunc(slices.Clone(to.URIs), func(u string) bool { return u == f.b.refusedURI })
	f.filter = to
	return to, nil
}

func (f *feed) Close() {
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	if _, open := f.b.feeds[f]; open {
		delete(f.b.feeds, f)
		close(f.ended)
	}
}

// exchange records what a transport was told.
type exchange struct {
	cancel context.CancelFunc // the client leaves
	done   chan struct{}

	mu         sync.Mutex
	session    string
	response   *mcp.Response
	accepted   bool
	opened     bool
	events     []mcp.StreamEvent
	keepalives int
	broken     bool // writes fail
}

func (x *exchange) Session(id string) { x.set(func() { x.session = id }) }
func (x *exchange) Respond(r mcp.Response) {
	x.set(func() { x.once(); x.response = &r })
}
func (x *exchange) Accept() { x.set(func() { x.once(); x.accepted = true }) }
func (x *exchange) Open() (mcp.Stream, error) {
	x.set(func() { x.once(); x.opened = true })
	return x, nil
}
func (x *exchange) once() {
	if x.response != nil || x.accepted || x.opened {
		panic("an exchange was ended twice")
	}
}
func (x *exchange) set(fn func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	fn()
}
func (x *exchange) Send(ev mcp.StreamEvent) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.broken {
		return io.ErrClosedPipe
	}
	x.events = append(x.events, ev)
	return nil
}
func (x *exchange) KeepAlive() error { x.set(func() { x.keepalives++ }); return nil }

// ended reports whether the era has let go of the exchange.
func (x *exchange) ended() bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// messages are the events that have data; ids those of all events.
func (x *exchange) messages() []string {
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

// all returns every event; streaming whether the exchange is a stream; alive how often it was kept so.
func (x *exchange) all() []mcp.StreamEvent {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.events)
}

func (x *exchange) streaming() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.opened
}

func (x *exchange) alive() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.keepalives
}

func (x *exchange) lastID() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, ev := range slices.Backward(x.events) {
		if ev.ID != "" {
			return ev.ID
		}
	}
	return ""
}

func (x *exchange) body() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.response == nil {
		return ""
	}
	return string(x.response.Body)
}

func (x *exchange) kind() mcp.Kind {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.response == nil {
		return mcp.KindNone
	}
	return x.response.Kind
}

// world is a medium with replicas on it.
type world struct {
	t       *testing.T
	backend *backend
	medium  *memory.Medium
	a, b    *Era
	faults  *faults // of a's store
	who     mcp.Principal
	header  header
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
		w := &world{t: t, backend: newBackend(), medium: memory.New(l), header: header{}}
		o.Logger = slog.New(slog.DiscardHandler)
		w.faults = &faults{Store: w.medium.Replica("a")}
		w.a = New(w.backend, w.faults, o)
		w.b = New(w.backend, w.medium.Replica("b"), o)
		w.a.Start(t.Context())
		w.b.Start(t.Context())
		defer w.medium.Close()
		defer w.b.Close()
		defer w.a.Close()
		test(t, w)
	})
}

// faults is a store that can be unreachable or silent.
type faults struct {
	state.Store
	mu   sync.Mutex
	down bool
	mute bool // no sign of life
	// Before an operation is passed on; nil: nothing. lose: the medium forgets an Append that it has
	// acknowledged.
	onPark func()
	lose   bool
	deaf   bool // what is done is reported as failed
	slow   time.Duration
}

func (f *faults) set(down, mute bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down, f.mute = down, mute
}

func (f *faults) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return state.ErrUnavailable
	}
	return nil
}

func (f *faults) Beat(ctx context.Context) error {
	f.mu.Lock()
	mute := f.mute
	f.mu.Unlock()
	if mute {
		return state.ErrUnavailable
	}
	return f.Store.Beat(ctx)
}

func (f *faults) Load(ctx context.Context, id string) (*state.Session, error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	return f.Store.Load(ctx, id)
}

func (f *faults) Touch(ctx context.Context, ids []string) (map[string]uint64, error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	return f.Store.Touch(ctx, ids)
}

func (f *faults) Begin(ctx context.Context, s, stream string, calls []state.Call) ([]state.Lease, error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	leases, err := f.Store.Begin(ctx, s, stream, calls)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deaf {
		return nil, state.ErrUnavailable
	}
	return leases, err
}

func (f *faults) Finish(ctx context.Context, w state.Write, response []byte) error {
	if err := f.err(); err != nil {
		return err
	}
	return f.Store.Finish(ctx, w, response)
}

func (f *faults) Append(ctx context.Context, w state.Write, entries ...state.Entry) error {
	if err := f.err(); err != nil {
		return err
	}
	f.mu.Lock()
	lose, slow := f.lose && len(entries) > 0, f.slow
	f.lose = f.lose && !lose
	f.mu.Unlock()
	time.Sleep(slow)
	if lose {
		return nil
	}
	return f.Store.Append(ctx, w, entries...)
}

func (f *faults) Park(ctx context.Context, w state.Write, asks []state.Ask, kept []byte) error {
	f.mu.Lock()
	hook := f.onPark
	f.onPark = nil
	f.mu.Unlock()
	if hook != nil {
		hook()
	}
	return f.Store.Park(ctx, w, asks, kept)
}

func (f *faults) Answer(ctx context.Context, s, ask string, a state.Answer) (state.AnswerOutcome, *state.Claim, error) {
	if err := f.err(); err != nil {
		return 0, nil, err
	}
	return f.Store.Answer(ctx, s, ask, a)
}

func (f *faults) Read(ctx context.Context, s string, after state.Position, max int) (state.Page, error) {
	if err := f.err(); err != nil {
		return state.Page{}, err
	}
	return f.Store.Read(ctx, s, after, max)
}

func (f *faults) Orphans(ctx context.Context, max int) ([]state.Which, error) {
	f.mu.Lock()
	mute := f.mute
	f.mu.Unlock()
	if mute {
		return nil, state.ErrUnavailable
	}
	return f.Store.Orphans(ctx, max)
}

func (w *world) incoming(session string) *mcp.Incoming {
	return &mcp.Incoming{Session: session, Principal: w.who, Header: w.header}
}

// begin starts an exchange; it goes on until the era or the client ends it.
func (w *world) begin(fn func(ctx context.Context, x *exchange)) *exchange {
	ctx, cancel := context.WithCancel(context.Background())
	x := &exchange{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(x.done)
		defer cancel()
		fn(ctx, x)
	}()
	return x
}

// post sends a message and returns when nothing moves any more.
func (w *world) post(e *Era, session, body string) *exchange {
	w.t.Helper()
	in := w.incoming(session)
	in.Body = []byte(body)
	x := w.begin(func(ctx context.Context, x *exchange) {
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
		// A transport uses its buffers again.
		clear(in.Body)
	})
	synctest.Wait()
	return x
}

func (w *world) listen(e *Era, session, lastEventID string) *exchange {
	in := w.incoming(session)
	in.LastEventID = lastEventID
	x := w.begin(func(ctx context.Context, x *exchange) { e.Listen(ctx, in, x) })
	synctest.Wait()
	return x
}

func (w *world) end(e *Era, session string) *exchange {
	x := w.begin(func(ctx context.Context, x *exchange) { e.End(ctx, w.incoming(session), x) })
	synctest.Wait()
	return x
}

// initialize makes a session of a version.
func (w *world) initialize(version string) string {
	w.t.Helper()
	x := w.post(w.a, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,`+
		`"capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`, version))
	if x.session == "" {
		w.t.Fatalf("initialize gave no session: %s", x.body())
	}
	return x.session
}

func callTool(id int, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"n":%d}}}`, id, name, id)
}

func (w *world) wantBody(x *exchange, want string) {
	w.t.Helper()
	if got := x.body(); got != want {
		w.t.Errorf("body is %s, want %s", got, want)
	}
	if !x.ended() {
		w.t.Error("the exchange goes on")
	}
}

func (w *world) wantKind(x *exchange, want mcp.Kind) {
	w.t.Helper()
	if got := x.kind(); got != want || x.body() == "" {
		w.t.Errorf("kind is %d (%s), want %d", got, x.body(), want)
	}
}

func (w *world) wantAccepted(x *exchange) {
	w.t.Helper()
	if !x.ended() || !x.accepted {
		w.t.Errorf("not accepted: %s", x.body())
	}
}

func (w *world) wantMessages(x *exchange, want ...string) {
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

// after lets virtual time pass.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

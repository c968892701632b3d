package stateless

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// fakeDispatch runs each call with the test's function.
type fakeDispatch struct {
	call func(ctx context.Context, call *mcp.Call, sink mcp.Sink) (mcp.Reply, error)
	feed *fakeFeed
}

var (
	_ era.Dispatcher = (*fakeDispatch)(nil)
	_ era.Describer  = (*fakeDispatch)(nil)
)

func (f *fakeDispatch) Describe(context.Context, *revision.Rules, string, mcp.Principal) mcp.Description {
	return mcp.Description{ServerInfo: json.RawMessage(`{"name":"t","version":"1"}`), Capabilities: json.RawMessage(`{"tools":{}}`), Instructions: "be kind"}
}

func (f *fakeDispatch) ServerInfo(*revision.Rules, string) json.RawMessage {
	return json.RawMessage(`{"name":"t","version":"1"}`)
}

func (f *fakeDispatch) Call(ctx context.Context, _ *revision.Rules, call *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
	if bound, ok := sink.(mcp.Binder); ok {
		bound.Bind("fake")
	}
	if call.Round > 1 && call.Backend != "fake" { // Every later round must use the backend of the first.
		return mcp.Reply{}, mcp.Errorf(mcp.KindInternal, "round %d is of the backend %q", call.Round, call.Backend)
	}
	if call.Method == mcp.MethodSubscribe { // The request is only decided.
		return mcp.Reply{}, nil
	}
	return f.call(ctx, call, sink)
}

func (*fakeDispatch) Resolve(context.Context, *revision.Rules, *mcp.Call) (*mcp.Target, error) {
	return &mcp.Target{Backend: "fake", Known: true}, nil
}

func (f *fakeDispatch) Changes(_ context.Context, _ string, _ mcp.Principal, filter mcp.Filter) (mcp.Feed, error) {
	f.feed.honoured = filter
	return f.feed, nil
}

type fakeFeed struct {
	honoured mcp.Filter
	changes  chan []mcp.Change
	closed   sync.Once
	done     chan struct{}
}

func newFeed() *fakeFeed {
	return &fakeFeed{changes: make(chan []mcp.Change), done: make(chan struct{})}
}

func (f *fakeFeed) Honoured() mcp.Filter { return f.honoured }
func (f *fakeFeed) Next(ctx context.Context, idle time.Duration) ([]mcp.Change, error) {
	select {
	case <-time.After(idle):
		return nil, nil
	case c := <-f.changes:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *fakeFeed) Update(context.Context, mcp.Filter, bool) (mcp.Filter, error) {
	return mcp.Filter{}, errors.New("not used in this era")
}
func (f *fakeFeed) SetPrincipal(context.Context, mcp.Principal) error { return nil }
func (f *fakeFeed) Close()                                            { f.closed.Do(func() { close(f.done) }) }

// recorder is an Outgoing that records everything written.
type recorder struct {
	mu       sync.Mutex
	response *mcp.Response
	accepted bool
	opened   bool
	events   []string
	comments int
	wrote    chan struct{}
}

func newRecorder() *recorder { return &recorder{wrote: make(chan struct{}, 100)} }

func (r *recorder) Session(string)            {}
func (r *recorder) Respond(resp mcp.Response) { r.response = &resp }
func (r *recorder) Accept()                   { r.accepted = true }
func (r *recorder) Open() (mcp.Stream, error) { r.opened = true; return r, nil }
func (r *recorder) Send(ev mcp.StreamEvent) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ev.ID != "" {
		return errors.New("this era has no event ids")
	}
	r.events = append(r.events, string(ev.Data))
	r.wrote <- struct{}{}
	return nil
}

func (r *recorder) KeepAlive() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.comments++
	return nil
}

func (r *recorder) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.events...)
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// request returns a well-formed request, which tests modify.
func request(method, params string) (body string, header http.Header) {
	if params != "" {
		params += ","
	}
	h := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}}
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + meta + `}}`, h
}

func newEra(t *testing.T, d *fakeDispatch, o Options) *Era {
	t.Helper()
	e, err := New(d, d, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// post sends one message through the router, as a transport does.
func post(t *testing.T, e *Era, body string, header http.Header, p mcp.Principal) *recorder {
	t.Helper()
	r := newRecorder()
	in := &mcp.Incoming{Body: []byte(body), Principal: p}
	if header != nil {
		in.Header = header
	}
	router := &era.Router{Stateless: e}
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	router.Post(ctx, in, r)
	if r.response != nil && !json.Valid(r.response.Body) {
		t.Fatalf("body %s is not JSON", r.response.Body)
	}
	return r
}

func body(t *testing.T, r *recorder) string {
	t.Helper()
	if r.response == nil && len(r.seen()) == 1 { // The call took longer than a second.
		return r.seen()[0]
	}
	if r.response == nil {
		t.Fatalf("no response; events %v", r.events)
	}
	return string(r.response.Body)
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s\nlacks %s", text, p)
		}
	}
}

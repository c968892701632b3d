package stateful

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// backend is a fake Dispatcher: each tool is a function.
type backend struct {
	mu         sync.Mutex
	tools      map[string]tool
	digest     mcp.Digest
	refusedURI string
	noWatch    bool
	feeds      map[*feed]struct{}
	calls      []mcp.Call
	// onResolve gets each call that is resolved; nil disables it.
	onResolve func(*mcp.Call)
}

type tool func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error)

var (
	_ era.Dispatcher = (*backend)(nil)
	_ era.Describer  = (*backend)(nil)
)

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

func (b *backend) ServerInfo(*revision.Rules, string) json.RawMessage {
	return []byte(`{"name":"edge"}`)
}

func (b *backend) Describe(context.Context, *revision.Rules, string, mcp.Principal) mcp.Description {
	b.mu.Lock()
	defer b.mu.Unlock()
	digest := b.digest
	return mcp.Description{
		ServerInfo: []byte(`{"name":"edge"}`), Instructions: "be nice", Digest: func() mcp.Digest { return digest },
		Capabilities: []byte(fmt.Sprintf(`{"resources":{"subscribe":%t}}`, !b.noWatch)),
	}
}

func (b *backend) Call(ctx context.Context, _ *revision.Rules, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
	b.mu.Lock()
	b.calls = append(b.calls, *c)
	fn := b.tools[c.Params.Target]
	b.mu.Unlock()
	if c.Method == mcp.MethodSubscribe { // The request is only decided.
		return mcp.Reply{}, nil
	}
	if fn == nil {
		return mcp.Reply{}, mcp.Errorf(mcp.KindMethodNotFound, "no method %q, target %q", c.Method, c.Params.Target)
	}
	if bound, ok := sink.(mcp.Binder); ok {
		bound.Bind("fake")
	}
	if (c.Round > 1 || c.Attempt > 1) && c.Backend != "fake" { // Every later round and attempt must use the backend of the first.
		return mcp.Reply{}, mcp.Errorf(mcp.KindInternal, "round %d, attempt %d is of the backend %q", c.Round, c.Attempt, c.Backend)
	}
	reply, err := fn(ctx, c, sink)
	c.Memory.Settle(budget.Results, int64(len(reply.Result)))
	return reply, err
}

func (b *backend) seen() []mcp.Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

func (b *backend) Resolve(_ context.Context, _ *revision.Rules, c *mcp.Call) (*mcp.Target, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.onResolve != nil {
		b.onResolve(c)
	}
	return &mcp.Target{
		Backend: "fake", Known: b.tools[c.Params.Target] != nil, Repeatable: c.Method.Repeatable() || strings.HasPrefix(c.Params.Target, "safe"),
	}, nil
}

func (b *backend) Changes(_ context.Context, _ string, _ mcp.Principal, f mcp.Filter) (mcp.Feed, error) {
	fd := &feed{b: b, token: make(chan struct{}, 1), ended: make(chan struct{})}
	_, _ = fd.Update(context.Background(), f, false)
	b.mu.Lock()
	b.feeds[fd] = struct{}{}
	b.mu.Unlock()
	return fd, nil
}

// change sends a change to every feed that filters for it.
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
		c.Kind == mcp.ResourceUpdated && slices.Contains(f.filter.URIs, c.URI) ||
		f.filter.TasksPlain && slices.Contains(f.filter.Tasks, c.URI) // The tests name the task in URI.
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

func (f *feed) Next(ctx context.Context, idle time.Duration) ([]mcp.Change, error) {
	for over := time.After(idle); ; {
		f.mu.Lock()
		out := f.pending
		f.pending = nil
		f.mu.Unlock()
		if len(out) > 0 {
			return out, nil
		}
		select {
		case <-f.token:
		case <-over:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-f.ended:
			return nil, errors.New("feed closed")
		}
	}
}

// SetPrincipal reports changed tools, because the rights of the caller have changed.
func (f *feed) SetPrincipal(context.Context, mcp.Principal) error {
	f.offer(mcp.Change{Kind: mcp.ToolsChanged})
	return nil
}

func (f *feed) Update(_ context.Context, to mcp.Filter, _ bool) (mcp.Filter, error) {
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

// forget drops the recorded calls.
func (b *backend) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = nil
}

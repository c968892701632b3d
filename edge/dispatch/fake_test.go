package dispatch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// fake is a backend on a loopback socket. Hold mu to change its fields; change also notifies the
// feeds.
type fake struct {
	pb.UnimplementedBackendServiceServer
	pb.UnimplementedToolServiceServer
	pb.UnimplementedResourceServiceServer
	pb.UnimplementedPromptServiceServer

	name, prefix string
	services     string // which of "trp" are served; empty: all
	timeout      time.Duration
	full         bool // true: its schemas are shown unchanged
	concurrent   int
	children     []*pb.Resource // of each directory, beside its skill
	cancelled    chan string    // the tools of CancelCall

	mu        sync.Mutex
	describe  *pb.DescribeResponse
	carried   []string // extensions that the configuration forwards
	tools     []*pb.Tool
	resources []*pb.Resource
	templates []*pb.ResourceTemplate
	prompts   []*pb.Prompt
	skills    []*pb.Skill // nil: not served
	cache     *pb.CacheHint
	// own maps a subject to the tools that a private backend lists for it.
	own map[string][]*pb.Tool
	// refuseList maps a subject to the error of its lists.
	refuseList map[string]error
	// onList runs before tools are listed for a subject; nil disables it.
	onList func(subject string)
	signal chan struct{} // closed by change

	onCall     func(*pb.CallToolRequest, grpc.ServerStreamingServer[pb.CallToolResponse]) error
	onRead     func(*pb.ReadResourceRequest, grpc.ServerStreamingServer[pb.ReadResourceResponse]) error
	onPrompt   func(*pb.GetPromptRequest, grpc.ServerStreamingServer[pb.GetPromptResponse]) error
	onComplete func(name, argument, value string) ([]string, error)
	// onContext gets the other arguments of a completion of a prompt; nil disables it.
	onContext func(arguments map[string]string)

	watched map[string]int         // open watches by URI
	updates map[string]chan string // by watched URI: the URIs of the updates
	refuse  map[string]error       // errors of watches, by URI
	server  *grpc.Server
	calls   int         // CallTool, ReadResource and GetPrompt
	md      metadata.MD // of the last counted call
}

func (f *fake) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.describe, nil
}

func (f *fake) ListTools(_ context.Context, in *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	if f.onList != nil {
		f.onList(in.GetPrincipal().GetSubject())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refuseList[in.GetPrincipal().GetSubject()]; err != nil {
		return nil, err
	}
	if mine, ok := f.own[in.GetPrincipal().GetSubject()]; ok {
		return &pb.ListToolsResponse{Tools: mine, Cache: f.cache}, nil
	}
	return &pb.ListToolsResponse{Tools: f.tools, Cache: f.cache}, nil
}

func (f *fake) ListResources(context.Context, *pb.ListResourcesRequest) (*pb.ListResourcesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &pb.ListResourcesResponse{Resources: f.resources, Cache: f.cache}, nil
}

func (f *fake) ListResourceTemplates(context.Context, *pb.ListResourceTemplatesRequest) (*pb.ListResourceTemplatesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &pb.ListResourceTemplatesResponse{ResourceTemplates: f.templates, Cache: f.cache}, nil
}

func (f *fake) ListPrompts(context.Context, *pb.ListPromptsRequest) (*pb.ListPromptsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &pb.ListPromptsResponse{Prompts: f.prompts, Cache: f.cache}, nil
}

func (f *fake) note(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	f.md, _ = metadata.FromIncomingContext(ctx)
}

func (f *fake) seen() (int, metadata.MD) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls, f.md
}

func (f *fake) CallTool(in *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
	f.note(s.Context())
	if f.onCall == nil {
		return s.Send(toolText("called " + f.name + "/" + in.GetName() + " " + in.GetArgumentsJson()))
	}
	return f.onCall(in, s)
}

func (f *fake) CancelCall(_ context.Context, in *pb.CancelCallRequest) (*pb.CancelCallResponse, error) {
	if f.cancelled != nil {
		f.cancelled <- in.GetName()
	}
	return &pb.CancelCallResponse{}, nil
}

func (f *fake) ReadResource(in *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
	f.note(s.Context())
	if f.onRead == nil {
		return s.Send(&pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: &pb.ReadResourceResult{
			Contents: []*pb.ResourceContents{{Uri: in.GetUri(), Body: &pb.ResourceContents_Text{Text: "read from " + f.name}}},
			Cache:    f.cache,
		}}})
	}
	return f.onRead(in, s)
}

func (f *fake) GetPrompt(in *pb.GetPromptRequest, s grpc.ServerStreamingServer[pb.GetPromptResponse]) error {
	f.note(s.Context())
	if f.onPrompt == nil {
		return s.Send(&pb.GetPromptResponse{Message: &pb.GetPromptResponse_Result{Result: &pb.GetPromptResult{
			Description: "got from " + f.name + "/" + in.GetName(),
		}}})
	}
	return f.onPrompt(in, s)
}

func (f *fake) CompletePrompt(_ context.Context, in *pb.CompletePromptRequest) (*pb.CompletePromptResponse, error) {
	if f.onContext != nil {
		f.onContext(in.GetContextArguments())
	}
	values, err := f.suggest(in.GetName(), in.GetArgumentName(), in.GetArgumentValue())
	return &pb.CompletePromptResponse{Values: values}, err
}

func (f *fake) CompleteResourceTemplate(_ context.Context, in *pb.CompleteResourceTemplateRequest) (*pb.CompleteResourceTemplateResponse, error) {
	values, err := f.suggest(in.GetUriTemplate(), in.GetArgumentName(), in.GetArgumentValue())
	return &pb.CompleteResourceTemplateResponse{Values: values}, err
}

func (f *fake) suggest(name, argument, value string) ([]string, error) {
	if f.onComplete == nil {
		return nil, status.Error(codes.Unimplemented, "none")
	}
	return f.onComplete(name, argument, value)
}

// follow notifies a list feed of every change.
func (f *fake) follow(ctx context.Context, started, changed func() error) error {
	f.mu.Lock()
	signal := f.signal
	f.mu.Unlock()
	if err := started(); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-signal:
		}
		f.mu.Lock()
		signal = f.signal
		f.mu.Unlock()
		if err := changed(); err != nil {
			return err
		}
	}
}

func (f *fake) WatchTools(_ *pb.WatchToolsRequest, s grpc.ServerStreamingServer[pb.WatchToolsResponse]) error {
	return f.follow(s.Context(), func() error {
		return s.Send(&pb.WatchToolsResponse{Event: &pb.WatchToolsResponse_Started{Started: &pb.WatchStarted{}}})
	}, func() error {
		return s.Send(&pb.WatchToolsResponse{Event: &pb.WatchToolsResponse_Changed{Changed: &pb.ListChanged{}}})
	})
}

func (f *fake) WatchResources(_ *pb.WatchResourcesRequest, s grpc.ServerStreamingServer[pb.WatchResourcesResponse]) error {
	return f.follow(s.Context(), func() error {
		return s.Send(&pb.WatchResourcesResponse{Event: &pb.WatchResourcesResponse_Started{Started: &pb.WatchStarted{}}})
	}, func() error {
		return s.Send(&pb.WatchResourcesResponse{Event: &pb.WatchResourcesResponse_Changed{Changed: &pb.ListChanged{}}})
	})
}

func (f *fake) WatchPrompts(_ *pb.WatchPromptsRequest, s grpc.ServerStreamingServer[pb.WatchPromptsResponse]) error {
	return f.follow(s.Context(), func() error {
		return s.Send(&pb.WatchPromptsResponse{Event: &pb.WatchPromptsResponse_Started{Started: &pb.WatchStarted{}}})
	}, func() error {
		return s.Send(&pb.WatchPromptsResponse{Event: &pb.WatchPromptsResponse_Changed{Changed: &pb.ListChanged{}}})
	})
}

func (f *fake) WatchResource(in *pb.WatchResourceRequest, s grpc.ServerStreamingServer[pb.WatchResourceResponse]) error {
	uri := in.GetUri()
	f.mu.Lock()
	if err := f.refuse[uri]; err != nil {
		f.mu.Unlock()
		return err
	}
	f.watched[uri]++
	if f.updates[uri] == nil {
		f.updates[uri] = make(chan string)
	}
	updates := f.updates[uri]
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.watched[uri]--
	}()
	if err := s.Send(&pb.WatchResourceResponse{Event: &pb.WatchResourceResponse_Started{Started: &pb.WatchStarted{}}}); err != nil {
		return err
	}
	for {
		select {
		case <-s.Context().Done():
			return s.Context().Err()
		case changed := <-updates:
			if err := s.Send(&pb.WatchResourceResponse{Event: &pb.WatchResourceResponse_Updated{Updated: &pb.ResourceUpdated{Uri: changed}}}); err != nil {
				return err
			}
		}
	}
}

// update sends the watchers of a URI an update of another URI below it.
func (f *fake) update(t testing.TB, watched, changed string) {
	t.Helper()
	f.mu.Lock()
	ch := f.updates[watched]
	f.mu.Unlock()
	select {
	case ch <- changed:
	case <-time.After(await.Patience):
		t.Fatalf("no feed watches %s", watched)
	}
}

func (f *fake) watchers(uri string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watched[uri]
}

// change edits the lists and notifies the feeds.
func (f *fake) change(edit func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit()
	close(f.signal)
	f.signal = make(chan struct{})
}

// serve starts the backend; it ends with the test.
func (f *fake) serve(t testing.TB) string {
	t.Helper()
	f.signal = make(chan struct{})
	f.watched, f.updates = make(map[string]int), make(map[string]chan string)
	if f.services == "" {
		f.services = "trp"
	}
	if f.describe == nil {
		f.describe = &pb.DescribeResponse{}
	}
	f.describe.Implementation = &pb.Implementation{Name: f.name, Version: "1"}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	f.server = s
	pb.RegisterBackendServiceServer(s, f)
	if slices.Contains([]byte(f.services), 't') {
		pb.RegisterToolServiceServer(s, f)
		f.describe.Tools = &pb.ToolFeatures{ListChanged: true}
	}
	if slices.Contains([]byte(f.services), 'r') {
		pb.RegisterResourceServiceServer(s, f)
		if f.describe.Resources == nil {
			f.describe.Resources = &pb.ResourceFeatures{}
		}
		f.describe.Resources.ListChanged, f.describe.Resources.Subscribe = true, true
		f.describe.Resources.Completion = f.onComplete != nil
	}
	if slices.Contains([]byte(f.services), 'p') {
		pb.RegisterPromptServiceServer(s, f)
		f.describe.Prompts = &pb.PromptFeatures{ListChanged: true, Completion: f.onComplete != nil}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("fake backend: %v", err)
		}
	}()
	t.Cleanup(func() { s.Stop(); <-done })
	return l.Addr().String()
}

// start makes a Dispatch over the fakes, in their order, and waits until all are listed.
func start(t testing.TB, opts Options, fakes ...*fake) *Dispatch {
	t.Helper()
	d, _ := startPool(t, opts, fakes...)
	return d
}

func startPool(t testing.TB, opts Options, fakes ...*fake) (*Dispatch, *backend.Pool) {
	t.Helper()
	var cfgs []backend.Config
	for _, f := range fakes {
		cfgs = append(cfgs, backend.Config{Name: f.name, Prefix: f.prefix, Target: f.serve(t), Extensions: f.carried, Timeout: cmp.Or(f.timeout, 20*time.Second), MaxConcurrent: f.concurrent, FullSchemas: f.full})
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	pool, err := backend.NewPool(cfgs, backend.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d := New(pool, opts)
	pool.Start(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	if err := pool.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	// Ready refers to the pool; the view follows asynchronously.
	await.Until(t, "the view to hold every backend", func() bool { return !d.catalog.Shared().Incomplete() })
	if err := d.catalog.Settle(ctx); err != nil { // Feeds that are opened now are not notified of what came before.
		t.Fatal(err)
	}
	return d, pool
}

func toolText(text string) *pb.CallToolResponse {
	return &pb.CallToolResponse{Message: &pb.CallToolResponse_Result{Result: &pb.CallToolResult{
		Content: []*pb.ContentBlock{{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: text}}}},
	}}}
}

// rules returns the rules of a revision.
func rules(t testing.TB, version string) *revision.Rules {
	t.Helper()
	r, ok := revision.ByVersion(version)
	if !ok {
		t.Fatalf("no revision %s", version)
	}
	return r
}

const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

// request makes a call with params.
func request(t testing.TB, method mcp.Method, params string) *mcp.Call {
	t.Helper()
	p, err := mcp.ParamsOf(jsonrpc.Message{Method: string(method), Params: []byte(params)})
	if err != nil {
		t.Fatal(err)
	}
	return &mcp.Call{ID: "call-1", Attempt: 1, Round: 1, Method: method, Params: *p}
}

// events is a sink that stores the events.
type events struct {
	got  []mcp.Event
	fail error
}

func (e *events) Emit(_ context.Context, ev mcp.Event) error {
	e.got = append(e.got, ev)
	return e.fail
}

// kindOf is the kind of an error; every error of dispatch has one.
func kindOf(t testing.TB, err error) mcp.Kind {
	t.Helper()
	if err == nil {
		return mcp.KindNone
	}
	var e *mcp.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) is no *mcp.Error", err, err)
	}
	return e.Kind
}

package reflect_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/grpclog"

	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestMain(m *testing.M) {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	goleak.VerifyTestMain(m)
}

var kinds = reflecttest.Kinds()

// edge is the contract's side of an adapter.
type edge struct {
	t       *testing.T
	adapter *reflect.Adapter
	tools   pb.ToolServiceClient
	about   pb.BackendServiceClient
}

// newEdge puts an adapter before a target.
func newEdge(t *testing.T, addr string, opts reflect.Options) *edge {
	t.Helper()
	target, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	a := reflect.New(target, target, opts)
	t.Cleanup(func() {
		_ = target.Close()
		a.Close()
	})
	return &edge{t: t, adapter: a, tools: a, about: a}
}

// serveKinds serves the bundled services behind an adapter.
func serveKinds(t *testing.T, opts reflect.Options) *edge {
	t.Helper()
	s := reflecttest.Serve(t, kinds, reflecttest.Answer, reflecttest.Options{})
	return newEdge(t, s.Addr, opts)
}

// list returns all tools by name.
func (e *edge) list() map[string]*pb.Tool {
	e.t.Helper()
	out := map[string]*pb.Tool{}
	for token := ""; ; {
		res, err := e.tools.ListTools(e.t.Context(), &pb.ListToolsRequest{PageToken: token})
		if err != nil {
			e.t.Fatal(err)
		}
		for _, tool := range res.GetTools() {
			out[tool.GetName()] = tool
		}
		if token = res.GetNextPageToken(); token == "" {
			return out
		}
	}
}

func (e *edge) names() []string {
	e.t.Helper()
	var names []string
	for name := range e.list() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// answer is what a call came to.
type answer struct {
	progress []string
	result   *pb.CallToolResult
	input    *pb.InputRequired
	err      error
}

func (a *answer) text() string {
	var lines []string
	for _, c := range a.result.GetContent() {
		lines = append(lines, c.GetText().GetText())
	}
	return strings.Join(lines, "\n")
}

// request is a round that wants progress.
func request(name, args string) *pb.CallToolRequest {
	return &pb.CallToolRequest{Name: name, ArgumentsJson: args, Context: &pb.RequestContext{ProgressWanted: true}}
}

// call runs one round and wants progress.
func (e *edge) call(name, args string, more ...func(*pb.CallToolRequest)) *answer {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), await.Patience)
	defer cancel()
	return e.callBy(ctx, name, args, more...)
}

func (e *edge) callBy(ctx context.Context, name, args string, more ...func(*pb.CallToolRequest)) *answer {
	e.t.Helper()
	req := request(name, args)
	for _, m := range more {
		m(req)
	}
	stream, err := e.tools.CallTool(ctx, req)
	if err != nil {
		return &answer{err: err}
	}
	a := &answer{}
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return a
		case err != nil:
			a.err = err
			return a
		case m.GetProgress() != nil:
			a.progress = append(a.progress, m.GetProgress().GetMessage())
		case m.GetResult() != nil:
			a.result = m.GetResult()
		case m.GetInputRequired() != nil:
			a.input = m.GetInputRequired()
		}
	}
}

// fits holds JSON against a schema.
func fits(t *testing.T, schema, text string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("schema:test", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema:test")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return compiled.Validate(value)
}

package admin

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/admin/v1"
)

// echo answers every request with a result, or not at all.
type echo struct {
	result string
	in     *mcp.Incoming
	opened error
}

func (e *echo) Post(_ context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	e.in = in
	switch e.result {
	case "":
	case "stream":
		_, e.opened = out.Open()
	default:
		out.Respond(mcp.Response{Body: []byte(`{"jsonrpc":"2.0","id":1,"result":` + e.result + `}`)})
	}
}

func (e *echo) End(context.Context, *mcp.Incoming, mcp.Outgoing) {}

func (e *echo) catalog() *catalog {
	return &catalog{client: newClient(e, "7.0.0", func() bool { return true }, nil)}
}

// posted is the params of the request that was sent.
func (e *echo) posted(t *testing.T) map[string]any {
	t.Helper()
	var m struct{ Params map[string]any }
	if err := json.Unmarshal(e.in.Body, &m); err != nil {
		t.Fatalf("%v in %s", err, e.in.Body)
	}
	return m.Params
}

// A call is a request of the newest stateless revision, from the administrator, in its caller's
// trace.
func TestCallIsARequest(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	e := &echo{result: `{"content":[]}`}
	args, _ := structpb.NewStruct(map[string]any{"a": 1})
	call := func(w http.ResponseWriter, r *http.Request) {
		_, err := e.catalog().CallTool(r.Context(), &pb.CallToolRequest{Name: `a "tool"`, Arguments: args, Round: &pb.Round{
			State: "sealed", Responses: map[string]*structpb.Struct{"k": args},
		}})
		if err != nil {
			t.Error(err)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Traceparent", parent)
	traced(http.HandlerFunc(call)).ServeHTTP(httptest.NewRecorder(), r)
	if e.in.Principal.Key() != administrator.Key() || e.in.Principal.Anonymous() || e.in.Header != nil {
		t.Errorf("incoming %+v", e.in)
	}
	one := map[string]any{"a": 1.0}
	meta := map[string]any{
		mcp.MetaVersion: revision.Stateless().Version, mcp.MetaTraceParent: parent,
		mcp.MetaClientInfo: map[string]any{"name": "mcpedge-admin", "version": "7.0.0"},
		mcp.MetaCapabilities: map[string]any{
			"elicitation": map[string]any{"form": map[string]any{}, "url": map[string]any{}},
			"sampling":    map[string]any{"tools": map[string]any{}, "context": map[string]any{}}, "roots": map[string]any{},
		},
	}
	want := map[string]any{
		"name": `a "tool"`, "arguments": one, "requestState": "sealed", "inputResponses": map[string]any{"k": one}, "_meta": meta,
	}
	if d := cmp.Diff(want, e.posted(t)); d != "" {
		t.Errorf("params (-want +got):\n%s", d)
	}
	_, err := e.catalog().CallTool(t.Context(), &pb.CallToolRequest{Name: "x", ClientCapabilities: &structpb.Struct{}})
	if err != nil {
		t.Fatal(err)
	}
	meta = maps.Clone(meta)
	meta[mcp.MetaCapabilities] = map[string]any{}
	delete(meta, mcp.MetaTraceParent)
	if d := cmp.Diff(map[string]any{"name": "x", "_meta": meta}, e.posted(t)); d != "" {
		t.Errorf("params (-want +got):\n%s", d)
	}
}

// Values that protobuf's JSON cannot represent are reported as such, and never changed.
func TestResultsThatDoNotFit(t *testing.T) {
	for _, result := range []string{`{"n":1e999}`, `{"a":1,"a":2}`, `[]`} {
		e := &echo{result: result}
		_, err := e.catalog().CallTool(t.Context(), &pb.CallToolRequest{Name: "x"})
		if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "ask by MCP") {
			t.Errorf("%s: %v", result, err)
		}
	}
}

// A server that does not answer, or wants a stream, is an error and no panic.
func TestRequestsWithoutAnAnswer(t *testing.T) {
	e := &echo{}
	if _, err := e.catalog().ListTools(t.Context(), nil); status.Code(err) != codes.Internal {
		t.Errorf("unanswered: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.catalog().ListTools(ctx, nil); status.Code(err) != codes.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	e.result = "stream"
	if _, err := e.catalog().ListTools(t.Context(), nil); err == nil || e.opened == nil {
		t.Errorf("streamed: %v, opening: %v", err, e.opened)
	}
}

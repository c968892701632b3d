package capability

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/check"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// The checks of `mcpedge check` find nothing that breaks the contract, also in rounds of the tools that ask.
func TestContract(t *testing.T) {
	trial := &check.Trial{
		Calls: map[string][]string{
			"counter": {`{"name":"x"}`}, "interview": {"{}"}, "ask_all": {"{}"}, "stubborn": {"{}"}, "keep": {"{}"}, "open_url": {"{}"},
			"content": {"{}"}, "typed": {`{"count":1,"share":0.5,"text":"x"}`}, "count": {`{"to":3}`}, "log": {"{}"},
			"large": {`{"bytes":1048576}`}, "job": {`{"steps":2}`}, "echo": {`{"a":1}`}, "sample": {`{"prompt":"x"}`},
		},
		Answers: map[string]string{"name": `{"first":"Ada"}`, "age": `{"years":36}`, "ok": `{"ok":true}`, "roots": `["file:///a"]`, "model": `"roses"`},
	}
	var report bytes.Buffer
	err := check.Run(t.Context(), backend.Config{Name: "capability", Target: shared.addr}, trial, &report)
	if err != nil {
		t.Errorf("%v\n%s", err, report.String())
	}
}

// outcome is how a call by the contract ended.
type outcome struct {
	events []*pb.CallToolResponse // all but the last
	last   *pb.CallToolResponse   // nil with an error
	err    error
}

// code is that of the outcome, OK for a result.
func (o outcome) code() codes.Code {
	if f := o.last.GetFailure(); f != nil {
		return map[pb.FailureReason]codes.Code{
			pb.FailureReason_FAILURE_REASON_INVALID_ARGUMENT: codes.InvalidArgument,
			pb.FailureReason_FAILURE_REASON_NOT_FOUND:        codes.NotFound,
		}[f.GetReason()]
	}
	return status.Code(o.err)
}

// callTool calls a tool by the contract until its stream ends.
func callTool(ctx context.Context, tools pb.ToolServiceClient, req *pb.CallToolRequest) (o outcome) {
	stream, err := tools.CallTool(ctx, req)
	for err == nil {
		var m *pb.CallToolResponse
		if m, err = stream.Recv(); err == nil {
			if o.last != nil {
				o.events = append(o.events, o.last)
			}
			o.last = m
		}
	}
	if !errors.Is(err, io.EOF) {
		o.err = err
	}
	return o
}

// Requests that the edge would not send are refused as what they are.
func TestBadRequests(t *testing.T) {
	tools := pb.NewToolServiceClient(dial(t))
	about := &pb.RequestContext{CallId: "c", Attempt: 1, Round: 1}
	for name, tc := range map[string]struct {
		req  *pb.CallToolRequest
		want codes.Code
	}{
		"no object":       {&pb.CallToolRequest{Name: "typed", ArgumentsJson: "[]"}, codes.InvalidArgument},
		"no JSON":         {&pb.CallToolRequest{Name: "typed", ArgumentsJson: "{"}, codes.InvalidArgument},
		"a missing one":   {&pb.CallToolRequest{Name: "typed", ArgumentsJson: `{"count":1,"share":1}`}, codes.InvalidArgument},
		"another type":    {&pb.CallToolRequest{Name: "typed", ArgumentsJson: `{"count":"x","share":1,"text":""}`}, codes.InvalidArgument},
		"none at all":     {&pb.CallToolRequest{Name: "typed"}, codes.InvalidArgument},
		"unknown tool":    {&pb.CallToolRequest{Name: "no_such_tool"}, codes.NotFound},
		"no tool":         {&pb.CallToolRequest{}, codes.NotFound},
		"another's state": {&pb.CallToolRequest{Name: "interview", State: []byte("\x00of another service")}, codes.InvalidArgument},
	} {
		tc.req.Context = about
		o := callTool(limit(t), tools, tc.req)
		if o.code() != tc.want || o.last.GetResult() != nil {
			t.Errorf("%s: %v, %v, want %v", name, o.last, o.err, tc.want)
		}
		for _, trace := range traces {
			if text := fmt.Sprint(o.last, o.err); strings.Contains(text, trace) {
				t.Errorf("%s: %s has %q", name, text, trace)
			}
		}
	}
	if o := callTool(limit(t), tools, &pb.CallToolRequest{Name: "whoami"}); o.last.GetResult() == nil {
		t.Errorf("without a context: %v, %v, want a result", o.last, o.err)
	}
}

// The state carries what was answered; an answer that does not fit its form is asked for again, and what was said once is
// not changed by a later answer.
func TestAnswersAreKept(t *testing.T) {
	tools := pb.NewToolServiceClient(dial(t))
	var state []byte
	for round, tc := range []struct {
		given map[string]string // by key: the content of an accepted form
		want  string            // the key that is asked for, or the text of the result
	}{
		{nil, "name"},
		{map[string]string{"name": `{"first":7}`}, "name"},
		{map[string]string{"name": `{}`}, "name"},
		{map[string]string{"other": `{"first":"Eve"}`}, "name"},
		{map[string]string{"name": `{"first":"Ada"}`}, "age"},
		{map[string]string{"age": `{"years":151}`}, "age"},
		{map[string]string{"age": `{"years":3.5}`}, "age"},
		{map[string]string{"age": `no JSON`}, "age"},
		{map[string]string{"age": `{"years":36}`, "name": `{"first":"Eve"}`}, "Ada is 36"},
	} {
		req := &pb.CallToolRequest{Name: "interview", ArgumentsJson: "{}", State: state,
			Context: &pb.RequestContext{CallId: "i", Attempt: 1, Round: uint32(round + 1)}}
		for key, content := range tc.given {
			req.InputResponses = append(req.InputResponses, &pb.InputResponse{Key: key, Response: &pb.InputResponse_Elicit{
				Elicit: &pb.ElicitResult{Action: pb.ElicitAction_ELICIT_ACTION_ACCEPT, ContentJson: content}}})
		}
		o := callTool(limit(t), tools, req)
		if got := o.last.GetResult().GetContent(); len(got) == 1 && got[0].GetText().GetText() == tc.want {
			continue
		}
		asked := o.last.GetInputRequired().GetRequests()
		if len(asked) != 1 || asked[0].GetKey() != tc.want {
			t.Fatalf("round %d, with %v: %v, %v, want %q", round+1, tc.given, o.last, o.err, tc.want)
		}
		state = o.last.GetInputRequired().GetState()
	}
}

// A lost round continues from its checkpoint. No checkpoint is sent to an edge that does not accept them.
func TestCheckpoints(t *testing.T) {
	tools := pb.NewToolServiceClient(dial(t))
	ctx, lose := context.WithCancel(limit(t))
	stream, err := tools.CallTool(ctx, &pb.CallToolRequest{Name: "resume", ArgumentsJson: "{}",
		Context: &pb.RequestContext{CallId: "c", Attempt: 1, Round: 1, Checkpoints: true}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.Recv()
	if err != nil || m.GetCheckpoint() == nil {
		t.Fatalf("%v, %v, want a checkpoint", m, err)
	}
	lose()
	o := callTool(limit(t), tools, &pb.CallToolRequest{Name: "resume", ArgumentsJson: "{}", State: m.GetCheckpoint().GetState(),
		Context: &pb.RequestContext{CallId: "c", Attempt: 2, Round: 1, Checkpoints: true}})
	if got := o.last.GetResult().GetContent(); len(got) != 1 || got[0].GetText().GetText() != "went on from 1" {
		t.Errorf("%v, %v, want that it went on from 1", o.last, o.err)
	}
	ctx, cancel := context.WithTimeout(limit(t), 300*time.Millisecond)
	defer cancel()
	o = callTool(ctx, tools, &pb.CallToolRequest{Name: "resume", ArgumentsJson: "{}", Context: &pb.RequestContext{CallId: "d", Attempt: 1, Round: 1}})
	if o.last != nil || o.code() != codes.DeadlineExceeded {
		t.Errorf("an edge without checkpoints got %v, %v, want nothing until the deadline", o.last, o.err)
	}
}

// A tool says that its calls may become tasks; any other says nothing of it.
func TestTaskSupport(t *testing.T) {
	r, err := pb.NewToolServiceClient(dial(t)).ListTools(limit(t), &pb.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range r.GetTools() {
		want := pb.TaskMode_TASK_MODE_UNSPECIFIED
		if tool.GetName() == "job" {
			want = pb.TaskMode_TASK_MODE_OPTIONAL
		}
		if got := tool.GetTaskSupport().GetMode(); got != want {
			t.Errorf("%s: %v, want %v", tool.GetName(), got, want)
		}
	}
}

// More events than any buffer holds, for a client that does not read them, delay no other call, and end with the call.
func TestSlowReader(t *testing.T) {
	const events = 200_000
	tools := pb.NewToolServiceClient(dial(t))
	ctx, cancel := context.WithTimeout(t.Context(), 6*await.Patience)
	defer cancel()
	stream, err := tools.CallTool(ctx, &pb.CallToolRequest{Name: "flood", ArgumentsJson: fmt.Sprintf(`{"events":%d}`, events),
		Context: &pb.RequestContext{CallId: "f", Attempt: 1, Round: 1, ProgressWanted: true}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.Recv() // the flood has begun, and nobody reads on
	if err != nil || m.GetProgress().GetProgress() < 1 {
		t.Fatalf("%v, %v, want progress", m, err)
	}
	others := pb.NewToolServiceClient(dial(t))
	for range 20 {
		brief, done := context.WithTimeout(ctx, await.Patience/2)
		if o := callTool(brief, others, &pb.CallToolRequest{Name: "whoami", Context: &pb.RequestContext{CallId: "w"}}); o.last.GetResult() == nil {
			t.Fatalf("another call: %v, %v", o.last, o.err)
		}
		done()
	}
	last := m.GetProgress().GetProgress()
	for err == nil && m.GetResult() == nil {
		if m, err = stream.Recv(); err == nil && m.GetProgress() != nil {
			if p := m.GetProgress().GetProgress(); p <= last {
				t.Fatalf("progress %v came after %v", p, last)
			}
			last = m.GetProgress().GetProgress()
		}
	}
	if got := m.GetResult().GetContent(); err != nil || len(got) != 1 || got[0].GetText().GetText() != fmt.Sprint("sent ", events) {
		t.Errorf("%v, %v, want that %d events were sent", m, err, events)
	}
}

// Pages of lists stay below what gRPC takes by default, and a principal is not needed.
func TestPages(t *testing.T) {
	conn := dial(t)
	tools, resources := pb.NewToolServiceClient(conn), pb.NewResourceServiceClient(conn)
	fill := func(n int) {
		t.Helper()
		o := callTool(limit(t), tools, &pb.CallToolRequest{Name: "fill", ArgumentsJson: fmt.Sprintf(`{"entries":%d}`, n)})
		if o.last.GetResult() == nil {
			t.Fatalf("%v, %v", o.last, o.err)
		}
	}
	fill(10_000)
	defer fill(0)
	for _, size := range []int32{0, 7, 5000} {
		seen, token := map[string]bool{}, ""
		for {
			r, err := resources.ListResources(limit(t), &pb.ListResourcesRequest{PageSize: size, PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(r.GetResources()); size > 0 && n > int(size) || proto.Size(r) >= 4<<20 {
				t.Fatalf("a page of %d entries and %d bytes, with the page size %d", n, proto.Size(r), size)
			}
			for _, one := range r.GetResources() {
				if seen[one.GetUri()] {
					t.Fatalf("%s comes twice", one.GetUri())
				}
				seen[one.GetUri()] = true
			}
			if token = r.GetNextPageToken(); token == "" || size == 7 && len(seen) > 100 {
				break
			}
		}
		if want := 10_000; size != 7 && len(seen) < want {
			t.Errorf("%d entries with the page size %d, want %d or more", len(seen), size, want)
		}
	}
	for _, token := range []string{"x", strings.Repeat("y", 5000)} {
		if _, err := resources.ListResources(limit(t), &pb.ListResourcesRequest{PageToken: token}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("a page token that was never given: %v, want INVALID_ARGUMENT", err)
		}
	}
}

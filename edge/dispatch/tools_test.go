package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

var _ era.Dispatcher = (*Dispatch)(nil)

const addSchema = `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false}`

func TestToolCall(t *testing.T) {
	f := &fake{name: "one", prefix: "one_", tools: []*pb.Tool{{Name: "echo"}, {Name: "add", InputSchemaJson: addSchema}}}
	d := start(t, Options{}, f)
	for name, tc := range map[string]struct {
		version, params string
		text            string
		toolError       bool
		kind            mcp.Kind
	}{
		"plain":              {modern, `{"name":"one_echo","arguments":{"x": 1.50}}`, `called one/echo {\"x\": 1.50}`, false, 0},
		"no arguments":       {modern, `{"name":"one_echo"}`, `called one/echo `, false, 0},
		"null arguments":     {modern, `{"name":"one_echo","arguments":null}`, `called one/echo `, false, 0},
		"valid":              {legacy, `{"name":"one_add","arguments":{"a":1,"b":2.0}}`, `called one/add`, false, 0},
		"wrong type":         {modern, `{"name":"one_add","arguments":{"a":1,"b":"2"}}`, `'/b': got string, want integer`, true, 0},
		"missing":            {modern, `{"name":"one_add"}`, `missing properties 'a', 'b'`, true, 0},
		"wrong, old":         {"2025-06-18", `{"name":"one_add","arguments":{"a":1}}`, ``, false, mcp.KindInvalidParams},
		"absurd number":      {modern, `{"name":"one_add","arguments":{"a":1e999999999,"b":1}}`, `out of range`, true, 0},
		"array":              {modern, `{"name":"one_echo","arguments":[]}`, ``, false, mcp.KindInvalidParams},
		"without the prefix": {modern, `{"name":"echo"}`, ``, false, mcp.KindUnknownTool},
		"no name":            {modern, `{}`, ``, false, mcp.KindInvalidParams},
	} {
		t.Run(name, func(t *testing.T) {
			reply, err := d.Call(t.Context(), rules(t, tc.version), request(t, mcp.MethodToolsCall, tc.params), &events{})
			if kind := kindOf(t, err); kind != tc.kind {
				t.Fatalf("kind %d, want %d: %v", kind, tc.kind, err)
			}
			if !strings.Contains(string(reply.Result), tc.text) || reply.ToolError != tc.toolError {
				t.Errorf("got %s (tool error %t), want %q", reply.Result, reply.ToolError, tc.text)
			}
		})
	}
}

func TestArgumentsAreCheckedBeforeTheCall(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "add", InputSchemaJson: addSchema}}}
	d := start(t, Options{}, f)
	if _, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"add","arguments":{"c":1}}`), nil); err != nil {
		t.Fatal(err)
	}
	if n, _ := f.seen(); n != 0 {
		t.Errorf("the backend was called %d times", n)
	}
}

// Too many arguments, and duplicate names, are refused whether or not the tool has a schema.
func TestArgumentsAreBounded(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "free"}, {Name: "typed", InputSchemaJson: `{"type":"object","properties":{"a":{"type":"array"}}}`}},
		prompts: []*pb.Prompt{{Name: "p"}}, onComplete: func(string, string, string) ([]string, error) { return nil, nil }}
	d := start(t, Options{ArgumentValues: 100}, f)
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]" }
	var words []string
	for i := range 100 {
		words = append(words, fmt.Sprintf(`"k%d":"v"`, i))
	}
	for _, c := range []struct {
		method       mcp.Method
		params, says string
	}{
		{mcp.MethodToolsCall, `{"name":"free","arguments":{"a":` + list(98) + `}}`, ""},
		{mcp.MethodToolsCall, `{"name":"free","arguments":{"a":` + list(99) + `}}`, "more than 100 values"},
		{mcp.MethodToolsCall, `{"name":"typed","arguments":{"a":` + list(99) + `}}`, "more than 100 values"},
		{mcp.MethodToolsCall, `{"name":"free","arguments":{"a":1,"b":{"c":1,"c":2}}}`, `name "c" twice`},
		{mcp.MethodToolsCall, `{"name":"typed","arguments":{"a":1,"\u0061":[]}}`, `name "a" twice`},
		{mcp.MethodPromptsGet, `{"name":"p","arguments":{"a":"1","a":"2"}}`, `name "a" twice`},
		{mcp.MethodPromptsGet, `{"name":"p","arguments":{` + strings.Join(words, ",") + `}}`, "more than 100 values"},
		{mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"},"context":{"arguments":{` + strings.Join(words, ",") + `}}}`, "more than 100 values"},
	} {
		before, _ := f.seen()
		_, err := d.Call(t.Context(), rules(t, modern), request(t, c.method, c.params), nil)
		after, _ := f.seen()
		switch {
		case c.says == "" && (err != nil || after == before):
			t.Errorf("%s %.80s: %v", c.method, c.params, err)
		case c.says != "" && (kindOf(t, err) != mcp.KindInvalidParams || !strings.Contains(err.Error(), c.says) || after != before):
			t.Errorf("%s %.80s: %v, %d calls; want %q and none", c.method, c.params, err, after-before, c.says)
		}
	}
}

// Arguments that cannot be checked within bounds are refused. If the schema is the cause, the call
// runs unchecked, which is logged once. A refused check releases the backend's place.
func TestChecksAreBounded(t *testing.T) {
	multiplying := `{"type":"object","properties":{"a":{"$ref":"#"}},"patternProperties":{"^a":{"$ref":"#"}},"required":["a"]}`
	f := &fake{name: "one", concurrent: 1, tools: []*pb.Tool{
		{Name: "alternatives", InputSchemaJson: `{"type":"object","properties":{"a":{"items":{"anyOf":[{"type":"string"},{"type":"object"},{"type":"array"},{"type":"null"},{"type":"boolean"},{"const":2},{"const":3},{"const":4}]}}}}`},
		{Name: "multiplies", InputSchemaJson: multiplying},
		{Name: "result", OutputSchemaJson: `{"type":"object","properties":{"a":{"items":{"type":"number"}}}}`},
	}}
	var logged logBuffer
	d := start(t, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))}, f)
	call := func(tool, arguments string) error {
		reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"`+tool+`","arguments":`+arguments+`}`), nil)
		if err == nil && reply.ToolError {
			return errors.New(string(reply.Result))
		}
		return err
	}
	many := `{"a":[` + strings.Repeat("1,", 45_000) + `1]}`
	for range 3 {
		if err := call("alternatives", many); kindOf(t, err) != mcp.KindInvalidParams || !strings.Contains(err.Error(), "cannot be checked") {
			t.Fatalf("too many values for the alternatives: %v", err)
		}
		if err := call("multiplies", strings.Repeat(`{"a":`, 57)+`{}`+strings.Repeat(`}`, 57)); err != nil {
			t.Fatalf("what multiplies: %v", err)
		}
		if err := call("multiplies", `{"b":1}`); err == nil || !strings.Contains(err.Error(), "missing property") {
			t.Fatalf("what multiplies, within bounds: %v", err)
		}
	}
	if n := strings.Count(logged.String(), "multiplies: values that take too long"); n != 1 {
		t.Errorf("operators heard of it %d times", n)
	}
	f.onCall = stream(nil, structured(`{"a":[`+strings.Repeat("1,", 400_000)+`"x"]}`, false))
	for range 2 {
		if err := call("result", `{}`); err != nil {
			t.Errorf("a result that is too large to be checked: %v", err)
		}
	}
	if n := strings.Count(logged.String(), "too large for a check"); n != 1 {
		t.Errorf("operators heard of the result %d times", n)
	}
}

// Arguments are checked only after the backend has a place for the call, so that its limit also
// bounds concurrent checks.
func TestChecksWaitForAdmission(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{})
	f := &fake{name: "one", concurrent: 1, tools: []*pb.Tool{{Name: "add", InputSchemaJson: addSchema}}}
	f.onCall = func(_ *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		close(held)
		<-hold
		return s.Send(toolText("done"))
	}
	d := start(t, Options{}, f)
	add := func(arguments string) (mcp.Reply, error) {
		return d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"add","arguments":`+arguments+`}`), nil)
	}
	done := make(chan error, 1)
	go func() {
		_, err := add(`{"a":1,"b":2}`)
		done <- err
	}()
	<-held
	if _, err := add(`{"c":1}`); kindOf(t, err) != mcp.KindLimit {
		t.Errorf("wrong arguments while the backend is full: %v, want KindLimit", err)
	}
	close(hold)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if reply, err := add(`{"c":1}`); err != nil || !reply.ToolError {
		t.Errorf("wrong arguments when there is a place: %s, %v", reply.Result, err)
	}
}

// logBuffer is a log that tests may read during writes.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestToolMetadata(t *testing.T) {
	long := strings.Repeat("ß", 500) // exceeds 1 KiB in base64
	f := &fake{name: "one", prefix: "p_", tools: []*pb.Tool{{Name: "plain"}, {Name: "größe"}, {Name: long}}}
	d := start(t, Options{}, f)
	for name, want := range map[string][]string{
		"plain": {"plain"}, "größe": {"=?base64?Z3LDtsOfZQ==?="}, long: nil,
	} {
		if _, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"p_`+name+`"}`), nil); err != nil {
			t.Fatal(err)
		}
		_, md := f.seen()
		if got := md.Get(MetadataName); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%.20s: %s is %q", name, MetadataName, got)
		}
		if got := md.Get(MetadataMethod); len(got) != 1 || got[0] != "tools/call" {
			t.Errorf("%.20s: %s is %q", name, MetadataMethod, got)
		}
	}
}

// stream answers a call with messages and an error.
func stream(err error, messages ...*pb.CallToolResponse) func(*pb.CallToolRequest, grpc.ServerStreamingServer[pb.CallToolResponse]) error {
	return func(_ *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		for _, m := range messages {
			if err := s.Send(m); err != nil {
				return err
			}
		}
		return err
	}
}

func structured(text string, isError bool) *pb.CallToolResponse {
	return &pb.CallToolResponse{Message: &pb.CallToolResponse_Result{Result: &pb.CallToolResult{StructuredContentJson: text, IsError: isError}}}
}

func failed(reason pb.FailureReason) *pb.CallToolResponse {
	return &pb.CallToolResponse{Message: &pb.CallToolResponse_Failure{Failure: &pb.Failure{Reason: reason, Message: "because"}}}
}

func TestOutcomes(t *testing.T) {
	const output = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "free"}, {Name: "typed", OutputSchemaJson: output}, {Name: "object", OutputSchemaJson: `{"type":"object"}`}}}
	d := start(t, Options{}, f)
	for name, tc := range map[string]struct {
		tool      string
		err       error
		messages  []*pb.CallToolResponse
		kind      mcp.Kind
		toolError bool
		text      string
	}{
		"result":                {"free", nil, []*pb.CallToolResponse{toolText("hi")}, 0, false, `"hi"`},
		"nothing":               {"free", nil, nil, mcp.KindContract, false, "without an outcome"},
		"unset message":         {"free", nil, []*pb.CallToolResponse{{}}, mcp.KindContract, false, "neither an event nor an outcome"},
		"two results":           {"free", nil, []*pb.CallToolResponse{toolText("a"), toolText("b")}, mcp.KindContract, false, "continues after its outcome"},
		"result and status":     {"free", status.Error(codes.Internal, "late"), []*pb.CallToolResponse{toolText("a")}, mcp.KindContract, false, "a status after its outcome"},
		"unavailable":           {"free", status.Error(codes.Unavailable, "x"), nil, mcp.KindUnavailable, false, ""},
		"invalid argument":      {"free", status.Error(codes.InvalidArgument, "too big"), nil, 0, true, "too big"},
		"precondition":          {"free", status.Error(codes.FailedPrecondition, "closed"), nil, 0, true, "closed"},
		"not found":             {"free", status.Error(codes.NotFound, "gone"), nil, mcp.KindUnknownTool, false, "gone"},
		"cancelled by itself":   {"free", status.Error(codes.Canceled, "x"), nil, mcp.KindInternal, false, "the backend cancelled"},
		"failure, invalid":      {"free", nil, []*pb.CallToolResponse{failed(pb.FailureReason_FAILURE_REASON_INVALID_ARGUMENT)}, 0, true, "because"},
		"failure, internal":     {"free", nil, []*pb.CallToolResponse{failed(pb.FailureReason_FAILURE_REASON_INTERNAL)}, mcp.KindInternal, false, "because"},
		"structured":            {"typed", nil, []*pb.CallToolResponse{structured(`{"n":1}`, false)}, 0, false, `"structuredContent":{"n":1}`},
		"structured, wrong":     {"typed", nil, []*pb.CallToolResponse{structured(`{"n":"1"}`, false)}, mcp.KindContract, false, `tool "typed"`},
		"structured, missing":   {"typed", nil, []*pb.CallToolResponse{toolText("hi")}, mcp.KindContract, false, "structured_content_json is missing"},
		"structured, no JSON":   {"typed", nil, []*pb.CallToolResponse{structured(`{"n"`, false)}, mcp.KindContract, false, "no valid JSON"},
		"structured, no object": {"object", nil, []*pb.CallToolResponse{structured(`[]`, false)}, mcp.KindContract, false, "want object"},
		"structured, error":     {"typed", nil, []*pb.CallToolResponse{structured(`{"why":1}`, true)}, 0, true, "why"},
	} {
		t.Run(name, func(t *testing.T) {
			f.onCall = stream(tc.err, tc.messages...)
			reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"`+tc.tool+`"}`), &events{})
			if kind := kindOf(t, err); kind != tc.kind {
				t.Fatalf("kind %d, want %d: %v", kind, tc.kind, err)
			}
			text := string(reply.Result)
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, tc.text) || reply.ToolError != tc.toolError {
				t.Errorf("got %s (tool error %t), want %q", text, reply.ToolError, tc.text)
			}
		})
	}
}

func progress(v float64) *pb.CallToolResponse {
	return &pb.CallToolResponse{Message: &pb.CallToolResponse_Progress{Progress: &pb.Progress{Progress: v}}}
}

func logged(level pb.LogLevel) *pb.CallToolResponse {
	return &pb.CallToolResponse{Message: &pb.CallToolResponse_Log{Log: &pb.LogMessage{Level: level, DataJson: `"x"`}}}
}

func TestEvents(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "t"}}}
	d := start(t, Options{}, f)
	f.onCall = stream(nil, progress(0), progress(0), progress(math.NaN()), progress(2), progress(1), progress(math.Inf(1)), progress(3),
		logged(pb.LogLevel_LOG_LEVEL_DEBUG), logged(pb.LogLevel_LOG_LEVEL_WARNING), logged(pb.LogLevel_LOG_LEVEL_ERROR), toolText("done"))
	for name, tc := range map[string]struct {
		params string
		level  mcp.LogLevel
		want   []string
	}{
		"nothing wanted": {`{"name":"t"}`, mcp.LogNone, nil},
		"progress":       {`{"name":"t","_meta":{"progressToken":7}}`, mcp.LogNone, []string{`"progress":0`, `"progress":2`, `"progress":3`}},
		"logs":           {`{"name":"t"}`, mcp.LogWarning, []string{`"warning"`, `"error"`}},
	} {
		t.Run(name, func(t *testing.T) {
			call := request(t, mcp.MethodToolsCall, tc.params)
			call.LogLevel = tc.level
			sink := &events{}
			if _, err := d.Call(t.Context(), rules(t, modern), call, sink); err != nil {
				t.Fatal(err)
			}
			if len(sink.got) != len(tc.want) {
				t.Fatalf("got %d events, want %q", len(sink.got), tc.want)
			}
			for i, ev := range sink.got {
				if !strings.Contains(string(ev.Params), tc.want[i]) {
					t.Errorf("event %d is %s, want %s", i, ev.Params, tc.want[i])
				}
			}
		})
	}
	f.onCall = stream(nil, logged(0), toolText("done"))
	if _, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"t"}`), nil); kindOf(t, err) != mcp.KindContract {
		t.Errorf("a log message without a level: %v", err)
	}
}

func TestDeafSinkCancelsTheCall(t *testing.T) {
	ended := make(chan error, 1)
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "t"}}}
	f.onCall = func(_ *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		_ = s.Send(progress(1))
		<-s.Context().Done()
		ended <- s.Context().Err()
		return s.Context().Err()
	}
	d := start(t, Options{}, f)
	call := request(t, mcp.MethodToolsCall, `{"name":"t","_meta":{"progressToken":"x"}}`)
	_, err := d.Call(t.Context(), rules(t, modern), call, &events{fail: errors.New("gone")})
	if kindOf(t, err) != mcp.KindCancelled {
		t.Errorf("got %v", err)
	}
	select {
	case <-ended:
	case <-time.After(await.Patience):
		t.Error("the backend's call was not cancelled")
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	called := make(chan struct{})
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "t"}}}
	f.onCall = func(_ *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		close(called)
		<-s.Context().Done()
		return s.Context().Err()
	}
	d := start(t, Options{}, f)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-called; cancel() }()
	_, err := d.Call(ctx, rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"t"}`), nil)
	if kindOf(t, err) != mcp.KindCancelled {
		t.Errorf("got %v", err)
	}
}

func TestBoundsOfACall(t *testing.T) {
	called := make(chan struct{}, 2)
	hangs := func(_ *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		called <- struct{}{}
		<-s.Context().Done()
		return s.Context().Err()
	}
	busy := &fake{name: "one", concurrent: 1, tools: []*pb.Tool{{Name: "t"}}, onCall: hangs}
	late := &fake{name: "two", concurrent: 1, timeout: 300 * time.Millisecond, tools: []*pb.Tool{{Name: "late"}}}
	late.onCall = func(_ *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		<-s.Context().Done()
		return s.Context().Err()
	}
	d := start(t, Options{}, busy, late)
	call := func(ctx context.Context, tool string) error {
		_, err := d.Call(ctx, rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"`+tool+`"}`), nil)
		return err
	}
	for range 2 { // the second has the place of the first
		ctx, cancel := context.WithCancel(t.Context())
		held := make(chan error, 1)
		go func() { held <- call(ctx, "t") }()
		await.Receive(t, "the call at the backend", called)
		if err := call(t.Context(), "t"); kindOf(t, err) != mcp.KindLimit {
			t.Errorf("a call beyond the bound: %v", err)
		}
		cancel()
		if err := await.Receive(t, "the end of the call", held); kindOf(t, err) != mcp.KindCancelled {
			t.Errorf("a call that its client left: %v", err)
		}
	}
	for range 2 {
		if err := call(t.Context(), "late"); kindOf(t, err) != mcp.KindTimeout {
			t.Errorf("a call beyond its time, in the place of another one: %v", err)
		}
	}
}

// A backend that keeps its stream open after the outcome delays the response for a bounded time.
func TestLingeringStream(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "t"}}}
	f.onCall = func(_ *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		_ = s.Send(toolText("early"))
		<-s.Context().Done()
		return nil
	}
	d := start(t, Options{}, f)
	reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"t"}`), nil)
	if err != nil || !strings.Contains(string(reply.Result), "early") {
		t.Errorf("got %s, %v", reply.Result, err)
	}
}

func TestInputRequired(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "t"}}}
	d := start(t, Options{}, f)
	ask := func(n, state int) *pb.CallToolResponse {
		in := &pb.InputRequired{State: bytes.Repeat([]byte{1}, state)}
		for i := range n {
			in.Requests = append(in.Requests, &pb.InputRequest{
				Key:     "k" + string(rune('a'+i)),
				Request: &pb.InputRequest_ElicitForm{ElicitForm: &pb.ElicitForm{Message: "?", RequestedSchemaJson: `{"type":"object","properties":{}}`}},
			})
		}
		return &pb.CallToolResponse{Message: &pb.CallToolResponse_InputRequired{InputRequired: in}}
	}
	able, unable := `{"elicitation":{}}`, `{}`
	for name, tc := range map[string]struct {
		version, capabilities string
		requests, state       int
		kind                  mcp.Kind
		toolError             bool
	}{
		"asked":              {modern, able, 2, 3, 0, false},
		"state alone":        {modern, unable, 0, 3, 0, false},
		"the most":           {modern, able, 16, 64 << 10, 0, false},
		"nothing":            {modern, able, 0, 0, mcp.KindContract, false},
		"too many":           {modern, able, 17, 0, mcp.KindContract, false},
		"too much state":     {modern, able, 1, 64<<10 + 1, mcp.KindContract, false},
		"incapable":          {modern, unable, 1, 0, mcp.KindMissingCapability, false},
		"incapable, legacy":  {legacy, unable, 1, 0, 0, true},
		"incapable revision": {"2025-03-26", able, 1, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			f.onCall = stream(nil, ask(tc.requests, tc.state))
			call := request(t, mcp.MethodToolsCall, `{"name":"t"}`)
			call.Client.Capabilities, _ = mcp.ParseCapabilities(json.RawMessage(tc.capabilities))
			reply, err := d.Call(t.Context(), rules(t, tc.version), call, nil)
			if kind := kindOf(t, err); kind != tc.kind || reply.ToolError != tc.toolError {
				t.Fatalf("kind %d, tool error %t: %v", kind, reply.ToolError, err)
			}
			if tc.kind != 0 || tc.toolError {
				return
			}
			if reply.Input == nil || len(reply.Input.Requests) != tc.requests {
				t.Fatal("it does not ask as the backend does")
			}
			if _, own := openMisfits(reply.Input.State); len(own) != tc.state {
				t.Errorf("the state has %d bytes, want %d", len(own), tc.state)
			}
		})
	}
}

func TestParamHeadersAreChecked(t *testing.T) {
	const schema = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "t", InputSchemaJson: schema}}}
	d := start(t, Options{}, f)
	for name, tc := range map[string]struct {
		version string
		header  mcp.Header
		kind    mcp.Kind
	}{
		"equal":     {modern, http.Header{"Mcp-Param-Region": {"eu"}}, 0},
		"different": {modern, http.Header{"Mcp-Param-Region": {"us"}}, mcp.KindHeaderMismatch},
		"absent":    {modern, http.Header{}, mcp.KindHeaderMismatch},
		"stdio":     {modern, nil, 0},
		"legacy":    {legacy, http.Header{}, 0},
	} {
		call := request(t, mcp.MethodToolsCall, `{"name":"t","arguments":{"region":"eu"}}`)
		call.Header = tc.header
		if _, err := d.Call(t.Context(), rules(t, tc.version), call, nil); kindOf(t, err) != tc.kind {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestUnusableSchemaIsReportedOnce(t *testing.T) {
	var log lockedBuffer
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "t", InputSchemaJson: `{"type":"object","properties":{"a":{"pattern":"(?=x)"}}}`}}}
	d := start(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, f)
	for range 3 {
		if _, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"t","arguments":{"a":1}}`), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "input schema cannot be used"); n != 1 {
		t.Errorf("reported %d times: %s", n, log.String())
	}
}

func TestRepeatable(t *testing.T) {
	yes := true
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "plain"},
		{Name: "reads", Annotations: &pb.ToolAnnotations{ReadOnly: &yes}}, {Name: "sets", Annotations: &pb.ToolAnnotations{Idempotent: &yes}}}}
	d := start(t, Options{}, f)
	for name, want := range map[string]bool{"plain": false, "reads": true, "sets": true, "unknown": false} {
		if got, _ := d.Resolve(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"`+name+`"}`)); got.Repeatable != want {
			t.Errorf("%s: %t", name, got.Repeatable)
		}
	}
	if got, _ := d.Resolve(t.Context(), rules(t, modern), request(t, mcp.MethodResourcesRead, `{"uri":"x:y"}`)); !got.Repeatable {
		t.Error("a read is repeatable")
	}
}

// lockedBuffer is a log that tests may read during writes.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

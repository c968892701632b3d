package check

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/backend"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// report checks a sample and returns what is said of it.
func report(t *testing.T, addr string, calls map[string]string) (string, error) {
	t.Helper()
	return reportWithin(t, addr, calls, patient)
}

func reportWithin(t *testing.T, addr string, calls map[string]string, timing timing) (string, error) {
	t.Helper()
	var out strings.Builder
	trial := &Trial{Calls: map[string][]string{}}
	for name, arguments := range calls {
		trial.Calls[name] = []string{arguments}
	}
	err := run(t.Context(), backend.Config{Name: "x", Target: addr}, trial, &out, &timing)
	return out.String(), err
}

func TestCheckCallsEveryRPC(t *testing.T) {
	out, err := report(t, newSample().serve(t, 0), nil)
	if err != nil {
		t.Errorf("a sound backend: %v", err)
	}
	for _, want := range []string{
		`Describe: "sample"`,
		"ok      ListTools: 3 entries", "ok      ListTools, a page_token that was never given: INVALID_ARGUMENT", "ok      WatchTools: begins",
		"ok      CallTool, an unknown tool: NOT_FOUND", `ok      CallTool "look": a result after 2 rounds and 2 events; asked "sure", declined`,
		`ok      CallTool "look": 40 calls at a time`, `note    CallTool "find": not called, since it needs arguments`,
		`note    CallTool "change": not called, since it is not marked read_only`, "ok      WatchTools: 40 feeds",
		"ok      ListResources: 2", "ok      ListResourceTemplates: 1", "ok      WatchResources: begins",
		"ok      ReadResource, an unknown URI: NOT_FOUND", `ok      ReadResource "sample:b": 1 contents`,
		`ok      CompleteResourceTemplate "sample:{name}", name: 2 values`, `ok      ReadResource "sample:a", by its template`,
		`ok      WatchResource "sample:a": begins`, "ok      ListPrompts: 1", "ok      WatchPrompts: begins",
		"ok      GetPrompt, an unknown prompt: NOT_FOUND", `ok      CompletePrompt "greet", whom: 2 values`, `ok      GetPrompt "greet": 1 messages`,
		"nothing breaks the contract",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "breaks  ") {
		t.Errorf("breaches of a sound backend:\n%s", out)
	}
}

func TestCheckWithoutDescribe(t *testing.T) {
	x := newSample()
	x.about = nil
	out, err := report(t, x.serve(t, 0), nil)
	if err != nil || !strings.Contains(out, "Describe: not served; the lists were tried instead") || !strings.Contains(out, "subscriptions, completion") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestCheckCallsNothingThatChanges(t *testing.T) {
	called := make(chan string, 1000)
	x := newSample()
	sound := x.call
	x.call = func(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		called <- r.GetName() + r.GetArgumentsJson()
		return sound(r, s)
	}
	if _, err := report(t, x.serve(t, 0), nil); err != nil {
		t.Fatal(err)
	}
	close(called)
	for c := range called {
		if c != unknownName+"{}" && c != "look{}" {
			t.Errorf("%s was called", c)
		}
	}
	called = make(chan string, 1000)
	out, err := report(t, x.serve(t, 0), map[string]string{"change": `{"to":1}`})
	if err != nil || !strings.Contains(out, `ok      CallTool "change": a result after 2 rounds and 2 events; asked "sure", declined: {"n":1}`) {
		t.Errorf("%v:\n%s", err, out)
	}
	close(called)
	changes := 0
	for c := range called {
		if c == `change{"to":1}` {
			changes++
		}
	}
	if changes != 2 { // one call of two rounds
		t.Errorf("change was called %d times, want 2", changes)
	}
	if out, err := report(t, newSample().serve(t, 0), map[string]string{"change": "[]"}); err == nil || !strings.Contains(out, "not a JSON object") {
		t.Errorf("arguments that are no object: %v:\n%s", err, out)
	}
}

// looks makes a sample whose read-only tool streams these messages, and then ends with err.
func looks(err error, messages ...*pb.CallToolResponse) func(*sample) {
	return func(x *sample) {
		x.call = func(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
			if r.GetName() == unknownName {
				return s.Send(notThere())
			}
			if err := sendAll(s, messages...); err != nil {
				return err
			}
			return err
		}
	}
}

// unknownTool makes a sample that answers a call of an unknown tool so.
func unknownTool(err error, messages ...*pb.CallToolResponse) func(*sample) {
	return func(x *sample) {
		sound := x.call
		x.call = func(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
			if r.GetName() != unknownName {
				return sound(r, s)
			}
			if err := sendAll(s, messages...); err != nil {
				return err
			}
			return err
		}
	}
}

func TestCheckFindsEachBreach(t *testing.T) {
	manyQuestions := make([]*pb.InputRequest, 17)
	for i := range manyQuestions {
		manyQuestions[i] = question(strings.Repeat("k", i+1))
	}
	for name, test := range map[string]struct {
		break_ func(*sample)
		want   string
	}{
		"two of a name":       {func(x *sample) { x.tools = append(x.tools, &pb.Tool{Name: "look"}) }, "one before it with the same key"},
		"no name":             {func(x *sample) { x.tools = append(x.tools, &pb.Tool{}) }, "name is empty"},
		"long name":           {func(x *sample) { x.tools = append(x.tools, &pb.Tool{Name: strings.Repeat("n", 65)}) }, "1 to 64 of"},
		"schema of no object": {func(x *sample) { x.tools[2].InputSchemaJson = `{"type":"string"}` }, `must be "object"`},
		"schema of no sense":  {func(x *sample) { x.tools[2].InputSchemaJson = `{"type":"object","minProperties":"x"}` }, "goes unvalidated"},
		"no version":          {func(x *sample) { x.about.Implementation.Version = "" }, "both are required"},
		"a heavy page":        {func(x *sample) { x.tools[2].Description = strings.Repeat("d", 5<<20) }, "at most 4194304"},
		"page_size ignored": {func(x *sample) {
			x.page = func(token string, _ int32, n int) (int, int, string, error) { return cut(token, 0, n) }
		}, "page_size 1 gives 3"},
		"pages that lose":      {pagesThatLose, "entries and order must be the same"},
		"token makes it crash": {tokenCrash, "must be INVALID_ARGUMENT"},
		"feed without started": {func(x *sample) { x.feed = func(context.Context, func() error) error { return nil } }, "WatchTools: the feed ends without started"},
		"feed that says nothing": {func(x *sample) {
			x.feed = func(ctx context.Context, _ func() error) error { <-ctx.Done(); return ctx.Err() }
		}, "WatchTools: started does not come"},
		"feed that ends": {func(x *sample) { x.feed = func(_ context.Context, started func() error) error { return started() } }, "WatchTools: the feed ends by itself"},
		"feed not there": {func(x *sample) {
			x.feed = func(context.Context, func() error) error { return status.Error(codes.Unimplemented, "") }
		}, "WatchTools: UNIMPLEMENTED, although"},
		"feed that fails": {func(x *sample) {
			x.feed = func(context.Context, func() error) error { return status.Error(codes.Internal, "oh") }
		}, "WatchTools: status Internal"},
		"subscribe not there": {func(x *sample) {
			x.subscribe = func(context.Context, func() error) error { return status.Error(codes.Unimplemented, "") }
		}, "WatchResource \"sample:a\": UNIMPLEMENTED"},

		"unknown tool answered": {unknownTool(nil, gives(`{}`)), "CallTool, an unknown tool: answered as if it were there"},
		"unknown tool crashes":  {unknownTool(status.Error(codes.Unknown, "KeyError")), "CallTool, an unknown tool: status Unknown"},
		"unknown tool internal": {unknownTool(nil, fails(&pb.Failure{Reason: pb.FailureReason_FAILURE_REASON_INTERNAL, Message: "oh"})), "it must be NOT_FOUND"},

		"no outcome":             {looks(nil, step(1)), "ends without an outcome"},
		"two outcomes":           {looks(nil, gives(`{"n":1}`), gives(`{"n":1}`)), "a message comes after the outcome"},
		"status after outcome":   {looks(status.Error(codes.Aborted, "x"), gives(`{"n":1}`)), "comes after the outcome"},
		"nothing in a message":   {looks(nil, &pb.CallToolResponse{}), "a message with nothing in it"},
		"progress that falls":    {looks(nil, step(2), step(1), gives(`{"n":1}`)), "progress is 1 after 2"},
		"log without level":      {looks(nil, logs(&pb.LogMessage{DataJson: `1`}), gives(`{"n":1}`)), "a log message without a level"},
		"log without JSON":       {looks(nil, logs(&pb.LogMessage{Level: pb.LogLevel_LOG_LEVEL_INFO, DataJson: `text`}), gives(`{"n":1}`)), "data_json is not JSON"},
		"failure without reason": {looks(nil, fails(&pb.Failure{Message: "x"})), "a failure without a reason"},
		"failure with no JSON":   {looks(nil, fails(&pb.Failure{Reason: 1, Message: "x", DataJson: "x"})), "a failure whose data_json is not JSON"},
		"a crash":                {looks(status.Error(codes.Unknown, "Exception")), `CallTool "look": status Unknown (Exception) is what an unhandled exception becomes`},
		"work not there":         {looks(status.Error(codes.Unimplemented, "")), "UNIMPLEMENTED, although its list is served"},

		"asks nothing at all":    {looks(nil, requires(&pb.InputRequired{})), "neither requests nor state"},
		"asks too much":          {looks(nil, asks(manyQuestions...)), "17 requests"},
		"asks twice by a key":    {looks(nil, asks(question("a"), question("a"))), "two requests have the key"},
		"asks as the edge does":  {looks(nil, asks(question("mcpedge.x"))), "begins with \"mcpedge.\""},
		"asks by no key":         {looks(nil, asks(question(""))), "must have 1 to 128 bytes"},
		"asks with no question":  {looks(nil, asks(&pb.InputRequest{Key: "a"})), "asks nothing"},
		"asks with a bad form":   {looks(nil, asks(&pb.InputRequest{Key: "a", Request: &pb.InputRequest_ElicitForm{ElicitForm: &pb.ElicitForm{RequestedSchemaJson: "x"}}})), "requested_schema_json"},
		"form of no object":      {looks(nil, asks(&pb.InputRequest{Key: "a", Request: &pb.InputRequest_ElicitForm{ElicitForm: &pb.ElicitForm{RequestedSchemaJson: `{"type":"array"}`}}})), `must be "object"`},
		"remembers too much":     {looks(nil, requires(&pb.InputRequired{State: make([]byte, 65537)})), "65537 bytes of state"},
		"comes back in two hour": {looks(nil, requires(&pb.InputRequired{State: []byte("s"), RetryAfter: durationpb.New(2 * time.Hour)})), "retry_after 2h0m0s"},

		"result not by schema":  {looks(nil, gives(`{"n":"one"}`)), "not valid by the output schema"},
		"result without schema": {looks(nil, result(&pb.CallToolResult{Content: []*pb.ContentBlock{text("x")}})), "no structured content"},
		"result of no JSON":     {looks(nil, gives(`{`)), "structured_content_json is not JSON"},
		"empty block":           {looks(nil, result(&pb.CallToolResult{StructuredContentJson: `{"n":1}`, Content: []*pb.ContentBlock{{}}})), "content[0] is empty"},
		"image of no kind": {looks(nil, result(&pb.CallToolResult{StructuredContentJson: `{"n":1}`,
			Content: []*pb.ContentBlock{{Content: &pb.ContentBlock_Image{Image: &pb.ImageContent{}}}}})), "no mime_type"},
		"block of no type": {looks(nil, result(&pb.CallToolResult{StructuredContentJson: `{"n":1}`,
			Content: []*pb.ContentBlock{{Content: &pb.ContentBlock_RawJson{RawJson: "{}"}}}})), "raw_json has no type"},
		"meta of no object": {looks(nil, result(&pb.CallToolResult{StructuredContentJson: `{"n":1}`, MetaJson: "1"})), "meta_json"},

		"unknown resource answered": {reads(func(string) *pb.ReadResourceResponse { return readable() }), "ReadResource, an unknown URI: answered"},
		"no contents":               {readsListed(readable()), "a result without contents"},
		"relative contents":         {readsListed(readable(&pb.ResourceContents{Uri: "a", Body: &pb.ResourceContents_Text{}})), "not absolute"},
		"contents without body":     {readsListed(readable(&pb.ResourceContents{Uri: "sample:a"})), "neither text nor blob"},
		"completion not there":      {completes(nil, nil, status.Error(codes.Unimplemented, "")), "although Describe says that completion is served"},
		"completion that fails":     {completes(nil, nil, status.Error(codes.Internal, "oh")), "CompletePrompt \"greet\", whom: status Internal"},
		"completion that misses":    {completes([]string{"a", "b"}, proto.Int32(1), nil), "total is 1, with 2 values"},
		"unknown prompt answered": {func(x *sample) {
			x.get = func(string) []*pb.GetPromptResponse { return []*pb.GetPromptResponse{prompting()} }
		}, "GetPrompt, an unknown prompt: answered"},
		"message without role":    {prompts(prompting(&pb.PromptMessage{Content: text("x")})), "messages[0] has no role"},
		"message without content": {prompts(prompting(&pb.PromptMessage{Role: pb.Role_ROLE_USER})), "messages[0] is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newSample()
			test.break_(x)
			timing, silent := patient, name == "feed that says nothing"
			if silent {
				timing.settle, timing.reach = time.Second, 3*time.Second
			}
			addr := x.serve(t, 0)
			// A feed that ends must do so while it is watched, and beside one that says nothing other calls must be answered in time, for which a
			// machine under load needs longer.
			for ; ; timing.watched, timing.settle, timing.reach = 4*timing.watched, 4*timing.settle, 4*timing.reach {
				out, err := reportWithin(t, addr, nil, timing)
				for line := range strings.Lines(out) {
					if strings.HasPrefix(line, "  breaks  ") && strings.Contains(line, test.want) {
						return
					}
				}
				if err != nil && !silent || timing.watched > await.Patience {
					t.Fatalf("no line that begins with breaks and has %q (%v):\n%s", test.want, err, out)
				}
			}
		})
	}
}

func pagesThatLose(x *sample) {
	x.page = func(token string, size int32, n int) (int, int, string, error) {
		start, end, next, err := cut(token, size, n)
		if size == 1 && start == 1 {
			return start, end, "", err
		}
		return start, end, next, err
	}
}

func tokenCrash(x *sample) {
	x.page = func(token string, size int32, n int) (int, int, string, error) {
		start, end, next, err := cut(token, size, n)
		if err != nil {
			err = status.Error(codes.Unknown, "ValueError")
		}
		return start, end, next, err
	}
}

func reads(read func(uri string) *pb.ReadResourceResponse) func(*sample) {
	return func(x *sample) {
		x.read = func(uri string) []*pb.ReadResourceResponse { return []*pb.ReadResourceResponse{read(uri)} }
	}
}

// readsListed makes a sample that answers reads of what is listed so.
func readsListed(answer *pb.ReadResourceResponse) func(*sample) {
	return func(x *sample) {
		sound := x.read
		x.read = func(uri string) []*pb.ReadResourceResponse {
			if uri == "sample:a" {
				return []*pb.ReadResourceResponse{answer}
			}
			return sound(uri)
		}
	}
}

func completes(values []string, total *int32, err error) func(*sample) {
	return func(x *sample) { x.complete = func() ([]string, *int32, error) { return values, total, err } }
}

func prompts(answer *pb.GetPromptResponse) func(*sample) {
	return func(x *sample) {
		sound := x.get
		x.get = func(name string) []*pb.GetPromptResponse {
			if name == "greet" {
				return []*pb.GetPromptResponse{answer}
			}
			return sound(name)
		}
	}
}

// A client too slow to begin all calls before their first deadline begins them before a later one.
func TestCheckLeavesManyCallsAtATime(t *testing.T) {
	slow := patient
	slow.brief = time.Microsecond
	out, err := reportWithin(t, newSample().serve(t, 0), nil, slow)
	if want := `ok      CallTool "look": 40 calls at a time`; err != nil || !strings.Contains(out, want) {
		t.Errorf("%q is missing (%v):\n%s", want, err, out)
	}
}

// A server with few threads whose feeds and calls hold one each must let go of them.
func TestCheckFindsWhatHoldsThreads(t *testing.T) {
	hasty := patient
	hasty.brief = 300 * time.Millisecond
	// finds fails the test unless the check of a sample finds a breach. The check waits for its reach in vain. Until it does so, calls must be
	// answered within that, for which a machine under load needs longer.
	finds := func(what string, x *sample, threads int, breach string) {
		t.Helper()
		for hasty.reach = time.Second; ; hasty.reach *= 4 {
			out, err := reportWithin(t, x.serve(t, threads), nil, hasty)
			if err != nil && strings.Contains(out, breach) {
				return
			}
			if hasty.reach > await.Patience {
				t.Fatalf("%s: %v:\n%s", what, err, out)
			}
		}
	}
	finds("feeds that hold all threads", newSample(), 10, "must not")
	deaf := newSample()
	deaf.about.Tools.ListChanged = false
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	deaf.call = func(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		if r.GetName() == unknownName {
			return s.Send(notThere())
		}
		if len(r.GetInputResponses()) == 0 && r.GetContext().GetRound() == 1 && s.Context().Err() == nil {
			if deadline, ok := s.Context().Deadline(); ok && time.Until(deadline) < hasty.brief {
				<-release // whatever the caller does
			}
		}
		return s.Send(gives(`{"n":1}`))
	}
	finds("calls that go on after their deadline", deaf, 20, "a call must end when its caller leaves")
}

// A schema that multiplies breaks nothing, but its author should know.
func TestCheckNotesSchemasThatMultiply(t *testing.T) {
	x := newSample()
	x.tools[2].InputSchemaJson = `{"type":"object","properties":{"a":{"$ref":"#"}},"patternProperties":{"^a":{"$ref":"#"}}}`
	out, err := report(t, x.serve(t, 0), nil)
	if err != nil {
		t.Error(err)
	}
	if !strings.Contains(out, "note    Tool") || !strings.Contains(out, "input_schema_json multiplies") {
		t.Errorf("no note in:\n%s", out)
	}
}

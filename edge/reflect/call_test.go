package reflect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// Values of every kind come back as they went, and the answers keep the output schemas.
func TestValuesComeBack(t *testing.T) {
	e := serveKinds(t, reflect.Options{})
	tools := e.list()
	for tool, args := range map[string]string{
		"kind_echo": `{"doubleField":1.5,"floatField":"NaN","int32Field":-1,"int64Field":"-9223372036854775808","uint32Field":4294967295,` +
			`"uint64Field":"18446744073709551615","sint32Field":2,"sint64Field":"3","fixed32Field":4,"fixed64Field":"5","sfixed32Field":6,"sfixed64Field":"7",` +
			`"boolField":true,"stringField":"<ä>","bytesField":"+/8=","enumField":"COLOR_RED","messageField":{"name":"x"},"optionalString":"","optionalInt64":"0",` +
			`"strings":["a",""],"uint64s":["1"],"leaves":[{"name":"y"}],"colors":["COLOR_BLUE"],"texts":{"a":"b"},"byInt32":{"-1":{"name":""}},` +
			`"byUint64":{"9":"Infinity"},"byBool":{"true":"YQ=="},"byName":{"c":"COLOR_GREEN"},"chosenNumber":"8","calledOtherwise":"z"}`,
		"kind_walk": `{"label":"a","left":{"label":"b","left":{"label":"c"}},"children":[{"label":"d"}],"branches":{"e":{"tree":{"label":"f"},"leaf":{"name":"g"}}}}`,
		"kind_every": `{"timestamp":"2024-01-02T03:04:05.006Z","duration":"1.500s","mask":"a.b,cD","struct":{"a":[1,null,{"b":"c"}]},"value":null,"list":[1,"x"],` +
			`"any":{"@type":"type.googleapis.com/test.kinds.v1.Leaf","name":"l"},"empty":{},"null":null,"boolValue":false,"int32Value":0,"uint32Value":1,` +
			`"int64Value":"2","uint64Value":"3","floatValue":0.5,"doubleValue":-1,"stringValue":"","bytesValue":"YQ==","values":[1,null],"times":{"a":"2024-01-02T03:04:05Z"}}`,
		"kind_nothing": `{}`,
		"kind_stamp":   `{"value":"2024-01-02T03:04:05Z"}`,
	} {
		if err := fits(t, tools[tool].GetInputSchemaJson(), args); err != nil {
			t.Errorf("%s: the arguments do not fit: %v", tool, err)
		}
		a := e.call(tool, args)
		if a.err != nil || a.result.GetIsError() {
			t.Errorf("%s: %v, %s", tool, a.err, a.text())
			continue
		}
		got := a.result.GetStructuredContentJson()
		if err := fits(t, tools[tool].GetOutputSchemaJson(), got); err != nil {
			t.Errorf("%s: the answer does not fit: %v\n%s", tool, err, got)
		}
		if strings.HasPrefix(tool, "kind_e") || tool == "kind_walk" {
			for key, want := range members(t, args) {
				if have := members(t, got)[key]; tool == "kind_echo" && fmt.Sprint(have) != fmt.Sprint(want) || have == nil && want != nil {
					t.Errorf("%s: %s is %v, want %v", tool, key, have, want)
				}
			}
		}
	}
	if got := e.call("kind_stamp", `{"value":"2024-01-02T03:04:05Z"}`).result.GetStructuredContentJson(); got != `{"value":"\"2024-01-02T03:04:05Z\""}` {
		t.Errorf("a wrapper: %s", got)
	}
	if got := e.call("kind_walk", `{}`).result.GetStructuredContentJson(); got != `{"label":"","children":[],"branches":{}}` {
		t.Errorf("default values: %s", got)
	}
}

func members(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Invalid arguments are reported by field, before the service is called.
func TestWrongArguments(t *testing.T) {
	e := serveKinds(t, reflect.Options{})
	for _, c := range []struct{ tool, args, want string }{
		{"kind_echo", `{"nonsense":1}`, `unknown field "nonsense"`},
		{"kind_echo", `{"messageField":{"nam":1}}`, `unknown field "nam"`},
		{"kind_echo", `{"int32Field":"x"}`, `invalid value for int32 field int32Field: "x"`},
		{"kind_echo", `{"enumField":"PINK"}`, `"PINK"`},
		{"kind_echo", `{"chosenText":"a","chosenNumber":1}`, `oneof`},
		{"kind_stamp", `{"value":"yesterday"}`, `"yesterday"`},
		{"kind_stamp", `{"valu":1}`, `must be one member, "value"`},
	} {
		a := e.call(c.tool, c.args)
		if a.err != nil || !a.result.GetIsError() || !strings.Contains(a.text(), c.want) {
			t.Errorf("%s %s: %v, %q", c.tool, c.args, a.err, a.text())
		}
		if strings.ContainsRune(a.text(), '\u00a0') || strings.Contains(a.text(), "proto:") {
			t.Errorf("%q is not plain", a.text())
		}
	}
	if a := e.call("no_such", `{}`); status.Code(a.err) != codes.NotFound {
		t.Errorf("an unknown tool: %v", a.err)
	}
}

// Messages of a stream are progress, the last one is the result.
func TestStream(t *testing.T) {
	e := serveKinds(t, reflect.Options{StreamMessages: 5, MaxBytes: 4 << 10})
	a := e.call("kind_count", `{"to":3,"text":"x"}`)
	if want := []string{`{"number":1,"text":"x"}`, `{"number":2,"text":"x"}`, `{"number":3,"text":"x"}`}; fmt.Sprint(a.progress) != fmt.Sprint(want) {
		t.Errorf("progress: %q", a.progress)
	}
	if got := a.result.GetStructuredContentJson(); got != `{"number":3,"text":"x"}` {
		t.Errorf("result: %s", got)
	}
	quiet := e.call("kind_count", `{"to":5}`, func(r *pb.CallToolRequest) { r.Context.ProgressWanted = false })
	if len(quiet.progress) > 0 || quiet.result.GetStructuredContentJson() != `{"number":5,"text":""}` {
		t.Errorf("without progress: %v", quiet)
	}
	none := e.call("kind_count", `{}`)
	if !none.result.GetIsError() || none.result.GetStructuredContentJson() != "" || !strings.Contains(none.text(), "without a message") {
		t.Errorf("an empty stream: %v", none.result)
	}
	many := e.call("kind_count", `{"to":6}`)
	if !many.result.GetIsError() || !strings.Contains(many.text(), "sent more than 5 messages") || !strings.Contains(many.text(), `{"number":5,"text":""}`) {
		t.Errorf("too many messages: %v", many.result)
	}
	large := e.call("kind_count", `{"to":5,"text":"`+strings.Repeat("x", 1500)+`"}`)
	if !large.result.GetIsError() || !strings.Contains(large.text(), "bytes in 3 messages") {
		t.Errorf("too many bytes: %.200s", large.text())
	}
	huge := e.call("kind_echo", `{"stringField":"`+strings.Repeat("x", 5000)+`"}`)
	if !huge.result.GetIsError() || !strings.Contains(huge.text(), "request less") {
		t.Errorf("a large answer: %.200s", huge.text())
	}
}

// An error of a service for its caller reaches the model with its details; other errors keep their status.
func TestFailures(t *testing.T) {
	e := serveKinds(t, reflect.Options{})
	args := func(code codes.Code, message string, details ...proto.Message) string {
		var list []string
		for _, d := range details {
			packed, err := anypb.New(d)
			if err != nil {
				t.Fatal(err)
			}
			text, err := protojson.Marshal(packed)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, string(text))
		}
		return fmt.Sprintf(`{"code":%d,"message":%q,"details":[%s]}`, code, message, strings.Join(list, ","))
	}
	retry := &errdetails.RetryInfo{RetryDelay: durationpb.New(3 * time.Second)}
	for _, c := range []struct {
		args string
		want string // a tool's error
		code codes.Code
	}{
		{args: args(codes.InvalidArgument, "bad name", &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "name", Description: "is too short"}}}),
			want: "INVALID_ARGUMENT: bad name\n- field name: is too short"},
		{args: args(codes.NotFound, "no such thing"), want: "NOT_FOUND: no such thing"},
		{args: args(codes.ResourceExhausted, "slow down", retry, &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Subject: "user", Description: "10 a day"}}}),
			want: "RESOURCE_EXHAUSTED: slow down\n- try again after 3s\n- quota of user: 10 a day"},
		{args: args(codes.FailedPrecondition, "not yet", &errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{{Type: "TOS", Subject: "user", Description: "accept the terms"}}},
			&errdetails.Help{Links: []*errdetails.Help_Link{{Description: "terms", Url: "https://x.example"}}}, &errdetails.DebugInfo{Detail: "secret"}),
			want: "FAILED_PRECONDITION: not yet\n- precondition TOS of user: accept the terms\n- help: terms https://x.example"},
		{args: args(codes.PermissionDenied, "no", &errdetails.ErrorInfo{Reason: "OFF", Domain: "x.example", Metadata: map[string]string{"b": "2", "a": "1"}},
			&errdetails.ResourceInfo{ResourceType: "thing", ResourceName: "t1", Description: "yours"}, &errdetails.RequestInfo{RequestId: "r1"}, &errdetails.LocalizedMessage{Message: "nein"}),
			want: "PERMISSION_DENIED: no\n- reason OFF (x.example): a=1, b=2\n- resource thing t1: yours\n- request id r1\n- nein"},
		{args: args(codes.Internal, "broken", &errdetails.LocalizedMessage{Message: "write to support"}), want: "INTERNAL: broken\n- write to support"},
		{args: `{"code":9,"message":"own","details":[{"@type":"type.googleapis.com/test.kinds.v1.Leaf","name":"l"}]}`,
			want: `FAILED_PRECONDITION: own` + "\n" + `- {"@type":"type.googleapis.com/test.kinds.v1.Leaf","name":"l"}`},
		{args: args(codes.Unavailable, "away", retry), code: codes.Unavailable},
		{args: args(codes.DeadlineExceeded, "late"), code: codes.DeadlineExceeded},
		{args: args(codes.Internal, "host db1 is down", &errdetails.DebugInfo{Detail: "secret"}), code: codes.Internal},
		{args: args(codes.Unknown, "panic"), code: codes.Unknown},
		{args: args(codes.Unauthenticated, "who"), code: codes.Unauthenticated},
	} {
		a := e.call("kind_fail", c.args)
		switch {
		case c.want == "" && status.Code(a.err) != c.code:
			t.Errorf("%s: %v, %v", c.args, a.err, a.result)
		case c.want != "" && (a.err != nil || !a.result.GetIsError() || a.text() != c.want):
			t.Errorf("%s: %v, %q", c.args, a.err, a.text())
		}
	}
}

// What the user must confirm is read from the options of a method, and without that the method is not called.
func TestConfirmation(t *testing.T) {
	called := make(chan string, 10)
	s := reflecttest.Serve(t, kinds, func(ctx context.Context, m protoreflect.MethodDescriptor, in *dynamicpb.Message, send func(*dynamicpb.Message) error) error {
		called <- string(m.Name())
		return reflecttest.Answer(ctx, m, in, send)
	}, reflecttest.Options{})
	e := newEdge(t, s.Addr, reflect.Options{})
	if a := e.call("wipe", `{"id":"x"}`); !a.result.GetIsError() || !strings.Contains(a.text(), "must confirm") || len(called) > 0 {
		t.Errorf("without the user's answer: %v", a)
	}
	_, confirmed := e.adapter.Confirmation("wipe")
	stream, err := e.tools.CallTool(confirmed(t.Context()), &pb.CallToolRequest{Name: "wipe", ArgumentsJson: `{"id":"x"}`})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Recv(); err != nil || m.GetResult().GetStructuredContentJson() != `{"id":"x"}` || len(called) != 1 {
		t.Errorf("confirmed: %v, %v", m, err)
	}
	for tool, want := range map[string]string{"wipe": "Really wipe it out?", "kind_walk": "", "nix": ""} {
		if message, confirmed := e.adapter.Confirmation(tool); message != want || (confirmed != nil) != (want != "") {
			t.Errorf("%s: %q, %t", tool, message, confirmed != nil)
		}
	}
}

// Metadata and deadline reach the service, and so does the end of a call.
func TestContextPassesThrough(t *testing.T) {
	seen := make(chan metadata.MD, 1)
	timeouts := make(chan time.Duration, 1)
	ended := make(chan error, 1)
	s := reflecttest.Serve(t, kinds, func(ctx context.Context, _ protoreflect.MethodDescriptor, _ *dynamicpb.Message, _ func(*dynamicpb.Message) error) error {
		md, _ := metadata.FromIncomingContext(ctx)
		deadline, _ := ctx.Deadline()
		seen <- md
		timeouts <- time.Until(deadline)
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}, reflecttest.Options{})
	e := newEdge(t, s.Addr, reflect.Options{})
	for _, tool := range []string{"kind_echo", "kind_count"} {
		const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "traceparent", trace, "mcp-method", "tools/call"), time.Minute)
		done := make(chan *answer, 1)
		go func() { done <- e.callBy(ctx, tool, `{}`) }()
		md := <-seen
		if got := md.Get("traceparent"); len(got) != 1 || got[0] != trace || len(md.Get("mcp-method")) != 1 || len(md.Get("user-agent")) != 1 {
			t.Errorf("%s: metadata %v", tool, md)
		}
		if left := <-timeouts; left <= 0 || left > time.Minute {
			t.Errorf("%s: %s are left", tool, left)
		}
		cancel()
		<-ended
		if a := <-done; status.Code(a.err) != codes.Canceled {
			t.Errorf("%s: %v", tool, a.err)
		}
		ctx, pass := await.Deadline(t.Context())
		go func() { done <- e.callBy(ctx, tool, `{}`) }()
		await.Receive(t, "the call", seen)
		<-timeouts
		pass()
		<-ended
		if a := <-done; status.Code(a.err) != codes.DeadlineExceeded {
			t.Errorf("%s: beyond the deadline: %v", tool, a.err)
		}
	}
}

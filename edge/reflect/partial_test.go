package reflect_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// A field that JSON cannot say is left out and named; the rest of the answer is there, and fits the output schema.
func TestAnswersLackWhatJSONCannotSay(t *testing.T) {
	bad := func(m proto.Message) []byte {
		raw, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	yearZero := &timestamppb.Timestamp{Seconds: -62135596801}
	fields := map[protoreflect.Name][]byte{
		"timestamp": bad(yearZero), "value": bad(&structpb.Value{}), "any": bad(&anypb.Any{TypeUrl: "type.googleapis.com/not.Known", Value: []byte{1}}),
		"mask": bad(&fieldmaskpb.FieldMask{Paths: []string{"*"}}), "struct": bad(&structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewNumberValue(math.NaN())}}),
	}
	s := reflecttest.Serve(t, kinds, func(_ context.Context, method protoreflect.MethodDescriptor, in *dynamicpb.Message, send func(*dynamicpb.Message) error) error {
		if method.Name() == "Stamp" {
			return reflecttest.Answer(t.Context(), method, in, send)
		}
		out := proto.Clone(in).(*dynamicpb.Message)
		all := out.Descriptor().Fields()
		put := func(m protoreflect.Message, raw []byte) protoreflect.Value {
			if err := proto.Unmarshal(raw, m.Interface()); err != nil {
				t.Error(err)
			}
			return protoreflect.ValueOfMessage(m)
		}
		for name, raw := range fields {
			fd := all.ByName(name)
			out.Set(fd, put(out.NewField(fd).Message(), raw))
		}
		values, times := all.ByName("values"), all.ByName("times")
		out.Mutable(values).List().Append(protoreflect.ValueOfMessage(put(out.Mutable(values).List().NewElement().Message(), nil).Message()))
		out.Mutable(times).Map().Set(protoreflect.ValueOfString("never").MapKey(), put(out.Mutable(times).Map().NewValue().Message(), bad(yearZero)))
		return send(out)
	}, reflecttest.Options{})
	e := newEdge(t, s.Addr, reflect.Options{})
	a := e.call("kind_every", `{"values":["a"],"times":{"now":"2024-01-02T03:04:05Z"},"stringValue":"x"}`)
	if a.err != nil || a.result.GetIsError() {
		t.Fatalf("%v: %s", a.err, a.text())
	}
	got := a.result.GetStructuredContentJson()
	if err := fits(t, e.list()["kind_every"].GetOutputSchemaJson(), got); err != nil {
		t.Errorf("%s: %v", got, err)
	}
	for _, want := range []string{`"values":["a"]`, `"times":{"now":"2024-01-02T03:04:05Z"}`, `"stringValue":"x"`} {
		if !strings.Contains(got, want) || !strings.Contains(a.text(), want) {
			t.Errorf("no %s in %s, or in %s", want, got, a.text())
		}
	}
	for _, name := range []string{"timestamp: ", "value: ", "any: ", "mask: ", "struct: ", "values[1]: ", `times["never"]: `} {
		if !strings.Contains(a.text(), name) {
			t.Errorf("%q is not named: %s", name, a.text())
		}
	}
}

// breaking answers with messages and then ends as a test says.
func breaking(n int, end func(ctx context.Context) error) reflecttest.Handler {
	return func(ctx context.Context, method protoreflect.MethodDescriptor, _ *dynamicpb.Message, send func(*dynamicpb.Message) error) error {
		for range n {
			out := dynamicpb.NewMessage(method.Output())
			if err := protojson.Unmarshal([]byte(`{"number":7,"text":"came"}`), out); err != nil {
				return err
			}
			if err := send(out); err != nil {
				return err
			}
		}
		return end(ctx)
	}
}

// A stream that fails or hangs after messages is an error that has them; one that does so before is what it was.
func TestStreamsThatBreak(t *testing.T) {
	fails := func(context.Context) error { return status.Error(codes.Unavailable, "gone away") }
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, c := range map[string]struct {
		messages int
		end      func(context.Context) error
		want     []string
		code     codes.Code
	}{
		"fails after three": {3, fails, []string{"UNAVAILABLE: gone away", "3 messages came before that", `{"number":7,"text":"came"}`}, codes.OK},
		"hangs after two":   {2, hangs, []string{"did not end in time", "2 messages came before that", `{"number":7,"text":"came"}`}, codes.OK},
		"fails at once":     {0, fails, nil, codes.Unavailable},
		"hangs at once":     {0, hangs, nil, codes.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := reflecttest.Serve(t, kinds, breaking(c.messages, c.end), reflecttest.Options{})
			e := newEdge(t, s.Addr, reflect.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
			defer cancel()
			stream, err := e.tools.CallTool(ctx, &pb.CallToolRequest{Name: "kind_count", ArgumentsJson: "{}"})
			if err != nil {
				t.Fatal(err)
			}
			m, err := stream.Recv()
			if c.code != codes.OK {
				if status.Code(err) != c.code {
					t.Errorf("%v, %v", m, err)
				}
				return
			}
			a := &answer{result: m.GetResult()}
			if err != nil || !a.result.GetIsError() || a.result.GetStructuredContentJson() != "" {
				t.Fatalf("%v, %v", m, err)
			}
			for _, want := range c.want {
				if !strings.Contains(a.text(), want) {
					t.Errorf("no %q in %s", want, a.text())
				}
			}
		})
	}
}

// A connection that breaks in a call keeps its status, which differs from that of a connection that could not be made; RetryInfo is passed on.
func TestConnectionsThatBreak(t *testing.T) {
	var s *reflecttest.Server
	s = reflecttest.Serve(t, kinds, func(ctx context.Context, _ protoreflect.MethodDescriptor, _ *dynamicpb.Message, _ func(*dynamicpb.Message) error) error {
		go s.GRPC.Stop()
		<-ctx.Done()
		return ctx.Err()
	}, reflecttest.Options{})
	if a := newEdge(t, s.Addr, reflect.Options{}).call("kind_echo", `{}`); !translate.Unanswered(a.err) {
		t.Errorf("%v: %v", a.err, a.result)
	}
	later, err := status.New(codes.Unavailable, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(3 * time.Second)}, &errdetails.DebugInfo{Detail: "line 7"})
	if err != nil {
		t.Fatal(err)
	}
	s = reflecttest.Serve(t, kinds, breaking(0, func(context.Context) error { return later.Err() }), reflecttest.Options{})
	a := newEdge(t, s.Addr, reflect.Options{}).call("kind_echo", `{}`)
	if e := translate.Status(a.err, "b", 0); e.RetryAfter != 3*time.Second || len(status.Convert(a.err).Details()) != 1 {
		t.Errorf("%v, %v", e, a.err)
	}
}

// An answer that is too large to be received is an error for good, with the setting that bounds it.
func TestAnswersTooLarge(t *testing.T) {
	const most = 4 << 20 // gRPC's own default, as the harness dials
	s := reflecttest.Serve(t, kinds, func(_ context.Context, method protoreflect.MethodDescriptor, _ *dynamicpb.Message, send func(*dynamicpb.Message) error) error {
		out := dynamicpb.NewMessage(method.Output())
		out.Set(method.Output().Fields().ByName("string_field"), protoreflect.ValueOfString(strings.Repeat("x", most)))
		return send(out)
	}, reflecttest.Options{})
	a := newEdge(t, s.Addr, reflect.Options{MaxBytes: most}).call("kind_echo", `{}`)
	if a.err != nil || !a.result.GetIsError() || !strings.Contains(a.text(), "max-message") || strings.Contains(a.text(), "RESOURCE_EXHAUSTED") {
		t.Errorf("%v: %s", a.err, a.text())
	}
}

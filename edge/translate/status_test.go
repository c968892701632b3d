package translate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestStatus(t *testing.T) {
	isShown := map[codes.Code]bool{
		codes.InvalidArgument: true, codes.NotFound: true, codes.AlreadyExists: true, codes.PermissionDenied: true,
		codes.ResourceExhausted: true, codes.FailedPrecondition: true, codes.Aborted: true, codes.OutOfRange: true,
	}
	kinds := map[codes.Code]mcp.Kind{
		codes.Canceled: mcp.KindCancelled, codes.InvalidArgument: mcp.KindInvalidParams, codes.DeadlineExceeded: mcp.KindTimeout,
		codes.NotFound: mcp.KindResourceNotFound, codes.PermissionDenied: mcp.KindForbidden, codes.ResourceExhausted: mcp.KindQuota,
		codes.FailedPrecondition: mcp.KindInvalidParams, codes.OutOfRange: mcp.KindInvalidParams, codes.Unavailable: mcp.KindUnavailable,
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		t.Run(code.String(), func(t *testing.T) {
			cause := fmt.Errorf("calling: %w", status.Error(code, "10.0.0.1 said no"))
			e := Status(cause, "b", 16)
			want, ok := kinds[code]
			if !ok {
				want = mcp.KindInternal
			}
			if e.Kind != want {
				t.Errorf("kind %d, want %d", e.Kind, want)
			}
			if shown := strings.Contains(e.Message, "10.0.0.1"); shown != isShown[code] {
				t.Errorf("message %q, shown %t, want %t", e.Message, shown, isShown[code])
			}
			if want := `{"backend":"b","status":"` + outcomes[code].name + `"}`; string(e.Data) != want {
				t.Errorf("data %s, want %s", e.Data, want)
			}
			if !errors.Is(e, cause) {
				t.Error("the cause is lost")
			}
		})
	}
}

// A message that gRPC refuses to receive is reported with the setting that bounds it, one that it
// refuses to send with gRPC's text. Neither counts as a quota, because the same call fails again. A
// backend's own message about sizes is passed on.
func TestStatusOfLargeMessages(t *testing.T) {
	for said, want := range map[string]struct {
		message string
		kind    mcp.Kind
	}{
		"grpc: received message larger than max (17 vs. 16)":  {"the backend sent a message of 17 bytes, above the 16 of its max-message: send less, or raise max-message", mcp.KindInternal},
		"trying to send message larger than max (17 vs. 4)":   {"the backend's answer is larger than the backend may send: trying to send message larger than max (17 vs. 4)", mcp.KindInternal},
		"SERVER: Sent message larger than max (17 vs. 4)":     {"the backend's answer is larger than the backend may send: SERVER: Sent message larger than max (17 vs. 4)", mcp.KindInternal},
		"Attempted to send message with a size larger than 4": {"the backend's answer is larger than the backend may send: Attempted to send message with a size larger than 4", mcp.KindInternal},
		// the service's own bound
		"grpc: received message larger than max (17 vs. 4)": {"grpc: received message larger than max (17 vs. 4)", mcp.KindQuota},
		"too many lines: 17 vs. 16":                         {"too many lines: 17 vs. 16", mcp.KindQuota},
	} {
		if e := Status(status.Error(codes.ResourceExhausted, said), "b", 16); e.Message != want.message || e.Kind != want.kind {
			t.Errorf("kind %d, %q, want %d, %q", e.Kind, e.Message, want.kind, want.message)
		}
	}
}

// The retry delay of a status is passed on, in the message and as data.
func TestStatusSaysWhenToTryAgain(t *testing.T) {
	for code, words := range map[codes.Code]string{
		codes.Unavailable: "the backend cannot be reached; try again after 1.5s", codes.ResourceExhausted: "said no; try again after 1.5s",
	} {
		st, err := status.New(code, "said no").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)})
		if err != nil {
			t.Fatal(err)
		}
		e := Status(st.Err(), "b", 16)
		if e.Message != words || e.RetryAfter != 1500*time.Millisecond || !strings.HasSuffix(string(e.Data), `,"retryAfterMs":1500}`) {
			t.Errorf("%s, %v, %s", e.Message, e.RetryAfter, e.Data)
		}
	}
	odd, err := status.New(codes.Unavailable, "x").WithDetails(&errdetails.RetryInfo{RetryDelay: &durationpb.Duration{Seconds: 1, Nanos: -1}})
	if err != nil {
		t.Fatal(err)
	}
	if e := Status(odd.Err(), "b", 16); e.RetryAfter != 0 || !strings.HasSuffix(e.Message, "try again later") {
		t.Errorf("%s, %v", e.Message, e.RetryAfter)
	}
}

// Messages of proxies for connections that broke behind them count, those for connections that they
// could not open do not.
func TestUnanswered(t *testing.T) {
	for said, want := range map[string]bool{
		`closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway: code: NO_ERROR`:      true,
		"upstream connect error or disconnect/reset before headers. reset reason: connection termination":                                 true,
		"upstream connect error or disconnect/reset before headers. reset reason: connection failure":                                     false,
		"unexpected HTTP status code received from server: 502 (Bad Gateway); malformed header: missing HTTP content-type":                true,
		"unexpected HTTP status code received from server: 503 (Service Unavailable); malformed header: missing HTTP content-type":        false,
		`last connection error: connection error: desc = "transport: Error while dialing: dial tcp [::1]:1: connect: connection refused"`: false,
		"the connection is draining": false,
	} {
		if Unanswered(status.Error(codes.Unavailable, said)) != want {
			t.Errorf("%t of %s", !want, said)
		}
	}
	if Unanswered(status.Error(codes.Internal, "error reading from server: EOF")) {
		t.Error("another status")
	}
}

// A CANCELLED status with the server's own message does not count as dropped.
func TestDropped(t *testing.T) {
	for _, c := range []struct {
		code codes.Code
		said string
		want bool
	}{
		{codes.Canceled, "CANCELLED", true},
		{codes.Canceled, "stream terminated by RST_STREAM with error code: CANCEL", true},
		{codes.Canceled, "the user has closed the window", false},
		{codes.Canceled, "", false},
		{codes.Internal, "CANCELLED", false},
	} {
		if got := Dropped(status.Error(c.code, c.said)); got != c.want {
			t.Errorf("%t of %v %q", got, c.code, c.said)
		}
	}
	if Dropped(context.Canceled) {
		t.Error("the caller's own cancellation")
	}
}

func TestStatusOfOthers(t *testing.T) {
	own := mcp.Errorf(mcp.KindLimit, "full")
	for name, tt := range map[string]struct {
		err  error
		kind mcp.Kind
	}{
		"own":           {fmt.Errorf("x: %w", own), mcp.KindLimit},
		"cancelled":     {fmt.Errorf("x: %w", context.Canceled), mcp.KindCancelled},
		"deadline":      {context.DeadlineExceeded, mcp.KindTimeout},
		"plain":         {errors.New("secret"), mcp.KindInternal},
		"unknown code":  {status.Error(codes.Code(77), "secret"), mcp.KindInternal},
		"no message":    {status.Error(codes.NotFound, ""), mcp.KindResourceNotFound},
		"nothing wrong": {nil, mcp.KindInternal},
	} {
		t.Run(name, func(t *testing.T) {
			e := Status(tt.err, "b", 16)
			if e.Kind != tt.kind || e.Message == "" || e.Message == "secret" {
				t.Errorf("got kind %d, %q", e.Kind, e.Message)
			}
		})
	}
}

func TestFailure(t *testing.T) {
	for reason, kind := range map[pb.FailureReason]mcp.Kind{
		pb.FailureReason_FAILURE_REASON_UNSPECIFIED: mcp.KindInternal, pb.FailureReason_FAILURE_REASON_INVALID_ARGUMENT: mcp.KindInvalidParams,
		pb.FailureReason_FAILURE_REASON_NOT_FOUND: mcp.KindResourceNotFound, pb.FailureReason_FAILURE_REASON_FAILED_PRECONDITION: mcp.KindInvalidParams,
		pb.FailureReason_FAILURE_REASON_PERMISSION_DENIED: mcp.KindForbidden, pb.FailureReason_FAILURE_REASON_RESOURCE_EXHAUSTED: mcp.KindQuota,
		pb.FailureReason_FAILURE_REASON_UNAVAILABLE: mcp.KindUnavailable, pb.FailureReason_FAILURE_REASON_DEADLINE_EXCEEDED: mcp.KindTimeout,
		pb.FailureReason_FAILURE_REASON_INTERNAL: mcp.KindInternal, pb.FailureReason(99): mcp.KindInternal,
	} {
		e := Failure(&pb.Failure{Reason: reason, Message: "why"}, "b")
		if e.Kind != kind || e.Message != "why" || len(e.Data) == 0 {
			t.Errorf("%v gives kind %d, %q, %s", reason, e.Kind, e.Message, e.Data)
		}
		if e := Failure(&pb.Failure{Reason: reason}, "b"); e.Message == "" {
			t.Errorf("%v without a message gives none", reason)
		}
	}
	if e := Failure(&pb.Failure{DataJson: "{\"n\":\n1.0}"}, "b"); string(e.Data) != `{"n":1.0}` {
		t.Errorf("got data %s", e.Data)
	}
	refused(t, Failure(&pb.Failure{DataJson: `{`}, "b"), mcp.KindContract, "failure.data_json: no valid JSON")
}

// A denial can ask for scopes that a challenge can contain. Other failures cannot.
func TestFailureForScopes(t *testing.T) {
	denied := pb.FailureReason_FAILURE_REASON_PERMISSION_DENIED
	e := Failure(&pb.Failure{Reason: denied, Message: "why", Scopes: []string{"orders:write", "b"}}, "b")
	if e.Kind != mcp.KindForbidden || e.Message != "why" || string(e.Data) != `{"scopes":["orders:write","b"]}` ||
		e.Challenge == nil || !slices.Equal(e.Challenge.Scopes, []string{"orders:write", "b"}) {
		t.Errorf("%+v", e)
	}
	if e := Failure(&pb.Failure{Reason: denied, DataJson: "7", Scopes: []string{"b"}}, "b"); string(e.Data) != "7" || e.Challenge == nil {
		t.Errorf("%+v", e)
	}
	if e := Failure(&pb.Failure{Reason: pb.FailureReason_FAILURE_REASON_INTERNAL, Scopes: []string{"b"}}, "b"); e.Challenge != nil {
		t.Errorf("%+v", e)
	}
	for _, x := range []struct {
		scopes []string
		want   string
	}{
		{[]string{"a", ""}, `failure.scopes[1] "" is not a scope`},
		{[]string{"a b"}, `failure.scopes[0] "a b" is not a scope`},
		{[]string{"a\r\nX-Y: z"}, "is not a scope"},
		{[]string{`a"`}, "is not a scope"},
		{[]string{"offline_access"}, "is between a client and its issuer"},
		{[]string{strings.Repeat("x", 257)}, "failure.scopes[0] has 257 bytes; at most 256 are allowed"},
		{make([]string, 33), "failure.scopes has 33 scopes; at most 32"},
	} {
		refused(t, Failure(&pb.Failure{Reason: denied, Scopes: x.scopes}, "b"), mcp.KindContract, x.want)
	}
}

func TestForMethod(t *testing.T) {
	missing := Status(status.Error(codes.NotFound, "no x"), "b", 16)
	for m, kind := range map[mcp.Method]mcp.Kind{
		mcp.MethodToolsCall: mcp.KindUnknownTool, mcp.MethodPromptsGet: mcp.KindUnknownPrompt,
		mcp.MethodResourcesRead: mcp.KindResourceNotFound, mcp.MethodSubscribe: mcp.KindResourceNotFound,
		mcp.MethodComplete: mcp.KindInvalidParams,
	} {
		e := ForMethod(missing, m, "a:b")
		if e.Kind != kind || e.Message != "no x" {
			t.Errorf("%s gives kind %d, %q", m, e.Kind, e.Message)
		}
		if kind == mcp.KindResourceNotFound && string(e.Data) != `{"uri":"a:b"}` {
			t.Errorf("%s gives data %s", m, e.Data)
		}
	}
	if missing.Kind != mcp.KindResourceNotFound || string(missing.Data) != `{"backend":"b","status":"NOT_FOUND"}` {
		t.Errorf("the error was changed to %+v", missing)
	}
	for _, e := range []*mcp.Error{mcp.Errorf(mcp.KindResourceNotFound, "x"), Status(status.Error(codes.Internal, ""), "b", 16)} {
		if ForMethod(e, mcp.MethodToolsCall, "t") != e {
			t.Errorf("%+v was refined", e)
		}
	}
}

func TestToolError(t *testing.T) {
	const result = `{"content":[{"type":"text","text":"a \"b\""}],"isError":true`
	for name, tt := range map[string]struct {
		e    *mcp.Error
		want byRevision
	}{
		"argument":     {Status(status.Error(codes.InvalidArgument, `a "b"`), "b", 16), byRevision{0: result + `}`, 4: result + tail + `}`}},
		"precondition": {Failure(&pb.Failure{Reason: pb.FailureReason_FAILURE_REASON_FAILED_PRECONDITION, Message: `a "b"`}, "b"), byRevision{0: result + `}`, 4: result + tail + `}`}},
		"range":        {Status(status.Error(codes.OutOfRange, `a "b"`), "b", 16), byRevision{0: result + `}`, 4: result + tail + `}`}},
		"capability":   {mcp.Errorf(mcp.KindMissingCapability, `a "b"`), byRevision{0: result + `}`, 4: "none"}},
		"our own":      {mcp.Errorf(mcp.KindInvalidParams, "x"), byRevision{"none"}},
		"unavailable":  {Status(status.Error(codes.Unavailable, "x"), "b", 16), byRevision{"none"}},
		"unknown tool": {ForMethod(Status(status.Error(codes.NotFound, "x"), "b", 16), mcp.MethodToolsCall, "t"), byRevision{"none"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.want.each(t, func(t *testing.T, r *revision.Rules, want string) {
				got, ok := ToolError(r, server, tt.e)
				if want == "none" {
					if ok || got != nil {
						t.Errorf("got %s", got)
					}
					return
				}
				same(t, r, "CallToolResult", got, want)
			})
		})
	}
}

func TestSchemaError(t *testing.T) {
	const text = `the arguments do not fit the tool's input schema: /a: missing`
	for _, r := range revision.All() {
		result, e := SchemaError(r, server, "/a: missing")
		if r.ArgumentErrorsAreResults {
			want := `{"content":[{"type":"text","text":"` + text + `"}],"isError":true`
			if r.ResultType {
				want += tail
			}
			if e != nil {
				t.Errorf("%s: error %v too", r.Version, e)
			}
			same(t, r, "CallToolResult", result, want+`}`)
			continue
		}
		refused(t, e, mcp.KindInvalidParams, text)
		if result != nil {
			t.Errorf("%s: result %s too", r.Version, result)
		}
	}
}

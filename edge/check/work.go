package check

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/check/vet"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Bounds of an InputRequired.
const (
	maxRequests   = 16
	maxKeyBytes   = 128
	maxStateBytes = 64 << 10
	maxRetryAfter = time.Hour
)

// workMessage is the common part of the messages that CallTool, ReadResource and GetPrompt stream.
type workMessage interface {
	GetProgress() *pb.Progress
	GetLog() *pb.LogMessage
	GetInputRequired() *pb.InputRequired
	GetFailure() *pb.Failure
}

// outcome is the result of a round of work. At most one member is set. If none is, the round broke
// the contract.
type outcome[R any] struct {
	result   *R
	required *pb.InputRequired
	failure  *pb.Failure
	err      error // a status
	events   int
}

// drain reads a round of work to its end: events, then exactly one outcome, then the end of the
// stream.
func drain[M workMessage, R any](ctx context.Context, f *findings, what string, recv func() (M, error), result func(M) *R) outcome[R] {
	var o outcome[R]
	highest, ended := math.Inf(-1), false
	for {
		m, err := recv()
		switch {
		case errors.Is(err, io.EOF):
			if !ended {
				f.violation("%s: the stream ends without an outcome: send a result, input_required or failure last", what)
			}
			return o
		case err != nil && ended:
			f.violation("%s: %s comes after the outcome: end the stream with OK", what, statusText(err))
			return o
		case err != nil:
			o.err = err
			f.status(ctx, what, err)
			return o
		case ended:
			f.violation("%s: a message comes after the outcome, which must be the last", what)
			return o
		}
		switch p, l := m.GetProgress(), m.GetLog(); {
		case p != nil:
			o.events++
			if math.IsNaN(p.Progress) || p.Progress <= highest {
				f.violation("%s: progress is %v after %v: it must rise with every message", what, p.Progress, highest)
			}
			highest = max(highest, p.Progress)
		case l != nil:
			o.events++
			f.log(what, l)
		default:
			o.result, o.required, o.failure = result(m), m.GetInputRequired(), m.GetFailure()
			ended = true
			if o.result == nil && o.required == nil && o.failure == nil {
				f.violation("%s: a message with nothing in it: set one of its fields", what)
			}
			f.required(what, o.required)
			f.failure(what, o.failure)
		}
	}
}

// expiring is the time before a deadline in which a service may already consider it passed.
const expiring = 100 * time.Millisecond

// status reports a status that ended work. ctx has the deadline of the round.
func (f *findings) status(ctx context.Context, what string, err error) {
	switch status.Code(err) {
	case codes.Unknown:
		f.violation("%s: %s is what an unhandled exception becomes: say what was wrong, by a Failure or another code", what, statusText(err))
	case codes.DeadlineExceeded:
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) > expiring {
			f.note("%s: %s is not the deadline of this call: say what took too long by another code, or a Failure", what, statusText(err))
			return
		}
		f.slow(what)
	case codes.Unimplemented:
		f.violation("%s: UNIMPLEMENTED, although its list is served", what)
	}
}

// slow reports work that ended at its deadline, and how to allow more time.
func (f *findings) slow(what string) {
	if f.backend < f.work {
		f.note("%s: no outcome within %v, the timeout of this backend: a call that takes longer needs a longer backends[].timeout", what, f.backend)
		return
	}
	f.note("%s: no outcome within %v: give it more time, as with --timeout=%v", what, f.work, max(6*f.work, time.Minute))
}

func (f *findings) log(what string, l *pb.LogMessage) {
	if l.GetLevel() == pb.LogLevel_LOG_LEVEL_UNSPECIFIED {
		f.violation("%s: a log message without a level", what)
	}
	if !json.Valid([]byte(l.GetDataJson())) {
		f.violation("%s: a log message whose data_json is not JSON: %.40q", what, l.GetDataJson())
	}
}

func (f *findings) failure(what string, failure *pb.Failure) {
	if failure == nil {
		return
	}
	if failure.GetReason() == pb.FailureReason_FAILURE_REASON_UNSPECIFIED {
		f.violation("%s: a failure without a reason", what)
	}
	if failure.GetMessage() == "" {
		f.note("%s: a failure without a message: say what was wrong, with which value, and what to do", what)
	}
	if failure.GetDataJson() != "" && !json.Valid([]byte(failure.GetDataJson())) {
		f.violation("%s: a failure whose data_json is not JSON: %.40q", what, failure.GetDataJson())
	}
}

// required checks the questions that ended a round.
func (f *findings) required(what string, r *pb.InputRequired) {
	if r == nil {
		return
	}
	if len(r.Requests) == 0 && len(r.State) == 0 {
		f.violation("%s: input_required has neither requests nor state: set one", what)
	}
	if len(r.Requests) > maxRequests {
		f.violation("%s: input_required has %d requests: at most %d", what, len(r.Requests), maxRequests)
	}
	if len(r.State) > maxStateBytes {
		f.violation("%s: input_required has %d bytes of state: at most %d", what, len(r.State), maxStateBytes)
	}
	if wait := r.GetRetryAfter(); wait != nil && (wait.AsDuration() < 0 || wait.AsDuration() > maxRetryAfter) {
		f.violation("%s: input_required has retry_after %v: 0 to %v", what, wait.AsDuration(), maxRetryAfter)
	}
	seen := map[string]bool{}
	for _, q := range r.Requests {
		switch {
		case q.GetKey() == "" || len(q.GetKey()) > maxKeyBytes:
			f.violation("%s: a request has the key %.40q: it must have 1 to %d bytes", what, q.GetKey(), maxKeyBytes)
		case strings.HasPrefix(q.GetKey(), mcp.OwnKeys):
			f.violation("%s: a request has the key %.40q, which begins with %q: such keys are the edge's own",
				what, q.GetKey(), mcp.OwnKeys)
		case seen[q.GetKey()]:
			f.violation("%s: two requests have the key %.40q: it names the answer, so it must be unique", what, q.GetKey())
		case q.GetRequest() == nil:
			f.violation("%s: the request %.40q asks nothing: set one of its fields", what, q.GetKey())
		}
		seen[q.GetKey()] = true
		if form := q.GetElicitForm(); form != nil {
			root, err := vet.Object("requested_schema_json", form.GetRequestedSchemaJson())
			if err != nil {
				f.violation("%s: the form %.40q: %v", what, q.GetKey(), err)
			} else if string(root["type"]) != `"object"` {
				f.violation("%s: the form %.40q: requested_schema_json has type %.40q at its root: it must be \"object\"", what, q.GetKey(), root["type"])
			}
		}
	}
}

// checkUnknown checks work on an unknown object.
func checkUnknown[R any](f *findings, what string, o outcome[R]) (ok string) {
	reason := o.failure.GetReason()
	switch {
	case reason == pb.FailureReason_FAILURE_REASON_NOT_FOUND || status.Code(o.err) == codes.NotFound:
		return what + ": NOT_FOUND"
	case o.result != nil || o.required != nil:
		f.violation("%s: answered as if it were there: it must be a Failure NOT_FOUND", what)
	case status.Code(o.err) == codes.DeadlineExceeded:
		f.violation("%s: no outcome before the deadline: it must be a Failure NOT_FOUND", what)
	case o.err != nil && crashed(o.err):
		if status.Code(o.err) == codes.Internal { // UNKNOWN is reported already
			f.violation("%s: %s: it must be a Failure NOT_FOUND", what, statusText(o.err))
		}
	case o.failure != nil && reason == pb.FailureReason_FAILURE_REASON_INTERNAL:
		f.violation("%s: a Failure INTERNAL: it must be NOT_FOUND", what)
	case o.failure != nil:
		f.note("%s: a Failure of reason %v; NOT_FOUND would be clearer to clients", what, reason)
	case o.err != nil && status.Code(o.err) != codes.Unimplemented:
		f.note("%s: %s; NOT_FOUND would be clearer to clients", what, statusText(o.err))
	}
	return ""
}

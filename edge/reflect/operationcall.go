package reflect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

const (
	// firstPoll is the pause before the first query of an operation; it grows by half each time, up
	// to lastPoll.
	firstPoll, lastPoll = 500 * time.Millisecond, 5 * time.Second
	// maxPollFailures is the number of consecutive queries of an operation that may fail.
	maxPollFailures = 10
	// cancelUnderway is the time for which a cancelled round waits for an operation's name.
	cancelUnderway = 250 * time.Millisecond
	// cancelTimeout bounds the cancellation of an operation after its caller has left.
	cancelTimeout = 5 * time.Second
	// leaveTimeout is the part of a call's time that is reserved for the cancellation of its
	// operation.
	leaveTimeout = 250 * time.Millisecond
	// maxStatus bounds an operation's metadata in a progress message, in bytes.
	maxStatus = 1 << 10
)

// retriedCodes are the codes after which the query of an operation is retried.
var retriedCodes = []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted}

// followed is the state that a round passes to the next one about its operation.
type followed struct {
	// Method started the operation: "package.Service/Method".
	Method    string `json:"method"`
	Operation string `json:"operation"`
	// Polls is the number of queries, Failures the number of failed ones since the last success.
	Polls    int `json:"polls,omitempty"`
	Failures int `json:"failures,omitempty"`
	// Said is a digest of the metadata that was last sent as progress.
	Said uint64 `json:"said,omitempty"`
}

// followedMark is the prefix of such a state.
var followedMark = []byte("operation:")

// readFollowed decodes a round's state. It returns nil if the state is not about an operation of
// the method.
func readFollowed(state []byte, m *method) *followed {
	raw, ok := bytes.CutPrefix(state, followedMark)
	f := &followed{}
	if !ok || json.Unmarshal(raw, f) != nil || f.Method != m.full || f.Operation == "" {
		return nil
	}
	return f
}

func (f *followed) state() ([]byte, error) {
	raw, err := json.Marshal(f)
	return append(bytes.Clone(followedMark), raw...), err
}

// pause returns the pause before the next query.
func (f *followed) pause() time.Duration {
	d := firstPoll
	for range min(f.Polls, 10) {
		d = min(d+d/2, lastPoll)
	}
	return d
}

// operate calls a method that starts an operation, and follows the operation.
func (c *call) operate(ctx context.Context, in *dynamicpb.Message) error {
	var came answer
	if err := c.begin(ctx, in, &came); err != nil {
		return &upstreamError{err}
	}
	op, err := c.operation(c.method.desc.Output(), came)
	if err != nil {
		return c.operationUnreadable(ctx, &followed{Operation: op.name}, err)
	}
	if !op.done && op.name == "" {
		return c.refuse(c.method.full + " returned an operation without a name, which cannot be queried")
	}
	err = c.track(ctx, &followed{Method: c.method.full, Operation: op.name}, op)
	// A round that starts an operation is not retried, unless the method is idempotent: the
	// operation would be lost.
	if op.done || !c.asTask() || c.method.repeatable() {
		return err
	}
	underway := time.NewTimer(cancelUnderway)
	defer underway.Stop()
	select {
	case <-ctx.Done():
		_ = c.abandon(ctx, op.name, cancelTimeout)
	case <-underway.C:
	}
	return err
}

// asTask reports whether the call is a task, or may become one.
func (c *call) asTask() bool { return c.req.GetContext().GetTask() != nil }

// begin calls a method that starts an operation. After the cancellation of ctx it waits a short
// time for the operation's name, which is needed to cancel the operation.
func (c *call) begin(ctx context.Context, in *dynamicpb.Message, out *answer) error {
	begun, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if due, ok := ctx.Deadline(); ok {
		begun, cancel = context.WithDeadline(begun, due)
		defer cancel()
	}
	defer context.AfterFunc(c.a.ctx, cancel)()
	defer context.AfterFunc(ctx, func() {
		late := time.AfterFunc(cancelTimeout, cancel)
		context.AfterFunc(begun, func() { late.Stop() })
	})()
	return c.a.calls.Invoke(begun, "/"+c.method.full, in, out, grpc.ForceCodecV2(c.model.codec))
}

// operation decodes an operation. With an error it returns the fields that it could decode.
func (c *call) operation(md protoreflect.MessageDescriptor, a answer) (*operation, error) {
	m, err := c.read(md, a)
	if err != nil {
		return &operation{name: string(a.text(md.Fields().ByName("name")))}, err
	}
	return readOperation(m)
}

// track follows an operation. If the call cannot become a task, the client waits, and track returns
// after the operation. Otherwise track ends the round, and the next round queries the operation.
func (c *call) track(ctx context.Context, f *followed, op *operation) error {
	following, end := beforeDeadline(ctx)
	defer end()
	for {
		if op != nil {
			if err := c.reportMetadata(f, op); err != nil {
				return err
			}
			if op.done {
				return c.conclude(op)
			}
		}
		if c.asTask() {
			return c.askAgain(f)
		}
		timer := time.NewTimer(f.pause())
		select {
		case <-timer.C:
		case <-following.Done():
			timer.Stop()
			return c.leave(ctx, f)
		}
		var err error
		switch op, err = c.poll(following, f); {
		case err != nil && following.Err() != nil:
			return c.leave(ctx, f)
		case err != nil:
			return c.operationUnreadable(ctx, f, err)
		}
	}
}

// leave ends a call whose operation has not finished in time, or whose caller has left. It cancels
// the operation.
func (c *call) leave(ctx context.Context, f *followed) error {
	if err := ctx.Err(); err != nil {
		_ = c.abandon(ctx, f.Operation, cancelTimeout)
		return status.FromContextError(err).Err()
	}
	became := "Its cancellation was requested; it may go on"
	if err := c.abandon(ctx, f.Operation, leaveTimeout); err != nil {
		became = "It could not be cancelled: " + c.reason(status.Convert(err)) + ". It may go on"
	}
	return c.refuse(fmt.Sprintf("%s was begun as the operation %s, which has not ended within the time of a call. %s, or have ended: check before you call it again.",
		c.method.full, f.Operation, became))
}

// operationUnreadable ends the call of an operation whose state cannot be read. The operation may still be
// running; the error contains its name.
func (c *call) operationUnreadable(ctx context.Context, f *followed, err error) error {
	if ctx.Err() != nil {
		return err
	}
	why := err.Error()
	var failed *upstreamError
	if errors.As(err, &failed) {
		if status.Code(failed.err) == codes.Unimplemented { // the service may have been redeployed without the method
			c.a.relearn()
		}
		why = c.reason(status.Convert(failed.err))
	}
	return c.refuse(fmt.Sprintf("%s was begun as the operation %s, state unknown, since it cannot be read: %s\nIt may go on, or have ended: check before you call it again.",
		c.method.full, f.Operation, why))
}

// resume runs a round that queries an operation.
func (c *call) resume(ctx context.Context, f *followed) error {
	op, err := c.poll(ctx, f)
	if err != nil {
		return c.operationUnreadable(ctx, f, err)
	}
	return c.track(ctx, f, op)
}

// poll queries the operation. It returns nil if the query failed and may be retried.
func (c *call) poll(ctx context.Context, f *followed) (*operation, error) {
	f.Polls++
	get := c.model.operations.get
	var came answer
	switch err := c.a.calls.Invoke(ctx, methodPath(get), nameRequest(get, f.Operation), &came, grpc.ForceCodecV2(c.model.codec)); {
	case err != nil && ctx.Err() == nil && f.Failures < maxPollFailures && slices.Contains(retriedCodes, status.Code(err)):
		f.Failures++
		return nil, nil
	case err != nil:
		return nil, &upstreamError{err}
	}
	f.Failures = 0
	op, err := c.operation(get.Output(), came)
	if err != nil {
		return nil, err
	}
	return op, nil
}

// askAgain ends the round. The next one, on any replica, queries the operation.
func (c *call) askAgain(f *followed) error {
	state, err := f.state()
	if err != nil {
		return err
	}
	return c.events.send(&pb.CallToolResponse{Message: &pb.CallToolResponse_InputRequired{InputRequired: &pb.InputRequired{
		State: state, RetryAfter: durationpb.New(f.pause()), Repeatable: true,
	}}})
}

// reportMetadata sends an operation's metadata as progress if it has changed. Until the task exists
// no client receives the progress, so it is sent again later.
func (c *call) reportMetadata(f *followed, op *operation) error {
	text := c.metadata(op)
	digest := fnv.New64a()
	_, _ = digest.Write(text)
	if said := digest.Sum64(); len(text) > 0 && said != f.Said {
		if task := c.req.GetContext().GetTask(); task == nil || task.GetId() != "" {
			f.Said = said
		}
		return c.progress(f.Polls+1, []byte(cut(text, maxStatus)))
	}
	return nil
}

// metadata returns the metadata of an operation as JSON. It is empty if there is none, or if its
// type is not described.
func (c *call) metadata(op *operation) []byte {
	m := c.open(op.metadata)
	if m == nil {
		return nil
	}
	text, _, err := strippedJSON(c.types(), m, false)
	var b bytes.Buffer
	if err != nil || json.Compact(&b, text) != nil || b.String() == "{}" {
		return nil
	}
	return b.Bytes()
}

// open decodes the message in an Any. It returns nil for a nil Any, and for a type that is not
// described.
func (c *call) open(a *anypb.Any) proto.Message {
	if a == nil {
		return nil
	}
	t, err := c.types().FindMessageByURL(a.GetTypeUrl())
	if err != nil {
		return nil
	}
	m := t.New().Interface()
	if (proto.UnmarshalOptions{Resolver: c.types()}).Unmarshal(a.GetValue(), m) != nil {
		return nil
	}
	return m
}

// conclude ends the call with the operation's result. A response of the type in operation_info is
// returned as that type's JSON, which the output schema describes; any other one as the JSON of an
// Any, with `@type`.
func (c *call) conclude(op *operation) error {
	if op.failure.GetCode() != int32(codes.OK) {
		return &upstreamError{status.ErrorProto(op.failure)}
	}
	want := c.method.response
	if op.response == nil {
		about := c.method.full + " has ended without a response."
		switch {
		case want == nil:
			return c.answer(&pb.CallToolResult{Content: text(about)})
		case want.FullName() == "google.protobuf.Empty": // an empty response has no type to compare
			return c.answer(&pb.CallToolResult{Content: text(about), StructuredContentJson: "{}"})
		}
		return c.refuse(fmt.Sprintf("%s Its operation_info promises a %s.", about, want.FullName()))
	}
	m := c.open(op.response)
	switch {
	case m == nil && want == nil:
		return c.answer(&pb.CallToolResult{Content: text(fmt.Sprintf("%s has ended. Its response is left out: it is a %s, which is not described or cannot be read.",
			c.method.full, op.response.GetTypeUrl()))})
	case m == nil:
		return c.refuse(fmt.Sprintf("%s has ended with a %s, which is not described or cannot be read", c.method.full, op.response.GetTypeUrl()))
	case want == nil:
		m = op.response
	case m.ProtoReflect().Descriptor().FullName() != want.FullName():
		return c.refuse(fmt.Sprintf("%s has ended with a %s, but its operation_info says %s",
			c.method.full, m.ProtoReflect().Descriptor().FullName(), want.FullName()))
	}
	out, note, err := c.render(m)
	if err != nil {
		return c.refuse(err.Error())
	}
	return c.answer(result(out, note))
}

// abandon cancels an operation whose result is not needed: its client has left, or the call's time
// is over. It returns within timeout.
func (c *call) abandon(ctx context.Context, name string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	defer context.AfterFunc(c.a.ctx, cancel)()
	err := c.a.cancelOperation(ctx, c.model.operations, name)
	if err != nil {
		c.a.log.Warn("an operation could not be cancelled after its caller had left", "tool", c.method.tool.GetName(), "error", err)
	}
	return err
}

func (a *Adapter) cancelOperation(ctx context.Context, o *operations, name string) error {
	return a.calls.Invoke(ctx, methodPath(o.cancel), nameRequest(o.cancel, name), dynamicpb.NewMessage(o.cancel.Output()))
}

// CancelCall cancels the operation of a task. It does nothing if the tool starts none.
func (a *Adapter) CancelCall(ctx context.Context, req *pb.CancelCallRequest, _ ...grpc.CallOption) (*pb.CancelCallResponse, error) {
	if err := a.served(ctx); err != nil {
		return nil, err
	}
	m, _ := a.current()
	about := m.methods[req.GetName()]
	if about == nil || !about.operates {
		return nil, status.Errorf(codes.Unimplemented, "tool %q has no operations to cancel", req.GetName())
	}
	f := readFollowed(req.GetState(), about)
	if f == nil {
		return &pb.CancelCallResponse{}, nil
	}
	switch err := a.cancelOperation(ctx, m.operations, f.Operation); status.Code(err) {
	case codes.OK, codes.NotFound, codes.FailedPrecondition: // it has ended, or was cancelled by the round that started it
		return &pb.CancelCallResponse{}, nil
	default:
		return nil, err
	}
}

// methodPath returns the path of a method in gRPC.
func methodPath(m protoreflect.MethodDescriptor) string {
	return "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
}

// nameRequest returns the request of a method about the operation with that name.
func nameRequest(m protoreflect.MethodDescriptor, name string) *dynamicpb.Message {
	in := dynamicpb.NewMessage(m.Input())
	in.Set(m.Input().Fields().ByName("name"), protoreflect.ValueOfString(name))
	return in
}

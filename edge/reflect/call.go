package reflect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/edge/reflect/schema"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// call is one round of a call.
type call struct {
	a      *Adapter
	model  *model
	method *method
	req    *pb.CallToolRequest
	events *events
	// resolver is created by types on first use.
	resolver *callTypes
	// held is the weight acquired by acquireMemory for the answer that is being decoded; 0 means none.
	held int64
}

// CallTool calls the method of a tool. Without the context of Confirmed
// it refuses a call that requires a confirmation.
func (a *Adapter) CallTool(ctx context.Context, req *pb.CallToolRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[pb.CallToolResponse], error) {
	req = proto.CloneOf(req) // the call may outlive the caller
	return open[pb.CallToolRequest, pb.CallToolResponse](ctx, a, func(e *events) error { return a.call(e, req) })
}

// call runs a round of a call.
func (a *Adapter) call(e *events, req *pb.CallToolRequest) (err error) {
	// Descriptors and messages come over the network: an unexpected one must not end the process.
	defer func() {
		if p := recover(); p != nil {
			a.log.Error("a call failed in the adapter", "tool", req.GetName(), "error", p)
			err = status.Error(codes.Internal, "the call failed in the edge")
		}
	}()
	if err := a.served(e.ctx); err != nil {
		return err
	}
	m, done := a.use()
	defer done()
	c := &call{a: a, model: m, method: m.methods[req.GetName()], req: req, events: e}
	defer c.releaseMemory()
	if c.method == nil {
		return status.Errorf(codes.NotFound, "the service has no method for tool %q", req.GetName())
	}
	in, err := c.arguments()
	if err != nil {
		return c.refuse(err.Error())
	}
	f := (*followed)(nil)
	if c.method.operates {
		f = readFollowed(req.GetState(), c.method)
	}
	if f == nil && bytes.HasPrefix(req.GetState(), followedMark) { // do not start a second operation
		return status.Errorf(codes.FailedPrecondition, "the operation behind tool %q cannot be followed any more: its method has changed", req.GetName())
	}
	if f == nil && c.unconfirmed() {
		return c.refuse("the service has changed, and the user must confirm calls of " + c.method.tool.Name + " now: call it again")
	}
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	switch {
	case f != nil:
		err = c.resume(ctx, f)
	case c.method.operates:
		err = c.operate(ctx, in)
	case c.method.desc.IsStreamingServer():
		err = c.follow(ctx, in)
	default:
		err = c.invoke(ctx, in)
	}
	var failed *upstreamError
	if errors.As(err, &failed) {
		return c.failed(failed.err)
	}
	return err
}

// upstreamError is an error of the service, as opposed to one of the event stream.
type upstreamError struct{ err error }

func (e *upstreamError) Error() string { return e.err.Error() }

// arguments decodes the arguments as the method's request message.
func (c *call) arguments() (*dynamicpb.Message, error) {
	md := c.method.desc.Input()
	text := []byte(c.req.GetArgumentsJson())
	if len(text) == 0 {
		text = []byte(`{}`)
	}
	if schema.Wrapped(md) {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			return nil, fmt.Errorf("the arguments are not a JSON object: %w", err)
		}
		value, there := members[schema.Wrapper]
		if !there || len(members) != 1 {
			return nil, fmt.Errorf("the arguments must be one member, %q: a %s in JSON", schema.Wrapper, md.FullName())
		}
		text = value
	}
	in := dynamicpb.NewMessage(md)
	if err := readMessage(c.types(), text, in); err != nil {
		return nil, fmt.Errorf("the arguments are no %s: %s", md.FullName(), plain(err))
	}
	if c.types().found { // the policy did not know this type when it inspected the arguments
		if err := sameForAll(c.types(), text, md); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// plain returns the text of an error of the protobuf library without its prefix.
func plain(err error) string {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return strings.TrimSpace(strings.TrimPrefix(text, "proto:"))
}

// envelope bounds the size of a result without its JSON.
const envelope = 1 << 10

// render encodes a message as JSON that conforms to the output schema. note lists the fields that
// are left out because JSON cannot represent them; empty means none.
func (c *call) render(m proto.Message) (_ []byte, note string, _ error) {
	text, note, err := strippedJSON(c.types(), m, true)
	if err != nil {
		return nil, "", fmt.Errorf("%s was called, but its answer has no JSON form: %s", c.method.full, plain(err))
	}
	var b bytes.Buffer
	if schema.Wrapped(m.ProtoReflect().Descriptor()) {
		text = append(append([]byte(`{"`+schema.Wrapper+`":`), text...), '}')
	}
	if err := json.Compact(&b, text); err != nil { // protojson adds random spaces
		return nil, "", err
	}
	if b.Len() > c.a.opts.MaxBytes-envelope {
		return nil, "", fmt.Errorf("%s was called, but its answer has %d bytes as JSON, more than %d (the backend's max-message): request less", c.method.full, b.Len(), c.a.opts.MaxBytes)
	}
	return b.Bytes(), note, nil
}

// invoke calls a unary method.
func (c *call) invoke(ctx context.Context, in *dynamicpb.Message) error {
	var came answer
	if err := c.a.calls.Invoke(ctx, "/"+c.method.full, in, &came, grpc.ForceCodecV2(c.model.codec)); err != nil {
		return &upstreamError{err}
	}
	out, err := c.read(c.method.desc.Output(), came)
	if err != nil {
		return c.refuse(err.Error())
	}
	text, note, err := c.render(out)
	if err != nil {
		return c.refuse(err.Error())
	}
	return c.answer(result(text, note))
}

// maxProgress bounds the text of a progress notification, in bytes.
const maxProgress = 4 << 10

func (c *call) progress(n int, text []byte) error {
	if !c.req.GetContext().GetProgressWanted() {
		return nil
	}
	return c.events.send(&pb.CallToolResponse{Message: &pb.CallToolResponse_Progress{
		Progress: &pb.Progress{Progress: float64(n), Message: cut(text, maxProgress)},
	}})
}

func (c *call) answer(res *pb.CallToolResult) error {
	return c.events.send(&pb.CallToolResponse{Message: &pb.CallToolResponse_Result{Result: res}})
}

// refuse ends the call with an error that is shown to the model.
func (c *call) refuse(why string) error {
	return c.answer(&pb.CallToolResult{IsError: true, Content: text(why)})
}

func text(s string) []*pb.ContentBlock {
	return []*pb.ContentBlock{{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: strings.ToValidUTF8(s, "\uFFFD")}}}}
}

// cut shortens a text to at most most bytes.
func cut(b []byte, most int) string {
	if len(b) <= most {
		return string(b)
	}
	for most > 0 && !utf8.RuneStart(b[most]) {
		most--
	}
	return string(b[:most]) + "…"
}

package reflect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/dynamicpb"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// maxCame bounds the messages of a stream that are told with its error: the last ones that fit.
const maxCame = 16 << 10

// came are the messages of a stream that has not ended well yet.
type came struct {
	// texts are the last ones, of at most maxCame bytes together but for the last one.
	texts []string
	bytes int
	n     int
	size  int
	last  []byte
	// notes of what the last message lacks.
	note string
}

func (s *came) add(text []byte, note string) {
	s.n++
	s.size += len(text)
	s.last, s.note = text, note
	s.texts = append(s.texts, cut(text, maxCame))
	s.bytes += len(text)
	for len(s.texts) > 1 && s.bytes > maxCame {
		s.bytes -= len(s.texts[0])
		s.texts = s.texts[1:]
	}
}

// failed says why a stream ended, and what had come by then.
func (s *came) failed(why string) []*pb.ContentBlock {
	about := fmt.Sprintf("%d messages came before that:", s.n)
	if len(s.texts) < s.n {
		about = fmt.Sprintf("%d messages came before that, the last %d:", s.n, len(s.texts))
	}
	return text(why + "\n" + about + "\n" + strings.Join(s.texts, "\n"))
}

// maxAnswerTime bounds the part of a call's time that is kept for its answer.
const maxAnswerTime = 2 * time.Second

// beforeDeadline returns a context that ends a while before the deadline of ctx, so that there is time to answer with what came
// until then: messages of a stream, or the name of an operation.
func beforeDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	due, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, due.Add(-min(time.Until(due)/10, maxAnswerTime)))
}

// follow calls a method that answers with a stream: each message is progress at once, and the last one,
// known only by the end, the result. A stream that fails or hangs after messages is an error that has them.
func (c *call) follow(ctx context.Context, in *dynamicpb.Message) error {
	ctx, end := beforeDeadline(ctx)
	defer end()
	stream, err := c.a.calls.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/"+c.method.full, grpc.ForceCodecV2(c.model.codec))
	if err != nil {
		return &upstreamError{err}
	}
	// An error of sending is the stream's end, which receiving tells.
	if err := stream.SendMsg(in); err != nil && !errors.Is(err, io.EOF) {
		return &upstreamError{err}
	}
	if err := stream.CloseSend(); err != nil {
		return &upstreamError{err}
	}
	s := &came{}
	for {
		var one answer
		switch err := stream.RecvMsg(&one); {
		case errors.Is(err, io.EOF):
			return c.finish(s)
		case err != nil && s.n == 0, err != nil && c.events.ctx.Err() != nil:
			return &upstreamError{err}
		case err != nil:
			why := c.method.full + " failed: " + c.reason(status.Convert(err))
			if status.Code(err) == codes.Unavailable && !c.method.repeatable() {
				why += "\nWhether it took effect in full is not known: check before you call it again."
			}
			return c.answer(&pb.CallToolResult{IsError: true, Content: s.failed(why)})
		}
		if s.n == c.a.opts.StreamMessages {
			return c.answer(&pb.CallToolResult{IsError: true, Content: s.failed(fmt.Sprintf(
				"%s goes on after %d messages, the most that are read (max-stream-messages), and was ended.", c.method.full, s.n))})
		}
		text, note, err := c.shown(one)
		if err != nil {
			if s.n == 0 {
				return c.refuse(err.Error())
			}
			return c.answer(&pb.CallToolResult{IsError: true, Content: s.failed(err.Error())})
		}
		if s.add(text, note); s.size > c.a.opts.MaxBytes {
			return c.answer(&pb.CallToolResult{IsError: true, Content: s.failed(fmt.Sprintf(
				"%s goes on after %d bytes in %d messages, more than are read (max-message), and was ended.", c.method.full, s.size, s.n))})
		}
		if err := c.progress(s.n, text); err != nil {
			return err
		}
	}
}

// shown is the JSON of a message of the stream, and a note of what that leaves out.
func (c *call) shown(a answer) (json []byte, note string, _ error) {
	m, err := c.read(c.method.desc.Output(), a)
	if err != nil {
		return nil, "", err
	}
	return c.render(m)
}

// reason is a status as a model reads it.
func (c *call) reason(st *status.Status) string {
	name := codeNames[st.Code()]
	switch {
	case st.Code() == codes.DeadlineExceeded:
		return "it did not end in time"
	case name == "":
		name = strings.ToUpper(st.Code().String())
	}
	lines := []string{name}
	if st.Message() != "" {
		lines[0] += ": " + st.Message()
	}
	return strings.Join(append(lines, c.details(st.Proto().GetDetails())...), "\n")
}

// finish answers with the last message of a stream. One that had none has no result, which its output schema demands.
func (c *call) finish(s *came) error {
	if s.n == 0 {
		return c.refuse(c.method.full + " was called and ended without a message, so that there is no result: it may have found nothing.")
	}
	return c.answer(result(s.last, s.note))
}

// result is a result with what its JSON lacks said beside it.
func result(json []byte, note string) *pb.CallToolResult {
	res := &pb.CallToolResult{StructuredContentJson: string(json)}
	if note != "" {
		res.Content = append(text(string(json)), text(note)...)
	}
	return res
}

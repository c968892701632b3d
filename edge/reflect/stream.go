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

// maxCame bounds the last messages of a stream that are shown with its error, in bytes.
const maxCame = 16 << 10

// received are the messages of a stream that has not ended successfully.
type received struct {
	// texts are the last messages, together at most maxCame bytes, but at least one.
	texts []string
	bytes int
	n     int
	size  int
	last  []byte
	// note lists the fields that the last message's JSON omits.
	note string
}

func (s *received) add(text []byte, note string) {
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

// failed returns the content for a failed stream: the reason, and the messages received.
func (s *received) failed(why string) []*pb.ContentBlock {
	about := fmt.Sprintf("%d messages came before that:", s.n)
	if len(s.texts) < s.n {
		about = fmt.Sprintf("%d messages came before that, the last %d:", s.n, len(s.texts))
	}
	return text(why + "\n" + about + "\n" + strings.Join(s.texts, "\n"))
}

// maxAnswerTime bounds the part of a call's time that is reserved for its answer.
const maxAnswerTime = 2 * time.Second

// beforeDeadline returns a context that ends some time before the deadline of ctx. That leaves time
// to return the messages of a stream received so far, or the name of an operation.
func beforeDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	due, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, due.Add(-min(time.Until(due)/10, maxAnswerTime)))
}

// follow calls a server-streaming method. Each message becomes progress at once, and the last one
// becomes the result. A stream that fails or hangs results in an error with the messages received.
func (c *call) follow(ctx context.Context, in *dynamicpb.Message) error {
	ctx, end := beforeDeadline(ctx)
	defer end()
	stream, err := c.a.calls.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/"+c.method.full, grpc.ForceCodecV2(c.model.codec))
	if err != nil {
		return &upstreamError{err}
	}
	// SendMsg reports io.EOF if the stream has ended; RecvMsg returns the status.
	if err := stream.SendMsg(in); err != nil && !errors.Is(err, io.EOF) {
		return &upstreamError{err}
	}
	if err := stream.CloseSend(); err != nil {
		return &upstreamError{err}
	}
	s := &received{}
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
				"%s sent more than %d messages, the most that are read (max-stream-messages), and was cancelled.", c.method.full, s.n))})
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
				"%s sent more than %d bytes in %d messages, the most that are read (max-message), and was cancelled.", c.method.full, s.size, s.n))})
		}
		if err := c.progress(s.n, text); err != nil {
			return err
		}
	}
}

// shown returns the JSON of a message of the stream, and a note about omitted fields.
func (c *call) shown(a answer) (json []byte, note string, _ error) {
	m, err := c.read(c.method.desc.Output(), a)
	if err != nil {
		return nil, "", err
	}
	return c.render(m)
}

// reason formats a status for a model.
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

// finish returns the last message of a stream as the result. A stream without messages is an error,
// because the output schema requires a result.
func (c *call) finish(s *received) error {
	if s.n == 0 {
		return c.refuse(c.method.full + " was called and ended without a message, so that there is no result: it may have found nothing.")
	}
	return c.answer(result(s.last, s.note))
}

// result returns a result with a note about the fields that its JSON omits.
func result(json []byte, note string) *pb.CallToolResult {
	res := &pb.CallToolResult{StructuredContentJson: string(json)}
	if note != "" {
		res.Content = append(text(string(json)), text(note)...)
	}
	return res
}

package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// failed returns the error of the call. If the response was lost, the error says that the call may
// have taken effect, and whether it is safe to repeat it.
func (s *callSettings) failed(ctx context.Context, conn *connection, err error) error {
	failed := conn.failed(ctx, s.tool, err)
	if !conn.outcomeUnknown(err) {
		return failed
	}
	return fmt.Errorf("%w; the call may have taken effect, and %s", failed, s.repeatAdvice(ctx))
}

// rejected is the SDK's error for a request without a response from its transport. The SDK does not
// export it.
var rejected = jsonrpc.Error{Code: -32005, Message: "rejected by transport"}

// outcomeUnknown reports whether the outcome of a call is unknown: the call was sent, and neither a response
// nor a refusal arrived. A call that the user interrupted is not lost.
func (c *connection) outcomeUnknown(err error) bool {
	var answered *jsonrpc.Error
	var unsent *net.OpError
	refused := c.transport.refused.Load()
	switch {
	case errors.Is(err, context.Canceled), refused != nil && !refused.resuming:
		return false
	case errors.As(err, &answered) && (answered.Code != rejected.Code || answered.Message != rejected.Message):
		return false
	case errors.As(err, &unsent) && unsent.Op == "dial":
		return false
	}
	return true
}

// repeatAdvice says whether it is safe to repeat the call, by the annotations of the tool.
func (s *callSettings) repeatAdvice(ctx context.Context) string {
	switch hints, err := s.annotations(ctx); {
	case err != nil:
		return fmt.Sprintf("it is not known to be safe to send it again: the annotations of %s cannot be read", s.tool)
	case hints.ReadOnlyHint:
		return fmt.Sprintf("it is safe to send it again: %s is read-only", s.tool)
	case hints.IdempotentHint:
		return fmt.Sprintf("it is safe to send it again with the same arguments: %s is idempotent", s.tool)
	}
	return fmt.Sprintf("it is not known to be safe to send it again: %s is marked neither read-only nor idempotent", s.tool)
}

// annotationsWithin bounds the time to read a tool's annotations after a lost call.
const annotationsWithin = 5 * time.Second

// annotations reads the tool's annotations over a separate connection, because the call's
// connection may be broken.
func (s *callSettings) annotations(ctx context.Context) (mcp.ToolAnnotations, error) {
	ctx, cancel := context.WithTimeout(ctx, annotationsWithin)
	defer cancel()
	conn, err := s.connect(ctx, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	if err != nil {
		return mcp.ToolAnnotations{}, err
	}
	defer conn.Close()
	for tool, err := range conn.Tools(ctx, nil) {
		switch {
		case err != nil:
			return mcp.ToolAnnotations{}, err
		case tool.Name == s.tool && tool.Annotations != nil:
			return *tool.Annotations, nil
		case tool.Name == s.tool:
			return mcp.ToolAnnotations{}, nil
		}
	}
	return mcp.ToolAnnotations{}, fmt.Errorf("%s is not listed", s.tool)
}

package client

import (
	"context"
	"errors"
	"fmt"
)

// timeoutText returns the text for an error that --timeout caused, because ctx ended. It is empty for
// other errors.
func (s *server) timeoutText(ctx context.Context, err error) string {
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ""
	}
	text := fmt.Sprintf("no answer within %v, the --timeout of the whole command: give a longer one", s.timeout)
	if failed := s.dialer.lastError(); failed != nil {
		text += fmt.Sprintf("; the last attempt to connect failed: %v", failed)
	}
	return text
}

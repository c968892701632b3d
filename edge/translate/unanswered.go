package translate

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// unansweredPhrases are phrases of a status for a connection that broke while a request was in flight: of
// gRPC for Go, which the edge and many proxies use, of Envoy, and of an HTTP gateway, whose 502 and
// 504 do not show whether it had sent the request. None of them occurs for requests that could not
// be sent.
var unansweredPhrases = []string{
	"error reading from server: ", "closing transport due to: ", "keepalive ping failed to receive ACK within timeout", "the server is not reading: ",
	"reset reason: connection termination", "reset reason: remote reset",
	"unexpected HTTP status code received from server: 502", "unexpected HTTP status code received from server: 504",
}

// Unanswered reports whether an error of a gRPC call means that its request was sent and the
// connection broke before the answer arrived. Whether the request took effect is unknown.
func Unanswered(err error) bool {
	st, ok := status.FromError(err)
	return ok && st.Code() == codes.Unavailable &&
		slices.ContainsFunc(unansweredPhrases, func(words string) bool { return strings.Contains(st.Message(), words) })
}

// droppedMessages are the messages of a CANCELLED status that come from a server's gRPC library instead of
// its code. The first is from gRPC's C core: a Python or C++ server uses it for calls that arrive
// during its shutdown. The second is how gRPC for Go reports a stream that its peer reset.
var droppedMessages = []string{"CANCELLED", "stream terminated by RST_STREAM with error code: CANCEL"}

// Dropped reports whether an error of a gRPC call means that the server's library cancelled the
// call. Whether the call took effect is unknown. The result is meaningless for a call that its own
// caller cancelled.
func Dropped(err error) bool {
	st, ok := status.FromError(err)
	return ok && st.Code() == codes.Canceled && slices.Contains(droppedMessages, st.Message())
}

// retryAfter returns the delay in the RetryInfo of a status, or 0 if there is none.
func retryAfter(st *status.Status) time.Duration {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok && info.GetRetryDelay().CheckValid() == nil {
			return max(info.GetRetryDelay().AsDuration(), 0)
		}
	}
	return 0
}

package admin

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/admin/v1"
)

// kinds is the only table from kinds to gRPC codes; grpc-gateway maps those to HTTP statuses.
var kinds = map[mcp.Kind]codes.Code{
	mcp.KindParse:              codes.InvalidArgument,
	mcp.KindInvalidRequest:     codes.InvalidArgument,
	mcp.KindMethodNotFound:     codes.Unimplemented,
	mcp.KindInvalidParams:      codes.InvalidArgument,
	mcp.KindUnknownTool:        codes.NotFound,
	mcp.KindUnknownPrompt:      codes.NotFound,
	mcp.KindResourceNotFound:   codes.NotFound,
	mcp.KindBadCursor:          codes.InvalidArgument,
	mcp.KindBadState:           codes.InvalidArgument,
	mcp.KindHeaderMismatch:     codes.InvalidArgument,
	mcp.KindMissingCapability:  codes.FailedPrecondition,
	mcp.KindUnsupportedVersion: codes.FailedPrecondition,
	mcp.KindSessionRequired:    codes.FailedPrecondition,
	mcp.KindSessionNotFound:    codes.NotFound,
	mcp.KindBadEventID:         codes.InvalidArgument,
	mcp.KindNoStream:           codes.FailedPrecondition,
	mcp.KindForbidden:          codes.PermissionDenied,
	mcp.KindUnauthenticated:    codes.Unauthenticated,
	mcp.KindTooLarge:           codes.OutOfRange,
	mcp.KindLimit:              codes.ResourceExhausted,
	mcp.KindQuota:              codes.ResourceExhausted,
	mcp.KindStateUnavailable:   codes.Unavailable,
	mcp.KindOverloaded:         codes.Unavailable,
	mcp.KindUnavailable:        codes.Unavailable,
	mcp.KindTimeout:            codes.DeadlineExceeded,
	mcp.KindCancelled:          codes.Canceled,
	mcp.KindUnknownOutcome:     codes.Unknown,
	mcp.KindContract:           codes.Internal,
	mcp.KindInternal:           codes.Internal,
}

// failed converts a JSON-RPC error response to a status. Its code and data are among the details,
// and the delay before a retry if it has one. An unknown outcome is 502 over HTTP, which clients do
// not retry by themselves.
func failed(r *mcp.Response) error {
	code, ok := kinds[r.Kind]
	if !ok {
		code = codes.Internal
	}
	body, _ := jsonrpc.Member(r.Body, "error")
	raw, _ := jsonrpc.Member(body, "message")
	message, _ := jsonrpc.Unquote(raw)
	st := status.New(code, message)
	raw, _ = jsonrpc.Member(body, "code")
	n, err := strconv.ParseInt(string(raw), 10, 32)
	if err != nil {
		return st.Err()
	}
	detail := &pb.ErrorDetail{Code: int32(n)}
	if data, ok := jsonrpc.Member(body, "data"); ok {
		detail.Data, _ = value(data)
	}
	details := []protoadapt.MessageV1{detail}
	if r.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(r.RetryAfter)})
	}
	if with, err := st.WithDetails(details...); err == nil {
		st = with
	}
	if r.Kind == mcp.KindUnknownOutcome { // no gRPC code maps to 502
		return &runtime.HTTPStatusError{HTTPStatus: http.StatusBadGateway, Err: st.Err()}
	}
	return st.Err()
}

// retryAfter returns the delay of an error before a retry; 0 if it has none.
func retryAfter(err error) time.Duration {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

// value converts JSON to protobuf; false if it has a number that no double can represent, or a
// duplicate name.
func value(raw json.RawMessage) (*structpb.Value, bool) {
	v := &structpb.Value{}
	return v, protojson.Unmarshal(raw, v) == nil
}

package admin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"

	spb "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// guard protects a handler from web pages of other origins, and from requests that are too large or
// too slow.
type guard struct{ *web.Guard }

// admit allows the requests that web.Guard admits, with one of the methods. It replaces the body of
// a POST, which is JSON, by the bytes read. It removes the body of a GET and a DELETE, even if one
// was announced, because the next handler would wait for it.
func (g guard) admit(allowed string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, ok := g.Admit(w, r, allowed)
		if !ok {
			return
		}
		r = r.WithContext(addressed(r))
		if !who.Anonymous() {
			ctx := context.WithValue(r.Context(), callerKey{}, who)
			r = r.WithContext(mcp.WithToken(ctx, g.Token(r, who)))
		}
		switch {
		case r.Method == http.MethodPost:
			var memory budget.Reservation
			g.Charge(&memory, administrator, g.Address(r))
			defer memory.Release()
			body, ok := g.Message(w, r, &memory)
			if !ok {
				return
			}
			if manyValues(body) {
				g.Refuse(w, http.StatusBadRequest, fmt.Sprintf("the body has more than %d values, the limit of the REST API: send less, or use MCP", maxValues))
				return
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		case r.Method != http.MethodPut && r.ContentLength != 0:
			r = r.WithContext(r.Context()) // a copy, because the server reads the body in its own request
			r.Body, r.ContentLength = http.NoBody, 0
		}
		next.ServeHTTP(w, r)
	})
}

// maxValues bounds the JSON values in a request or a result. Decoded to protobuf, each takes many
// times its size in memory.
const maxValues = 200_000

// manyValues reports whether JSON has more than maxValues values. The decoder rejects invalid JSON.
func manyValues(raw []byte) bool {
	s, _ := jsonrpc.SurveyOf(raw, maxValues)
	return s.TooMany
}

// admitIf is admit for read-only paths if they are locked; otherwise it returns next.
func (g guard) admitIf(locked bool, next http.Handler) http.Handler {
	if !locked {
		return next
	}
	return g.admit("GET, OPTIONS", next)
}

// authenticated requires credentials, for a handler that has a guard of its own otherwise.
func (g guard) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := g.Admit(w, r, "GET, HEAD, POST, OPTIONS"); ok {
			next.ServeHTTP(w, r)
		}
	})
}

type callerKey struct{}

// caller returns the authenticated principal, or the administrator without authentication.
func caller(ctx context.Context) mcp.Principal {
	if p, ok := ctx.Value(callerKey{}).(mcp.Principal); ok {
		return p
	}
	return administrator
}

// limitWrites sets a deadline for each write.
func (g guard) limitWrites(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.Deadline(w)
		next.ServeHTTP(&deadlineWriter{w, g.Guard}, r)
	})
}

type deadlineWriter struct {
	http.ResponseWriter
	guard *web.Guard
}

// Unwrap is for http.ResponseController.
func (b *deadlineWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (b *deadlineWriter) WriteHeader(status int) {
	b.guard.Deadline(b.ResponseWriter)
	b.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (b *deadlineWriter) Write(p []byte) (int, error) {
	b.guard.Deadline(b.ResponseWriter)
	return b.ResponseWriter.Write(p)
}

// refusals maps the HTTP statuses of requests that are refused before a handler runs to their
// codes.
var refusals = map[int]codes.Code{
	http.StatusForbidden:             codes.PermissionDenied,
	http.StatusUnauthorized:          codes.Unauthenticated,
	http.StatusMethodNotAllowed:      codes.Unimplemented,
	http.StatusRequestEntityTooLarge: codes.OutOfRange,
	http.StatusServiceUnavailable:    codes.Unavailable,
}

// refusal returns the body of a refused request, in the form of every other error.
func refusal(status int, message string) []byte {
	code, ok := refusals[status]
	if !ok {
		code = codes.InvalidArgument
	}
	body, _ := protojson.Marshal(&spb.Status{Code: int32(code), Message: message})
	return body
}

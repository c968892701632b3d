package admin

import (
	"bytes"
	"io"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"

	spb "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// guard keeps web pages of strangers, and what is too large or too slow, away from a handler.
type guard struct{ *web.Guard }

// admit lets in whom web.Guard lets in, with one of the methods. The body of a POST is JSON and was read; a GET and a
// DELETE have none, whatever was announced: what is behind reads it, and would wait for it.
func (g guard) admit(allowed string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := g.Admit(w, r, allowed); !ok {
			return
		}
		switch {
		case r.Method == http.MethodPost:
			var memory budget.Reservation
			g.Charge(&memory, r, administrator)
			defer memory.Release()
			body, ok := g.Message(w, r, &memory)
			if !ok {
				return
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		case r.Method != http.MethodPut && r.ContentLength != 0:
			r = r.WithContext(r.Context()) // the server looks at the body of its own
			r.Body, r.ContentLength = http.NoBody, 0
		}
		next.ServeHTTP(w, r)
	})
}

// bound gives every write its deadline.
func (g guard) bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.Deadline(w)
		next.ServeHTTP(&bounded{w, g.Guard}, r)
	})
}

type bounded struct {
	http.ResponseWriter
	guard *web.Guard
}

// Unwrap is for http.ResponseController.
func (b *bounded) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (b *bounded) WriteHeader(status int) {
	b.guard.Deadline(b.ResponseWriter)
	b.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (b *bounded) Write(p []byte) (int, error) {
	b.guard.Deadline(b.ResponseWriter)
	return b.ResponseWriter.Write(p)
}

// refusals are the codes of what is refused before anything looks at it.
var refusals = map[int]codes.Code{
	http.StatusForbidden:             codes.PermissionDenied,
	http.StatusMethodNotAllowed:      codes.Unimplemented,
	http.StatusRequestEntityTooLarge: codes.OutOfRange,
	http.StatusServiceUnavailable:    codes.Unavailable,
}

// refusal is a refused request's body, like that of any other error.
func refusal(status int, message string) []byte {
	code, ok := refusals[status]
	if !ok {
		code = codes.InvalidArgument
	}
	body, _ := protojson.Marshal(&spb.Status{Code: int32(code), Message: message})
	return body
}

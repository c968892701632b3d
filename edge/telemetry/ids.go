package telemetry

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// ids makes random ids, and gives a span the id that was promised for it: a request to the client
// is answered on any replica, which then makes the span whose id the client was sent.
type ids struct{}

var _ sdktrace.IDGenerator = ids{}

type promisedKey struct{}

// promise makes the next span that is started with the context use id, if id is valid.
func promise(ctx context.Context, id trace.SpanID) context.Context {
	return context.WithValue(ctx, promisedKey{}, id)
}

// NewIDs implements sdktrace.IDGenerator.
func (g ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id := newTraceID()
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if id, _ := ctx.Value(promisedKey{}).(trace.SpanID); id.IsValid() {
		return id
	}
	return newSpanID()
}

func newTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		binary.LittleEndian.PutUint64(id[:8], rand.Uint64()) // #nosec G404 -- trace ids are no secret
		binary.LittleEndian.PutUint64(id[8:], rand.Uint64()) // #nosec G404 -- trace ids are no secret
	}
	return id
}

func newSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.LittleEndian.PutUint64(id[:], rand.Uint64()) // #nosec G404 -- trace ids are no secret
	}
	return id
}

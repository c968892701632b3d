package telemetry

import (
	"context"
	"math/rand/v2"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// ids makes random ids, and gives a span the id that was promised for it: a request to the client is
// answered on any replica, which then makes the span that the client was told of.
type ids struct{}

var _ sdktrace.IDGenerator = ids{}

type promisedKey struct{}

// promise has the next span that is started with the context get the id.
func promise(ctx context.Context, id trace.SpanID) context.Context {
	return context.WithValue(ctx, promisedKey{}, id)
}

// NewIDs implements sdktrace.IDGenerator.
func (g ids) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	for !id.IsValid() {
		fill(id[:8], rand.Uint64())
		fill(id[8:], rand.Uint64())
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) (span trace.SpanID) {
	if promised, ok := ctx.Value(promisedKey{}).(trace.SpanID); ok {
		return promised
	}
	for !span.IsValid() {
		fill(span[:], rand.Uint64())
	}
	return span
}

func fill(b []byte, n uint64) {
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
}

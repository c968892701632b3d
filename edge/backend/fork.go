package backend

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
)

// Tracing decides which calls are traced. Safe for concurrent use.
type Tracing interface {
	// DialOptions are added to the dial of the connection that traced calls go over.
	DialOptions() []grpc.DialOption
	// Traced says whether the call with this context is to be traced.
	Traced(ctx context.Context) bool
}

// fork is a connection for calls that are not traced, beside one for those that are: whatever watches a
// connection costs each of its calls, even where it looks away.
type fork struct {
	plain, traced *grpc.ClientConn
	tracing       Tracing
}

var _ grpc.ClientConnInterface = (*fork)(nil)

// Invoke implements grpc.ClientConnInterface.
func (f *fork) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return f.choose(ctx).Invoke(ctx, method, args, reply, opts...)
}

// NewStream implements grpc.ClientConnInterface.
func (f *fork) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return f.choose(ctx).NewStream(ctx, desc, method, opts...)
}

// choose prefers a call without a trace to none: the two connections need not be well at the same time.
func (f *fork) choose(ctx context.Context) *grpc.ClientConn {
	if f.tracing.Traced(ctx) && f.traced.GetState() != connectivity.TransientFailure {
		return f.traced
	}
	return f.plain
}

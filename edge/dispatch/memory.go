package dispatch

import (
	"context"
	"slices"
	"sync"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

const (
	// smallResult is the number of bytes of a result that the charge of its request includes.
	smallResult = 16 << 10
	// smallMessage is the size up to which a backend's message is received without a permit.
	smallMessage = 64 << 10
	// whileReceived is the memory in use until the response is written to the client, as a multiple
	// of the message's size: the received bytes, the decoded message, the result, and the response
	// around it.
	whileReceived = 4
	// whileSent is the memory in use until the client has read the result, as a multiple of the
	// result's size.
	whileSent = 2
)

// sizes holds the message sizes of each tool of a backend, and of each of its other methods: one
// *ownSizes for each backend that was called, until the backend is removed. Safe for concurrent
// use.
type sizes struct{ byBackend sync.Map }

// ownSizes are the sizes of one backend: a *size for each sizeKey.
type ownSizes struct{ m sync.Map }

// sizeKey is a method; of tools/call, a tool.
type sizeKey struct {
	method mcp.Method
	tool   string
}

// of returns the size of a method or tool; it is created at the first use.
func (s *sizes) of(b *backend.Backend, method mcp.Method, target string) *catalog.Size {
	own, ok := s.byBackend.Load(b)
	if !ok {
		own, _ = s.byBackend.LoadOrStore(b, new(ownSizes))
	}
	k := sizeKey{method: method}
	if method == mcp.MethodToolsCall {
		k.tool = target
	}
	m := &own.(*ownSizes).m
	n, ok := m.Load(k)
	if !ok {
		n, _ = m.LoadOrStore(k, new(catalog.Size))
	}
	return n.(*catalog.Size)
}

// changed removes the sizes of backends that no longer exist, and of tools that the backend no
// longer lists to all callers; tools that it lists to some callers are measured again. A call that
// still runs at a removed backend may keep its sizes until the next change.
func (s *sizes) changed(b *backend.Backend, there []*backend.Backend) {
	for known := range s.byBackend.Range {
		if !slices.Contains(there, known.(*backend.Backend)) {
			s.byBackend.Delete(known)
		}
	}
	own, ok := s.byBackend.Load(b)
	catalog := b.Catalog()
	if !ok || catalog == nil {
		return
	}
	listed := make(map[string]bool, len(catalog.Tools))
	for _, t := range catalog.Tools {
		listed[t.GetName()] = true
	}
	m := &own.(*ownSizes).m
	for k := range m.Range {
		if key := k.(sizeKey); key.method == mcp.MethodToolsCall && !listed[key.tool] {
			m.Delete(k)
		}
	}
}

// expect records the expected response: the target, unless its size is already known, and the
// largest message in bytes.
func (r *round) expect(target string, most int) {
	switch {
	case r.call.Memory.Holder() == nil:
		r.size = nil
	case r.size == nil:
		r.size = r.d.sizes.of(r.owner, r.call.Method, target)
	}
	r.most = int64(most)
}

// await waits for permission to receive the next message of a stream: gRPC holds a whole message in
// memory before it can be charged. With a charge only on receipt, 60 results of 12 MiB took 787 MiB
// of a budget of 512 MiB (the attack unread-streams); with permits, 499 MiB. A message that is
// expected to be small needs no permit. For others, await first waits for the stream's header, so
// that a call that waits for its backend holds no permit. stream is nil for an RPC without a
// stream. The call's deadline ends the wait.
func (r *round) await(ctx context.Context, stream grpc.ClientStream) error {
	if r.size == nil {
		return nil
	}
	r.messagePermit.Release()
	r.messagePermit = nil
	n := r.size.Largest()
	measured := n > 0
	if measured && n <= smallMessage {
		return nil
	}
	if !measured {
		n = r.most
	}
	if stream != nil {
		// An error of the stream is returned when it is read.
		_, _ = stream.Header()
	}
	permit, err := r.call.Memory.Holder().Permit(ctx, budget.Results, whileReceived*n, measured)
	if err != nil {
		return mcp.Overloaded(err)
	}
	r.messagePermit = permit
	return nil
}

// received records the size of a message.
func (r *round) received(m proto.Message) {
	if r.size != nil {
		r.size.Note(int64(proto.Size(m)), r.began)
	}
}

// settle replaces the round's permit with a charge for its actual result.
func (r *round) settle(reply *mcp.Reply) {
	bytes := int64(len(reply.Result))
	if in := reply.Input; in != nil {
		bytes += int64(len(in.State))
		for _, q := range in.Requests {
			bytes += int64(len(q.Params))
		}
	}
	if bytes > smallResult {
		r.call.Memory.Settle(budget.Results, whileSent*bytes)
	}
	r.messagePermit.Release()
}

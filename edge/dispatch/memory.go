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
	"github.com/mcpedge/mcpedge/edge/schema"
)

const (
	// smallResult is how many bytes of a result are part of what its request is charged with.
	smallResult = 16 << 10
	// smallCheck is how many bytes of a check are.
	smallCheck = 16 << 10
	// smallMessage is the size of a message of a backend that is received without asking for room.
	smallMessage = 64 << 10
	// whileReceived is how many times the size of a message are in memory until the client is written to: what was
	// received, what was read of it, the result, and the response around it.
	whileReceived = 4
	// whileSent is how many times the size of a result are in memory until the client has read it.
	whileSent = 2
)

// sizes is what each tool of a backend, and each of its other methods, has sent: a *ownSizes for each backend that was called. Those of a
// backend end with it. Safe for concurrent use.
type sizes struct{ byBackend sync.Map }

// ownSizes are the sizes of one backend: a *size for each sizeKey.
type ownSizes struct{ m sync.Map }

// sizeKey is a method; of tools/call, a tool.
type sizeKey struct {
	method mcp.Method
	tool   string
}

// of is where the size is kept.
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

// changed forgets what came of backends that are no more, and of tools that the backend does not list to everybody any more: those that it
// lists to some are measured again. A call that runs at a backend that is gone may keep it until the next change.
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

// expect notes what the backend is about to send: of what target, unless the size is known, and at most how much in a
// message.
func (r *round) expect(target string, most int) {
	switch {
	case r.call.Memory.Holder() == nil:
		r.size = nil
	case r.size == nil:
		r.size = r.d.sizes.of(r.owner, r.call.Method, target)
	}
	r.most = int64(most)
}

// await waits until the next message of a stream may be received: gRPC has a whole message in memory before it can be charged.
// Charged on receipt alone, 60 results of 12 MiB took 787 MiB of a budget of 512 MiB (the attack unread-streams), with these
// permits 499 MiB. A message that is expected to be small needs none. Otherwise the stream must have begun to answer, since a
// call that waits for its backend holds nothing. stream is nil for an RPC without a stream. The call's deadline ends the wait.
func (r *round) await(ctx context.Context, stream grpc.ClientStream) error {
	if r.size == nil {
		return nil
	}
	r.permit.Release()
	r.permit = nil
	n := r.size.Largest()
	measured := n > 0
	if measured && n <= smallMessage {
		return nil
	}
	if !measured {
		n = r.most
	}
	if stream != nil {
		// What is wrong with the stream is told by what is read of it.
		_, _ = stream.Header()
	}
	permit, err := r.call.Memory.Holder().Permit(ctx, budget.Results, whileReceived*n, measured)
	if err != nil {
		return mcp.Overloaded(err)
	}
	r.permit = permit
	return nil
}

// received notes the size of a message.
func (r *round) received(m proto.Message) {
	if r.size != nil {
		r.size.Note(int64(proto.Size(m)), r.began)
	}
}

// fits checks arguments, an object, once there is room for what that takes: the decoded value, and what comes of it.
// The errors are those of the check, and one of the kind KindOverloaded where there is no room.
func (r *round) fits(c *catalog.ToolCheck, args []byte) error {
	check, err := c.Arguments(args)
	if err != nil {
		return err
	}
	bytes := taken(&check)
	if err := r.call.Memory.Grow(budget.Checks, bytes); err != nil {
		return mcp.Overloaded(err)
	}
	defer r.call.Memory.Shrink(budget.Checks, bytes)
	return check.Run()
}

// checkResult runs the check of a result, which is here and is not refused any more.
func (r *round) checkResult(check *schema.Check) error {
	bytes := taken(check)
	r.call.Memory.Force(budget.Checks, bytes)
	defer r.call.Memory.Shrink(budget.Checks, bytes)
	return check.Run()
}

// taken is what a check is charged with; 0 where that is part of what its request is charged with.
func taken(check *schema.Check) int64 {
	if n := check.Held() + check.Bytes(); n > smallCheck {
		return n
	}
	return 0
}

// settle charges the call with what the round has come to, in the place of what was permitted for it.
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
	r.permit.Release()
}

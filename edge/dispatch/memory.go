package dispatch

import (
	"context"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/schema"
)

const (
	// smallResult is how many bytes of a result are part of what its request is charged with.
	smallResult = 16 << 10
	// smallCheck is how many bytes of a check are.
	smallCheck = 16 << 10
	// unread is how many times as much memory a result takes as its message has bytes, until it is rendered: the
	// message, and what is read of it.
	unread = 2
)

// expect notes that the backend will send something, of at most so many bytes. Where there is not room for all that
// may come, each message is read when there is room for it. expected ends it, once the round is over.
func (r *round) expect(most int) {
	r.most = unread * int64(most)
	r.tight = !r.call.Memory.Holder().Budget().Expect(r.most)
}

func (r *round) expected() { r.call.Memory.Holder().Budget().Expected(r.most) }

// fits checks arguments, an object, once there is room for what that takes: the decoded value, and what comes of it.
// The errors are those of the check, and one of the kind KindOverloaded where there is no room.
func (r *round) fits(c *toolCheck, args []byte) error {
	check, err := c.arguments(args)
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

// await waits until the next message of a stream may be read, which has to have begun to answer: a call that waits for
// its backend holds nothing. Its deadline ends the wait.
func (r *round) await(ctx context.Context, stream grpc.ClientStream) error {
	if !r.tight {
		return nil
	}
	r.permit.Release()
	// What is wrong with the stream is told by what is read of it.
	_, _ = stream.Header()
	permit, err := r.call.Memory.Holder().Permit(ctx, budget.Results, r.most)
	if err != nil {
		return mcp.Overloaded(err)
	}
	r.permit = permit
	return nil
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
		r.call.Memory.Settle(budget.Results, bytes)
	}
	r.permit.Release()
}

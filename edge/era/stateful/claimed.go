package stateful

import (
	"context"
	"fmt"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// resume makes the runner of a claimed call.
func (e *Era) resume(o *medium.Owned, why runtime.Reason) (*runtime.Claimed, error) {
	r := o.Record
	id, err := jsonrpc.NewID(r.RequestID)
	if err != nil {
		return nil, fmt.Errorf("the call's record: %w", err)
	}
	s := e.put(o.Session, nil)
	rec := s.rec.Load()
	c := &runner{record: *r, stream: r.Stream}
	c.Context = mcp.WithToken(context.Background(), why.Token)
	_, c.Before, _, _ = runtime.OpenState(r.State)
	c.First = mcp.Call{ID: r.ID, Method: r.Method, Set: rec.Set, Principal: why.Caller(r), Client: rec.client, LogLevel: r.LogLevel, Backend: r.Backend}
	if err := c.First.Params.Parse(r.Method, r.Params, nil); err != nil {
		return nil, fmt.Errorf("the call's record: %w", err)
	}
	c.First.Params.Resume(r.Shown, r.Via, r.Added)
	c.init(e, s, rec, id, s.holder(e))
	c.Memory.Force(budget.Calls, copies*int64(len(r.Params))) // The memory was admitted when the call began.
	if err := s.register(e, c, claimed); err != nil {
		c.Memory.Release()
		return nil, err
	}
	c.observeClaim(why.Why, why.Began)
	claimed := &runtime.Claimed{Runner: c, Context: c.Context}
	for i := range r.Asked {
		q := &r.Asked[i]
		if q.Answer == nil {
			continue
		}
		if _, ok := runtime.Response(q); !ok {
			claimed.Refusal = c.refusedBy(q)
			break
		}
		if q.Answer.Error != nil {
			raw, _ := jsonrpc.Member(q.Answer.Error, "code")
			code, _ := strconv.Atoi(string(raw)) // 0 means that there is no code
			c.e.log.Info("the client answered a question to its user with an error: the call continues as if the user had dismissed it",
				"method", q.Method, "key", q.Key, "code", code)
		}
	}
	return claimed, nil
}

// refusedBy returns the response of a call whose client refused a required answer.
func (c *runner) refusedBy(q *medium.Question) *call.Reply {
	text := refused(q)
	if c.First.Method != mcp.MethodToolsCall {
		return c.fail(mcp.Errorf(mcp.KindCancelled, "%s", text))
	}
	c.response = resultOf(c.id, toolError(text))
	c.response.outcome.ToolError = true
	return &call.Reply{Kind: call.Final, Response: c.response.Body}
}

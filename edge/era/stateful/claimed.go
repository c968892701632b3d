package stateful

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/era/stateful/run"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// resume makes the execution of a claimed call.
func (e *Era) resume(o *medium.Owned, why run.Reason) (*run.Claimed, error) {
	r := o.Record
	id, err := jsonrpc.NewID(r.RequestID)
	if err != nil {
		return nil, fmt.Errorf("the call's record: %w", err)
	}
	s := e.put(o.Session, nil)
	rec := s.rec.Load()
	c := &execution{record: *r, stream: r.Stream, ctx: mcp.WithToken(context.Background(), why.Token)}
	_, c.before, _ = openState(r.State)
	c.call = mcp.Call{ID: r.ID, Method: r.Method, Principal: callerOf(r, why), Client: rec.client, LogLevel: r.LogLevel, Backend: r.Backend}
	if err := c.call.Params.Parse(r.Method, r.Params, nil); err != nil {
		return nil, fmt.Errorf("the call's record: %w", err)
	}
	c.init(e, s, rec, id, s.holder(e))
	c.memory.Force(budget.Calls, copies*int64(len(r.Params))) // It was admitted when it began.
	if err := s.register(e, c, claimed); err != nil {
		c.memory.Release()
		return nil, err
	}
	c.observeClaim(why.Why, why.Began)
	claimed := &run.Claimed{Task: c, Context: c.ctx}
	for i := range r.Asked {
		q := &r.Asked[i]
		if q.Answer == nil {
			continue
		}
		if _, ok := answerOf(q); !ok {
			claimed.Refusal = c.refusedBy(q)
			break
		}
		if q.Answer.Error != nil {
			raw, _ := jsonrpc.Member(q.Answer.Error, "code")
			code, _ := strconv.Atoi(string(raw)) // 0: there is none
			c.e.log.Info("the client answered a question to its user with an error: the call goes on as if the user had dismissed it",
				"method", q.Method, "key", q.Key, "code", code)
		}
	}
	return claimed, nil
}

// callerOf returns the principal with whose rights a claimed call continues: that of the answer
// that claimed it, or of the last answer of its round, or else the one that it began with.
func callerOf(r *medium.Record, why run.Reason) mcp.Principal {
	if why.By != nil {
		return *why.By
	}
	for _, q := range slices.Backward(r.Asked) {
		if q.Answer != nil {
			return q.Answer.By
		}
	}
	return r.Principal
}

// refusedBy returns the response of a call whose client refused what only it could give.
func (c *execution) refusedBy(q *medium.Question) *call.Reply {
	text := refused(q)
	if c.call.Method != mcp.MethodToolsCall {
		return c.fail(mcp.Errorf(mcp.KindCancelled, "%s", text))
	}
	c.outcome = resultOf(c.id, toolError(text))
	c.outcome.seen.ToolError = true
	return &call.Reply{Kind: call.Final, Response: c.outcome.body}
}

package tasks

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// asks returns the reply of a round that needs another round.
func (x *runner) asks(round *medium.Record, reply mcp.Reply) *call.Reply {
	in := reply.Input
	x.keepsJob(x.Asked, in.State, !x.Repeatable && !round.Resumable)
	switch {
	case len(in.Requests) == 0: // the call may become a task before it continues
		return x.Repeat(in)
	case !x.isTask(): // the era asks the client, because there is no task yet
		return x.endPlain(reply, nil)
	}
	if err := x.CheckRounds(in); err != nil {
		return x.endRound(mcp.Reply{}, err)
	}
	asks := make([]state.Ask, len(in.Requests))
	for i, q := range in.Requests {
		e := entry{Key: keyOf(q.Key, round.Round), Method: q.Method, Params: q.Params}
		if q.Method == mcp.MethodApprove {
			// A store that has lost the question must not have another one by its key.
			e.Key = keyOf(q.Key+"."+x.t.o.Text(), round.Round)
			x.t.expireLater(x.session.ID, &e)
		}
		asks[i] = state.Ask{ID: e.Key, Key: q.Key, Method: q.Method, Message: e.encode()}
	}
	return x.Ask(in, trace.SpanContext{}, asks)
}

// keyOf returns the key of a question in the task, unique in the task: the backend's key, and the
// round. A question for an approval has a random text before that.
func keyOf(key string, round int) string { return key + "." + strconv.Itoa(round) }

// roundOf returns the round in a question's key.
func roundOf(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// againPrefix begins the new key of a question whose key was used before.
const againPrefix = "again."

// isForApproval reports whether the key of a question is that of one for an approval, which no client
// may answer. Keys of backends do not begin as mcp.ApprovalKey does.
func isForApproval(key string) bool {
	for again := true; again; {
		key, again = strings.CutPrefix(key, againPrefix)
	}
	return strings.HasPrefix(key, mcp.ApprovalKey)
}

// renamed replaces the keys of questions that were used before.
func renamed(asks *call.Reply) *call.Reply {
	out := *asks
	out.Asks = slices.Clone(asks.Asks)
	for i := range out.Asks {
		a := &out.Asks[i]
		var e entry
		if json.Unmarshal(a.Message, &e) != nil {
			continue
		}
		e.Key = againPrefix + e.Key
		a.ID, a.Message = e.Key, e.encode()
	}
	return &out
}

// endRound returns the reply of a round that ended the call.
func (x *runner) endRound(reply mcp.Reply, err error) *call.Reply {
	plain := !x.isTask()
	if plain && (!x.support.Required || err != nil) {
		return x.endPlain(reply, err)
	}
	if err != nil {
		x.mu.Lock()
		x.cause = mcp.AsError(err).Cause()
		x.mu.Unlock()
	} else if plain { // The call must become a task, although it has ended.
		_ = x.Defer(context.Background())
	}
	return final(reply, err)
}

// endPlain records the reply to a call that has not become a task. If it becomes one at the same
// time, the client still gets this reply.
func (x *runner) endPlain(reply mcp.Reply, err error) *call.Reply {
	x.mu.Lock()
	x.decided, x.reply, x.err = true, reply, err
	x.mu.Unlock()
	return final(reply, err)
}

// final returns the end of a call, which has no response if the era asks the client.
func final(reply mcp.Reply, err error) *call.Reply {
	switch {
	case err != nil:
		return &call.Reply{Kind: call.Final, Response: failed(err)}
	case reply.Input != nil:
		return &call.Reply{Kind: call.Final}
	}
	return &call.Reply{Kind: call.Final, Response: entry{Result: reply.Result, ToolError: reply.ToolError}.encode()}
}

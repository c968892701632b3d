package tasks

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// asks returns the reply of a round that needs another one.
func (x *execution) asks(round *medium.Record, asked int, reply mcp.Reply) *call.Reply {
	in := reply.Input
	x.keepsJob(asked, in.State, !x.repeatable && !round.Resumable)
	switch {
	case len(in.Requests) == 0: // It may become a task meanwhile.
		return &call.Reply{Kind: call.Busy, Pause: max(in.RetryAfter, minRetry), State: keptState(asked, in.State), Resumable: in.Repeatable}
	case !x.isTask.Load(): // The era asks the client, and there is no task yet.
		return x.answer(reply, nil)
	}
	if err := in.Beyond(asked, x.t.o.MaxRounds); err != nil {
		x.t.o.Telemetry.Hit(telemetry.BoundRounds)
		return x.ends(mcp.Reply{}, err)
	}
	asks := make([]state.Ask, len(in.Requests))
	for i, q := range in.Requests {
		e := entry{Key: keyOf(q.Key, round.Round), Method: q.Method, Params: q.Params}
		asks[i] = state.Ask{ID: e.Key, Key: q.Key, Method: q.Method, Message: e.encode()}
	}
	return &call.Reply{Kind: call.Asks, Asks: asks, State: keptState(asked+1, in.State), Resumable: in.Repeatable}
}

// keyOf returns the key of a question in the task, unique in the task: the backend's key, and the round.
func keyOf(key string, round int) string { return key + "." + strconv.Itoa(round) }

// roundOf returns the round in a question's key.
func roundOf(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// renamed gives questions other keys if theirs were used before.
func renamed(asks *call.Reply) *call.Reply {
	out := *asks
	out.Asks = slices.Clone(asks.Asks)
	for i := range out.Asks {
		a := &out.Asks[i]
		var e entry
		if json.Unmarshal(a.Message, &e) != nil {
			continue
		}
		e.Key = "again." + e.Key
		a.ID, a.Message = e.Key, e.encode()
	}
	return &out
}

// ends returns the reply of a round that ended the call.
func (x *execution) ends(reply mcp.Reply, err error) *call.Reply {
	plain := !x.isTask.Load()
	if plain && (!x.support.Required || err != nil) {
		return x.answer(reply, err)
	}
	if err != nil {
		x.mu.Lock()
		x.cause = mcp.AsError(err).Cause()
		x.mu.Unlock()
		return &call.Reply{Kind: call.Final, Response: failed(err)}
	}
	if plain { // It must become a task, though it has ended.
		_ = x.Defer(context.Background())
	}
	return &call.Reply{Kind: call.Final, Response: entry{Result: reply.Result, ToolError: reply.ToolError}.encode()}
}

// answer records the outcome of a call that has not become a task. If it becomes one at the same time, the client gets this
// outcome, and not the task.
func (x *execution) answer(reply mcp.Reply, err error) *call.Reply {
	x.mu.Lock()
	x.decided, x.reply, x.err = true, reply, err
	x.mu.Unlock()
	switch {
	case err != nil:
		return &call.Reply{Kind: call.Final, Response: failed(err)}
	case reply.Input != nil:
		return &call.Reply{Kind: call.Final}
	}
	return &call.Reply{Kind: call.Final, Response: entry{Result: reply.Result, ToolError: reply.ToolError}.encode()}
}

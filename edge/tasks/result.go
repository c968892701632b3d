package tasks

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// result serves tasks/result of 2025-11-25. It waits until the task has ended. Meanwhile it asks
// the client those of the task's questions that the client has declared to support. It is a call of
// the session like any other: the era manages its rounds, its stream and its takeovers.
func (t *Tasks) result(ctx context.Context, rules *revision.Rules, c *mcp.Call, v *view) (mcp.Reply, error) {
	if len(c.Responses) > 0 {
		p := newPicker(v.asks)
		for _, r := range c.Responses {
			if err := p.take([]byte(r.Key), r.Result); err != nil {
				return mcp.Reply{}, err
			}
		}
		if err := t.answer(ctx, v.ID, p, &c.Principal); err != nil {
			return mcp.Reply{}, err
		}
	}
	t.work.Idle() // The task continues without it.
	v, err := t.await(ctx, c.Memory, c.Params.Target, &c.Principal, func(v *view) bool {
		return v.over() || v.status == InputRequired && len(answerable(v, &c.Client.Capabilities)) > 0
	})
	t.work.Active()
	if ctx.Err() != nil && err != nil {
		return mcp.Reply{}, mcp.Errorf(mcp.KindCancelled, "the request was cancelled; the task continues")
	}
	if err != nil {
		return mcp.Reply{}, err
	}
	// The decision is repeated: the wait may have been long.
	if err := t.permit(ctx, rules, c, v, useQuiet); err != nil {
		return mcp.Reply{}, err
	}
	switch {
	case !v.over():
		asks := answerable(v, &c.Client.Capabilities)
		return mcp.Reply{Input: &mcp.InputRequired{Requests: asksOf(v.ID, asks), AwaitWithdrawal: t.awaitWithdrawal(c.Memory.Holder(), v.ID, asks, c.Principal)}}, nil
	case v.status == Completed:
		return mcp.Reply{Result: resultFor(rules, v), ToolError: v.ToolError}, nil
	case v.status == Cancelled:
		return mcp.Reply{}, &mcp.Error{Kind: mcp.KindCancelled, Message: "the task was cancelled", Data: relatedData(v.ID)}
	}
	return mcp.Reply{}, v.end.Failure.error()
}

// answerable returns the questions of a task that a client with these capabilities can answer.
func answerable(v *view, can *mcp.Capabilities) []entry {
	return slices.DeleteFunc(slices.Clone(v.asks), func(e entry) bool {
		switch e.Method {
		case mcp.MethodElicit:
			if urlMode(e.Params) {
				return !can.ElicitURL
			}
			return !can.ElicitForm
		case mcp.MethodCreateMessage:
			_, tools := jsonrpc.Member(e.Params, "tools")
			return !can.Sampling || tools && !can.SamplingTools
		case mcp.MethodListRoots:
			return !can.Roots
		}
		return false
	})
}

// asksOf returns questions of a task as requests to a session's client.
func asksOf(id string, asks []entry) []mcp.InputRequest {
	out := make([]mcp.InputRequest, len(asks))
	for i, e := range asks {
		out[i] = mcp.InputRequest{Key: e.Key, Method: e.Method, Params: withRelated(e.Params, id), URLMode: urlMode(e.Params)}
	}
	return out
}

// awaitWithdrawal returns the mcp.InputRequired.AwaitWithdrawal of these questions: it waits until
// none of them is open, and charges h.
func (t *Tasks) awaitWithdrawal(h *budget.Holder, id string, asks []entry, who mcp.Principal) func(context.Context) bool {
	keys := make([]string, len(asks))
	for i, e := range asks {
		keys[i] = e.Key
	}
	return func(ctx context.Context) bool {
		memory := h.Begin()
		defer memory.Release()
		_, err := t.await(ctx, &memory, id, &who, func(v *view) bool {
			return v.over() || !slices.ContainsFunc(v.asks, func(e entry) bool { return slices.Contains(keys, e.Key) })
		})
		return err == nil || mcp.AsError(err).Kind == mcp.KindInvalidParams // The task has expired.
	}
}

func urlMode(params json.RawMessage) bool {
	mode, _ := jsonrpc.Member(params, "mode")
	return string(mode) == `"url"`
}

// relatedData returns the data of an error that names the task.
func relatedData(id string) json.RawMessage {
	return append(append([]byte(`{"_meta":`), related(nil, id)...), '}')
}

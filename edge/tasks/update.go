package tasks

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
)

// update serves tasks/update (Tasks, "Task Update Requests"): answers to some of the task's questions. Those that nobody waits for are
// ignored.
func (t *Tasks) update(ctx context.Context, rules *revision.Rules, c *mcp.Call) (mcp.Reply, error) {
	v, err := t.load(ctx, c.Params.Target, &c.Principal)
	if err != nil {
		return mcp.Reply{}, err
	}
	if jsonrpc.TypeOf(c.Params.InputResponses) != jsonrpc.Object {
		return mcp.Reply{}, mcp.Errorf(mcp.KindInvalidParams, "params.inputResponses must be an object of results, by the keys of inputRequests")
	}
	var given []mcp.InputResponse
	err = jsonrpc.Members(c.Params.InputResponses, func(key string, value json.RawMessage) error {
		if slices.ContainsFunc(given, func(r mcp.InputResponse) bool { return r.Key == key }) {
			return mcp.Errorf(mcp.KindInvalidParams, "params.inputResponses has the key %.80q twice: send it once", key)
		}
		given = append(given, mcp.InputResponse{Key: key, Result: value})
		return nil
	})
	if err != nil {
		return mcp.Reply{}, mcp.AsError(err)
	}
	if err := t.answer(ctx, v, given, &c.Principal); err != nil {
		return mcp.Reply{}, err
	}
	return t.complete(ctx, rules, c, "complete", nil), nil
}

// answer gives a task the answers to its questions. The one that completes them has the task go on here, with the rights of who gave
// it.
func (t *Tasks) answer(ctx context.Context, v *view, given []mcp.InputResponse, who *mcp.Principal) error {
	for _, r := range given {
		if !slices.ContainsFunc(v.asks, func(e entry) bool { return e.Key == r.Key }) {
			t.counters.AnswersUnknown.Add(1)
			continue
		}
		if jsonrpc.TypeOf(r.Result) != jsonrpc.Object {
			return mcp.Errorf(mcp.KindInvalidParams, "the answer to %.80q is no object: send the result of the request", r.Key)
		}
	}
	for _, r := range given {
		if !slices.ContainsFunc(v.asks, func(e entry) bool { return e.Key == r.Key }) {
			continue
		}
		a := state.Answer{Result: bytes.Clone(r.Result), Token: rand.Text(), By: *who}
		_, release, err := t.calls.Answer(ctx, v.id, r.Key, a, *who)
		if err != nil {
			return t.storeError(v.id, err)
		}
		if release != nil {
			release()
		}
	}
	return nil
}

package tasks

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"time"

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

// cancel serves tasks/cancel, of both eras: when it returns, the task is cancelled, or has ended otherwise before.
func (t *Tasks) cancel(ctx context.Context, rules *revision.Rules, c *mcp.Call) (mcp.Reply, error) {
	v, err := t.load(ctx, c.Params.Target, &c.Principal)
	if err != nil {
		return mcp.Reply{}, err
	}
	if !v.over() {
		if v, err = t.end(ctx, v.id, &c.Principal); err != nil {
			return mcp.Reply{}, err
		}
		if rules.Stateless || v.status == Cancelled {
			return t.acknowledged(ctx, rules, c, v)
		}
	}
	if rules.Stateless { // Cancelling again, or too late, is no error.
		return t.acknowledged(ctx, rules, c, v)
	}
	return mcp.Reply{}, mcp.Errorf(mcp.KindInvalidParams, "the task cannot be cancelled: it is %s", v.status)
}

// end cancels a task of a principal's and waits until it has ended.
func (t *Tasks) end(ctx context.Context, id string, who *mcp.Principal) (*view, error) {
	if here := t.calls.Call(id); here != nil {
		here.Cancel()
	} else {
		t.calls.Cancel(id, requestID)
	}
	return t.awaitEnd(ctx, id, who)
}

func (t *Tasks) acknowledged(ctx context.Context, rules *revision.Rules, c *mcp.Call, v *view) (mcp.Reply, error) {
	if rules.Stateless {
		return t.complete(ctx, rules, c, "complete", nil), nil
	}
	return t.shown(ctx, rules, c, v)
}

// awaitEnd waits until a task has ended that was cancelled, for as long as an operation on the store may take.
func (t *Tasks) awaitEnd(ctx context.Context, id string, who *mcp.Principal) (*view, error) {
	wctx, cancel := bounded(ctx)
	defer cancel()
	v, err := t.await(wctx, id, who, func(v *view) bool { return v.over() })
	if wctx.Err() != nil && err != nil {
		return nil, unavailable(err)
	}
	return v, err
}

// lookAgain is how often a task is read whose changes may be told by a replica that is lost.
const lookAgain = time.Second

// await reads a task until it is as somebody waits for it to be, or ctx ends, with its error.
func (t *Tasks) await(ctx context.Context, id string, who *mcp.Principal, done func(*view) bool) (*view, error) {
	changed := make(chan struct{}, 1)
	defer t.store.Follow(id, stream, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		v, err := t.load(ctx, id, who)
		if err != nil && mcp.AsError(err).Kind != mcp.KindStateUnavailable {
			return nil, err
		}
		if err == nil && done(v) {
			return v, nil
		}
		select {
		case <-changed:
		case <-again.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.closing:
			return nil, mcp.Errorf(mcp.KindUnavailable, "this server is shutting down; send the request again")
		}
	}
}

// result serves tasks/result of 2025-11-25: it waits until the task has ended, and asks the client meanwhile what the task asks, as far as
// the client has declared that it can answer. It is a call of the session as any other: its rounds, its stream and its takeovers are the
// era's.
func (t *Tasks) result(ctx context.Context, rules *revision.Rules, c *mcp.Call) (mcp.Reply, error) {
	if len(c.Responses) > 0 {
		v, err := t.load(ctx, c.Params.Target, &c.Principal)
		if err != nil {
			return mcp.Reply{}, err
		}
		if err := t.answer(ctx, v, c.Responses, &c.Principal); err != nil {
			return mcp.Reply{}, err
		}
	}
	t.work.Rest() // The task goes on without it.
	v, err := t.await(ctx, c.Params.Target, &c.Principal, func(v *view) bool {
		return v.over() || v.status == InputRequired && len(answerable(v, &c.Client.Capabilities)) > 0
	})
	t.work.Unrest()
	if ctx.Err() != nil && err != nil {
		return mcp.Reply{}, mcp.Errorf(mcp.KindCancelled, "the request was cancelled; the task goes on")
	}
	switch {
	case err != nil:
		return mcp.Reply{}, err
	case !v.over():
		asks := answerable(v, &c.Client.Capabilities)
		return mcp.Reply{Input: &mcp.InputRequired{Requests: asksOf(v.id, asks), Moot: t.moot(v.id, asks, c.Principal)}}, nil
	case v.status == Completed:
		return mcp.Reply{Result: resultFor(rules, v), ToolError: v.end.ToolError}, nil
	case v.status == Cancelled:
		return mcp.Reply{}, &mcp.Error{Kind: mcp.KindCancelled, Message: "the task was cancelled", Data: relatedData(v.id)}
	}
	return mcp.Reply{}, v.end.Failure.error()
}

// answerable are the questions of a task that a client with these capabilities can answer.
func answerable(v *view, can *mcp.Capabilities) (out []entry) {
	for _, e := range v.asks {
		ok := true
		switch e.Method {
		case mcp.MethodElicit:
			ok = can.ElicitForm
			if urlMode(e.Params) {
				ok = can.ElicitURL
			}
		case mcp.MethodCreateMessage:
			_, tools := jsonrpc.Member(orObject(e.Params), "tools")
			ok = can.Sampling && (can.SamplingTools || !tools)
		case mcp.MethodListRoots:
			ok = can.Roots
		}
		if ok {
			out = append(out, e)
		}
	}
	return out
}

// asksOf are questions of a task as a session's client is asked them.
func asksOf(id string, asks []entry) []mcp.InputRequest {
	out := make([]mcp.InputRequest, len(asks))
	for i, e := range asks {
		out[i] = mcp.InputRequest{Key: e.Key, Method: e.Method, Params: withRelated(e.Params, id), URLMode: urlMode(e.Params)}
	}
	return out
}

// moot waits until a task asks none of the questions any more: see mcp.InputRequired.
func (t *Tasks) moot(id string, asks []entry, who mcp.Principal) func(context.Context) bool {
	keys := make([]string, len(asks))
	for i, e := range asks {
		keys[i] = e.Key
	}
	return func(ctx context.Context) bool {
		_, err := t.await(ctx, id, &who, func(v *view) bool {
			return v.over() || !slices.ContainsFunc(v.asks, func(e entry) bool { return slices.Contains(keys, e.Key) })
		})
		return err == nil || mcp.AsError(err).Kind == mcp.KindInvalidParams // It has expired.
	}
}

func urlMode(params json.RawMessage) bool {
	mode, _ := jsonrpc.Member(orObject(params), "mode")
	return string(mode) == `"url"`
}

func orObject(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// relatedData names the task in the data of an error.
func relatedData(id string) json.RawMessage {
	return append(append([]byte(`{"_meta":`), related(nil, id)...), '}')
}

// onEvent hears what another replica tells.
func (t *Tasks) onEvent(e state.SessionEvent) {
	if e.Kind != state.RequestCancelled {
		return
	}
	if c := t.calls.Call(e.Session); c != nil {
		c.Cancel()
	}
}

// tellCancelled tells the replica that runs a task that it was cancelled.
func (t *Tasks) tellCancelled(id, request string) {
	ctx, cancel := bounded(context.Background())
	defer cancel()
	_ = t.store.Notify(ctx, state.SessionEvent{Kind: state.RequestCancelled, Session: id, RequestID: request})
}

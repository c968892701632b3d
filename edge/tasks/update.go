package tasks

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
)

// update serves tasks/update (Tasks, "Task Update Requests"): answers to some of the task's
// questions. It ignores answers that match no waiting question.
func (t *Tasks) update(ctx context.Context, rules *revision.Rules, c *mcp.Call) (mcp.Reply, error) {
	v, err := t.load(ctx, c.Memory, c.Params.Target, &c.Principal)
	if err != nil {
		return mcp.Reply{}, err
	}
	if err := t.permit(ctx, rules, c, v, useRequest); err != nil {
		return mcp.Reply{}, err
	}
	given, unknown, err := pickAnswers(c.Params.More().InputResponses, v.asks)
	if err != nil {
		return mcp.Reply{}, err
	}
	t.counters.AnswersUnknown.Add(unknown)
	if err := t.answer(ctx, v.id, given, &c.Principal); err != nil {
		return mcp.Reply{}, err
	}
	return t.complete(rules, c, "complete", nil), nil
}

// pickAnswers picks, from an object of results by key, the answers to the asked questions, in the
// order of the questions. unknown counts the others, which are dropped. Its time is linear in the
// bytes of the object, and its memory linear in the questions.
func pickAnswers(responses json.RawMessage, asked []entry) (given []mcp.InputResponse, unknown int64, err error) {
	if jsonrpc.TypeOf(responses) != jsonrpc.Object {
		return nil, 0, mcp.Errorf(mcp.KindInvalidParams, "params.inputResponses must be an object of results, by the keys of inputRequests")
	}
	p := newPicker(asked)
	err = jsonrpc.Members(responses, func(key []byte, value json.RawMessage) error { return p.take(key, value) })
	if err != nil {
		return nil, 0, mcp.AsError(err)
	}
	return p.given(), p.unknown, nil
}

// ofAsked returns the answers to questions that a task asks.
func ofAsked(responses []mcp.InputResponse, asked []entry) (given []mcp.InputResponse, unknown int64, err error) {
	p := newPicker(asked)
	for i := range responses {
		if err := p.take([]byte(responses[i].Key), responses[i].Result); err != nil {
			return nil, 0, err
		}
	}
	return p.given(), p.unknown, nil
}

// picker holds the answer to each asked question.
type picker struct {
	asked   []entry
	places  map[string]int
	results []json.RawMessage
	// unknown counts the answers to other questions.
	unknown int64
}

func newPicker(asked []entry) *picker {
	p := &picker{asked: asked, places: make(map[string]int, len(asked)), results: make([]json.RawMessage, len(asked))}
	for i := range asked {
		p.places[asked[i].Key] = i
	}
	return p
}

// take takes an answer, with one lookup of its place. The errors are for the client.
func (p *picker) take(key []byte, result json.RawMessage) error {
	i, ok := p.places[string(key)]
	switch {
	case !ok:
		p.unknown++
	case p.results[i] != nil:
		return mcp.Errorf(mcp.KindInvalidParams, "params.inputResponses has the key %.80q twice: send it once", key)
	case jsonrpc.TypeOf(result) != jsonrpc.Object:
		return mcp.Errorf(mcp.KindInvalidParams, "the answer to %.80q is no object: send the result of the request", key)
	default:
		p.results[i] = result
	}
	return nil
}

// given returns the answers that were taken.
func (p *picker) given() (out []mcp.InputResponse) {
	for i, result := range p.results {
		if result != nil {
			out = append(out, mcp.InputResponse{Key: p.asked[i].Key, Result: result})
		}
	}
	return out
}

// answer stores answers to the questions of a task. The answer that completes them continues the
// task on this replica, with the rights of the caller that answered. If the client disconnects, the
// remaining answers are not stored.
func (t *Tasks) answer(ctx context.Context, id string, given []mcp.InputResponse, who *mcp.Principal) error {
	for _, r := range given {
		if err := ctx.Err(); err != nil {
			return mcp.Errorf(mcp.KindCancelled, "the request ended before all of its answers were taken: %w", err)
		}
		a := state.Answer{Result: bytes.Clone(r.Result), Token: t.o.Text(), By: *who}
		_, release, err := t.calls.Answer(ctx, id, r.Key, a, *who)
		if err != nil {
			return t.storeError(id, err)
		}
		if release != nil {
			release()
		}
	}
	return nil
}

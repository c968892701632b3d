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

// mostUnmatched and unmatchedBytes bound the answers of one request that are stored though their
// questions were not found.
const mostUnmatched, unmatchedBytes = 16, 64 << 10

// update serves tasks/update (Tasks, "Task Update Requests"): answers to some of the task's
// questions. Answers that match no waiting question have no effect, unless the store has lost the
// question and gets it back: see picker.
func (t *Tasks) update(ctx context.Context, rules *revision.Rules, c *mcp.Call) (mcp.Reply, error) {
	v, err := t.load(ctx, c.Memory, c.Params.Target, &c.Principal)
	if err != nil {
		return mcp.Reply{}, err
	}
	if err := t.permit(ctx, rules, c, v, useRequest); err != nil {
		return mcp.Reply{}, err
	}
	p, err := pickAnswers(c.Params.More().InputResponses, v.asks)
	if err != nil {
		return mcp.Reply{}, err
	}
	if err := t.answer(ctx, v.ID, p, &c.Principal); err != nil {
		return mcp.Reply{}, err
	}
	return t.complete(rules, c, "complete", nil), nil
}

// pickAnswers picks, from an object of results by key, the answers to the asked questions. Its time
// is linear in the bytes of the object, and its memory linear in the questions.
func pickAnswers(responses json.RawMessage, asked []entry) (*picker, error) {
	if jsonrpc.TypeOf(responses) != jsonrpc.Object {
		return nil, mcp.Errorf(mcp.KindInvalidParams, "params.inputResponses must be an object of results, by the keys of inputRequests")
	}
	p := newPicker(asked)
	err := jsonrpc.Members(responses, func(key []byte, value json.RawMessage) error { return p.take(key, value) })
	if err != nil {
		return nil, mcp.AsError(err)
	}
	return p, nil
}

// ofAsked picks the answers to the asked questions from those of a session's client.
func ofAsked(responses []mcp.InputResponse, asked []entry) (*picker, error) {
	p := newPicker(asked)
	for i := range responses {
		if err := p.take([]byte(responses[i].Key), responses[i].Result); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// picker holds the answer to each asked question, and a bounded number of answers to others. The
// store may have lost the question of such an answer, or lose it while the task is read, and get it
// back from another replica: the client, which has read it, does not answer it again. So the store
// gets these answers, too, and the replica repeats them for a time: see runtime.Replica.Answer.
type picker struct {
	asked   []entry
	places  map[string]int
	results []json.RawMessage
	// unknown counts the answers to questions that are not asked, unmatched included.
	unknown   int64
	unmatched []mcp.InputResponse
	// bytes is the size of unmatched.
	bytes int
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
		p.keep(key, result)
	case p.results[i] != nil:
		return mcp.Errorf(mcp.KindInvalidParams, "params.inputResponses has the key %.80q twice: send it once", key)
	case jsonrpc.TypeOf(result) != jsonrpc.Object:
		return mcp.Errorf(mcp.KindInvalidParams, "the answer to %.80q is no object: send the result of the request", key)
	default:
		p.results[i] = result
	}
	return nil
}

// keep adds an answer to those whose question is not asked, within their bounds.
func (p *picker) keep(key []byte, result json.RawMessage) {
	size := len(key) + len(result)
	if len(p.unmatched) == mostUnmatched || p.bytes+size > unmatchedBytes || isForApproval(string(key)) || jsonrpc.TypeOf(result) != jsonrpc.Object {
		return
	}
	p.bytes += size
	p.unmatched = append(p.unmatched, mcp.InputResponse{Key: string(key), Result: result})
}

// given returns the answers to store: those to the asked questions in the order of the questions, and
// then the others.
func (p *picker) given() (out []mcp.InputResponse) {
	for i, result := range p.results {
		if result != nil {
			out = append(out, mcp.InputResponse{Key: p.asked[i].Key, Result: result})
		}
	}
	return append(out, p.unmatched...)
}

// answer stores answers to the questions of a task. The answer that completes them continues the
// task on this replica, with the rights of the caller that answered. If the client disconnects, the
// remaining answers are not stored.
func (t *Tasks) answer(ctx context.Context, id string, p *picker, who *mcp.Principal) error {
	t.counters.AnswersUnknown.Add(p.unknown)
	for _, r := range p.given() {
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

package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

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
func (t *Tasks) update(ctx context.Context, rules *revision.Rules, c *mcp.Call, v *view) (mcp.Reply, error) {
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
	if err := jsonrpc.Members(responses, p.take); err != nil {
		return nil, mcp.AsError(err)
	}
	return p, nil
}

// picker holds the answer to each asked question, and a bounded number of answers to others. The
// store may have lost the question of such an answer, or lose it while the task is read, and get it
// back from another replica: the client, which has read it, does not answer it again. So the store
// gets these answers, too, and the replica repeats them for a time: see runtime.Replica.Answer.
type picker struct {
	// answers are those to the asked questions, in their order; Result is nil until there is one.
	// places are their indexes by key.
	answers []mcp.InputResponse
	places  map[string]int
	// unknown counts the answers to questions that are not asked, unmatched included.
	unknown   int64
	unmatched []mcp.InputResponse
	// bytes is the size of unmatched.
	bytes int
}

func newPicker(asked []entry) *picker {
	p := &picker{answers: make([]mcp.InputResponse, len(asked)), places: make(map[string]int, len(asked))}
	for i := range asked {
		p.answers[i].Key, p.places[asked[i].Key] = asked[i].Key, i
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
	case p.answers[i].Result != nil:
		return mcp.Errorf(mcp.KindInvalidParams, "params.inputResponses has the key %.80q twice: send it once", key)
	case jsonrpc.TypeOf(result) != jsonrpc.Object:
		return mcp.Errorf(mcp.KindInvalidParams, "the answer to %.80q is no object: send the result of the request", key)
	default:
		p.answers[i].Result = result
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
func (p *picker) given() []mcp.InputResponse {
	out := slices.DeleteFunc(slices.Clone(p.answers), func(r mcp.InputResponse) bool { return r.Result == nil })
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

package dispatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/schema"
	"github.com/mcpedge/mcpedge/edge/translate"
)

const (
	// maxMisfits bounds the consecutive misfitting answers to one question. The edge asks the
	// question again after each but the last.
	maxMisfits = 3
	// maxFormSchema bounds the form schemas against which answers are checked, in bytes. Answers to
	// larger forms are not checked.
	maxFormSchema = 8 << 10
)

// askAgain completes questions that a backend repeats because the client's answer does not fit: it
// appends the reason to the message of each. It returns mcp.ErrMisfit after the last permitted
// answer. It does not change a question that is repeated for another reason, or a different
// question under the same key.
func (r *round) askAgain(in *mcp.InputRequired) error {
	var asked misfits
	for i := range in.Requests {
		q := &in.Requests[i]
		this := misfit{Question: questionOf(q)}
		before, known := r.misfits[q.Key]
		same := known && before.Question == this.Question || r.backendRound() <= 1 // In a first round, the responses were not asked for.
		if answer := r.answerTo(q.Key); answer != nil && same {
			if reason := misfitOf(q, answer); reason != nil {
				if this.Count = before.Count + 1; this.Count >= maxMisfits {
					return &mcp.Error{Kind: mcp.KindInvalidParams, Err: mcp.ErrMisfit,
						Message: fmt.Sprintf("the client's answer to %q does not fit the question, after it was asked %d times: %v", q.Key, this.Count, reason)}
				}
				q.Params = withReason(q.Params, r.masks(redact.Questions).Text(reason.Error()))
			}
		}
		if asked == nil {
			asked = misfits{}
		}
		asked[q.Key] = this
	}
	in.State = asked.prepend(in.State)
	return nil
}

// questionOf returns a hash of the properties of a question that an answer must fit: its method and
// its form.
func questionOf(q *mcp.InputRequest) uint64 {
	form, _ := jsonrpc.Member(q.Params, "requestedSchema")
	h := fnv.New64a()
	_, _ = h.Write([]byte(q.Method))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write(form)
	return h.Sum64()
}

// answerTo returns the client's answer with a key in this round, or nil if there is none.
func (r *round) answerTo(key string) *mcp.InputResponse {
	for i := range r.call.Responses {
		if a := &r.call.Responses[i]; a.Key == key {
			return a
		}
	}
	return nil
}

// misfitOf returns why an answer does not fit a question. nil means that it fits, or that the edge
// cannot check it.
func misfitOf(q *mcp.InputRequest, answer *mcp.InputResponse) error {
	content, ok := translate.Answered(q.Method, answer.Result)
	if !ok {
		return fmt.Errorf("it is not a result of %s", q.Method)
	}
	raw, isForm := jsonrpc.Member(q.Params, "requestedSchema")
	if content == "" || !isForm || len(raw) > maxFormSchema {
		return nil
	}
	s, err := schema.CompileForm(string(raw))
	if err != nil {
		return nil
	}
	if err := s.Validate([]byte(content)); err != nil && !errors.Is(err, schema.ErrCost) {
		return err
	}
	return nil
}

// withReason returns the params of a question with the reason appended to its message, if it has a
// message.
func withReason(params json.RawMessage, reason string) json.RawMessage {
	out := []byte{'{'}
	err := jsonrpc.Members(params, func(key string, value json.RawMessage) error {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(jsonrpc.AppendString(out, key), ':')
		if text, ok := jsonrpc.Unquote(value); ok && key == "message" {
			out = jsonrpc.AppendString(out, fmt.Sprintf("%s\n\nThe last answer did not fit: %s.", text, reason))
			return nil
		}
		out = append(out, value...)
		return nil
	})
	if err != nil {
		return params
	}
	return append(out, '}')
}

// misfits maps the keys of a round's questions to their failed answers. The state of the round
// stores them before the backend's own state.
type misfits map[string]misfit

// misfit is a question, and the number of consecutive answers to it that did not fit.
type misfit struct {
	Question uint64 `json:"q"`
	Count    int    `json:"n,omitempty"`
}

// misfitsMark begins a state that holds misfits.
var misfitsMark = []byte("mcpedge.misfits\x00")

// prepend puts the misfits before a backend's own state. Without misfits the state is unchanged,
// unless it begins with misfitsMark.
func (m misfits) prepend(own []byte) []byte {
	if len(m) == 0 && !bytes.HasPrefix(own, misfitsMark) {
		return own
	}
	counts, _ := json.Marshal(m) // A map of strings and numbers is always JSON.
	out := append(append(bytes.Clone(misfitsMark), counts...), 0)
	return append(out, own...)
}

// openMisfits separates the misfits from the backend's own state; it is the inverse of prepend.
func openMisfits(state []byte) (m misfits, own []byte) {
	rest, ok := bytes.CutPrefix(state, misfitsMark)
	if !ok {
		return nil, state
	}
	counts, own, ok := bytes.Cut(rest, []byte{0})
	if !ok || json.Unmarshal(counts, &m) != nil {
		return nil, state
	}
	if len(own) == 0 {
		own = nil
	}
	return m, own
}

// withOwnState returns the call with the backend's own state, and the misfits and the consent that
// preceded it. It does not change its argument.
func withOwnState(call *mcp.Call) (*mcp.Call, misfits, *consent) {
	if !bytes.HasPrefix(call.State, misfitsMark) && !bytes.HasPrefix(call.State, consentMark) {
		return call, nil, &noConsent
	}
	own := *call
	c, rest := openConsent(call.State)
	var m misfits
	m, own.State = openMisfits(rest)
	return &own, m, &c
}

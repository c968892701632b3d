package dispatch

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// consent is what one round stores about the consent of its call for the next one, at the beginning of
// the state. The zero value is that of a call without questions.
type consent struct {
	// Call is the digest of the call that has the consent, or about which the edge asked.
	Call []byte `json:"c,omitempty"`
	// Has are the confirmations that the call has, or has once the user accepts.
	Has []agreement `json:"h,omitempty"`
	// Asked means that the round asked the user to confirm.
	Asked bool `json:"q,omitempty"`
	// Nonce is spent before the backend is called. Empty means that the state is used once without it,
	// because the edge keeps it, or that it may be used again.
	Nonce string `json:"n,omitempty"`
	// Store is the ID of the store of Nonce.
	Store string `json:"s,omitempty"`
	// From is the network of the client that got the state, to which Nonce is charged. It is set if
	// the caller is anonymous and the network is known.
	From string `json:"f,omitempty"`
	// Until is when Nonce expires, in milliseconds since 1970.
	Until int64 `json:"u,omitempty"`
	// Answers are the client's answers to the backend's questions that were not passed on before the
	// edge asked the user.
	Answers []keptAnswer `json:"a,omitempty"`
	// Awaits are the approvals that the round waits for. nil means that it waits for none. Approved
	// are the approvals that the call has.
	Awaits   []agreement `json:"w,omitempty"`
	Approved []approved  `json:"p,omitempty"`
	// Rounds is the number of rounds in which the edge asked. The backend does not count them.
	Rounds int `json:"e,omitempty"`
}

// agreement is a confirmation in a consent, or an approval that it waits for.
type agreement struct {
	Name   string `json:"n"`
	Digest []byte `json:"d"`
	// Remembered means that the user was not asked, because an earlier answer was remembered.
	Remembered bool `json:"r,omitempty"`
}

// approved is an approval in a consent.
type approved struct {
	Name   string       `json:"n"`
	Digest []byte       `json:"d"`
	By     mcp.Approver `json:"b"`
}

// keptAnswer is an answer in a consent.
type keptAnswer struct {
	Key    string     `json:"k"`
	Method mcp.Method `json:"m,omitempty"`
	Result []byte     `json:"r"`
}

// noConsent is that of a call without questions. It is shared, and not changed.
var noConsent consent

// consentMark begins a state that holds a consent.
var consentMark = []byte("mcpedge.consent\x00")

// prepend prepends the consent to the rest of a state. Without a question it returns rest unchanged,
// unless rest begins with consentMark.
func (c *consent) prepend(rest []byte) []byte {
	if c.Call == nil && c.Rounds == 0 && !bytes.HasPrefix(rest, consentMark) {
		return rest
	}
	text, _ := json.Marshal(c) // Bytes and strings are always JSON.
	out := append(append(bytes.Clone(consentMark), text...), 0)
	return append(out, rest...)
}

// openConsent separates the consent from the rest of a state; it is the inverse of prepend.
func openConsent(state []byte) (c consent, rest []byte) {
	text, ok := bytes.CutPrefix(state, consentMark)
	if !ok {
		return consent{}, state
	}
	text, rest, ok = bytes.Cut(text, []byte{0})
	if !ok || json.Unmarshal(text, &c) != nil {
		return consent{}, state
	}
	if len(rest) == 0 {
		rest = nil
	}
	return c, rest
}

// hasAll reports whether a consent has all confirmations of a list.
func (c *consent) hasAll(obligations []policy.Obligation) bool {
	for i := range obligations {
		if !slices.ContainsFunc(c.Has, func(a agreement) bool { return bytes.Equal(a.Digest, obligations[i].Digest[:]) }) {
			return false
		}
	}
	return true
}

// keep keeps the answers of a round, except for that to the edge's own question. It returns false
// if they exceed the bound.
func (c *consent) keep(answers []mcp.InputResponse) bool {
	n := 0
	for i := range answers {
		if a := &answers[i]; a.Key != confirmKey {
			n += len(a.Key) + len(a.Result)
			c.Answers = append(c.Answers, keptAnswer{a.Key, a.Method, a.Result})
		}
	}
	return n <= mcp.MaxState
}

// kept returns the answers that were kept.
func (c *consent) kept() (out []mcp.InputResponse) {
	for _, a := range c.Answers {
		out = append(out, mcp.InputResponse{Key: a.Key, Method: a.Method, Result: a.Result})
	}
	return out
}

func digestOf(parts ...[]byte) []byte {
	h := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:", len(p))
		_, _ = h.Write(p)
	}
	return h.Sum(nil)
}

// digest returns the digest of the confirmed call: the caller, the set, the backend, the backend's
// name of the tool, and its arguments. The text of the question is not included, because it depends
// on the name by which the client called the tool.
func (r *round) digest(args json.RawMessage) []byte {
	return digestOf([]byte(r.call.Principal.Key()), r.toolDigest(), jsonrpc.Compact(nil, args))
}

// toolDigest returns the digest of the set, the backend, and its name of the tool.
func (r *round) toolDigest() []byte {
	t := r.named.Tool
	return digestOf([]byte(r.call.Set), []byte(t.Owner.Name()), []byte(t.Proto.GetName()))
}

// backendRound returns the number of the round as the backend counts it.
func (r *round) backendRound() int { return max(r.call.Round-r.before.Rounds, 1) }

// asksFor returns the names of the confirmations that a question was about.
func (c *consent) asksFor() (names []string) {
	for i := range c.Has {
		if !c.Has[i].Remembered {
			names = append(names, c.Has[i].Name)
		}
	}
	return names
}

// awaited returns the names of the approvals that the question of a round was about.
func (c *consent) awaited() (names []string) {
	for i := range c.Awaits {
		names = append(names, c.Awaits[i].Name)
	}
	return names
}

package stateless

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// sealed is the state of a call between its rounds. It passes through the client as requestState.
type sealed struct {
	CallID  string                `json:"c"`
	Round   int                   `json:"r"` // the number of the next round
	Asked   int                   `json:"a"` // the number of rounds that asked the client
	Expires time.Time             `json:"e"`
	Methods map[string]mcp.Method `json:"m,omitempty"` // the methods of the questions, by key
	State   []byte                `json:"s,omitempty"` // the backend's own state
	Backend string                `json:"w,omitempty"` // the backend of State and the questions
	// Name is the canonical name of the tool or prompt. Empty means the name that the client uses.
	Name string `json:"n,omitempty"`
	// Wrapped means that the client made the request through a tool of the edge, see mcp.Wrapped.
	Wrapped bool `json:"t,omitempty"`
	// Added are the arguments, as an object, that the client did not send.
	Added json.RawMessage `json:"x,omitempty"`
	// Progress is the progress sent to the client so far.
	Progress mcp.ProgressTracker `json:"p,omitzero"`
	// Origin is the span of the first round, Before that of the previous round, each as a traceparent.
	// Empty means that the round was not traced.
	Origin string `json:"o,omitempty"`
	Before string `json:"b,omitempty"`
}

// stateCipher is AES-256-GCM with a random nonce of 12 bytes before the ciphertext. The bound data
// are the request of the state (principal, set, method, target, arguments), so a state opens for
// that request only.
func stateCipher(key []byte) (cipher.AEAD, []byte, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return aead, nil, err
}

// notIssued is the error message for a state that cannot be opened.
const notIssued = "requestState was not issued by this service for this request, or was changed: start the call again without it"

// associatedData returns the associated data of a call.
func associatedData(call *mcp.Call) []byte {
	h := sha256.New()
	method, name, arguments := call.Bound()
	for _, part := range []string{call.Principal.Key(), string(method), name} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	if call.Set != "" { // Without a set, the digest is the same as in earlier releases.
		fmt.Fprintf(h, "set %d:%s", len(call.Set), call.Set)
	}
	h.Write(jsonrpc.Compact(nil, arguments))
	return h.Sum(nil)
}

// openState opens a state. The error is of KindBadState, and has its reason for the log.
func openState(keys era.Keys, text string, bind []byte, now time.Time) (sealed, *mcp.Error) {
	var state sealed
	switch err := keys.Open(stateCipher, text, bind, &state); {
	case errors.Is(err, era.ErrForged):
		return state, badState("it is for another caller, set, method, target or arguments, or was changed")
	case err != nil:
		return state, badState(err.Error())
	case now.After(state.Expires):
		return state, mcp.Errorf(mcp.KindBadState, "requestState expired at %s: start the call again without it", state.Expires.UTC().Format(time.RFC3339))
	}
	return state, nil
}

func badState(reason string) *mcp.Error {
	return &mcp.Error{Kind: mcp.KindBadState, Message: notIssued, Reason: "requestState: " + reason}
}

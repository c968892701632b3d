package stateless

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

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

// sealer seals with AES-256-GCM. The associated data is the request of the state (principal,
// set, method, target, arguments), so a state opens for that request only.
//
// The encoding is base64url of key id (4 bytes) · nonce (12) · ciphertext and tag.
type sealer struct {
	keys []sealingKey
}

type sealingKey struct {
	id   [4]byte
	aead cipher.AEAD
}

const keySize = 32

// notIssued is the error message for a state that cannot be opened.
const notIssued = "requestState was not issued by this service for this request, or was changed: start the call again without it"

// errSeal returns the error for a state that cannot be opened, with the reason for the log.
func errSeal(format string, args ...any) *mcp.Error {
	err := mcp.Errorf(mcp.KindBadState, notIssued)
	err.Reason = "requestState: " + fmt.Sprintf(format, args...)
	return err
}

func newSealer(keys [][]byte) (*sealer, error) {
	if len(keys) == 0 {
		key := make([]byte, keySize)
		_, _ = rand.Read(key)
		keys = [][]byte{key}
	}
	s := &sealer{}
	for i, key := range keys {
		if len(key) != keySize {
			return nil, fmt.Errorf("sealing key %d has %d bytes: it needs %d", i+1, len(key), keySize)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(key)
		s.keys = append(s.keys, sealingKey{id: [4]byte(sum[:4]), aead: aead})
	}
	return s, nil
}

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

func (s *sealer) seal(state sealed, bind []byte) (string, error) {
	plain, err := json.Marshal(state)
	if err != nil {
		return "", err
	}
	key := s.keys[0]
	out := make([]byte, len(key.id)+key.aead.NonceSize(), len(key.id)+key.aead.NonceSize()+len(plain)+key.aead.Overhead())
	copy(out, key.id[:])
	_, _ = rand.Read(out[len(key.id):])
	out = key.aead.Seal(out, out[len(key.id):], plain, bind)
	return base64.RawURLEncoding.EncodeToString(out), nil
}

// open opens a state. The error is of KindBadState.
func (s *sealer) open(text string, bind []byte, now time.Time) (sealed, *mcp.Error) {
	var state sealed
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // the decoder would ignore these
		return state, errSeal("it is not base64url")
	}
	for _, key := range s.keys {
		n := len(key.id) + key.aead.NonceSize()
		if len(raw) < n {
			return state, errSeal("it is too short")
		}
		if [4]byte(raw[:4]) != key.id {
			continue
		}
		plain, err := key.aead.Open(nil, raw[len(key.id):n], raw[n:], bind)
		if err != nil {
			return state, errSeal("it is for another caller, set, method, target or arguments, or was changed")
		}
		if err := json.Unmarshal(plain, &state); err != nil {
			return state, errSeal("its contents are those of another version")
		}
		if now.After(state.Expires) {
			return state, mcp.Errorf(mcp.KindBadState, "requestState expired at %s: start the call again without it", state.Expires.UTC().Format(time.RFC3339))
		}
		return state, nil
	}
	return state, errSeal("it is sealed with the key %x, and this replica has %s: give all replicas the same redis.seal-keys, and keep one that was replaced for calls.lifetime",
		raw[:4], s.ids())
}

// ids returns the prefixes of the keys' SHA-256, by which states name their key.
func (s *sealer) ids() string {
	var all []string
	for _, key := range s.keys {
		all = append(all, fmt.Sprintf("%x", key.id))
	}
	return strings.Join(all, ", ")
}

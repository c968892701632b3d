package redis

import (
	"bytes"
	"cmp"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// With Options.Keys, Redis holds what callers, backends and users wrote as sealed values. Each is
// sealed for its binding, so it opens at that place only:
//
//	binding                              value
//	session S, field rec                 codec.session: principal, claims, client info, capabilities
//	subscription of session S            a URI, as a member of the sorted set :s (sealName)
//	entry of stream T of S, and kind     Data of an event of a log: progress, messages, questions, results, errors
//	call C of S, field b                 codec.request: principal, arguments
//	call C of S, field sv                the backend's state
//	call C of S, field br                the summary of the log, such as the status of a task
//	call C of S, field o:KEY             the id of an open URL elicitation
//	canceller of S                       field cb of a call: who cancelled it
//	ask Q of S, fields a, g, r           the question of the id Q, its message, its answer
//	names of backend B                   what it listed last (Table)
//	relay to A, message M                a message to another replica, or its answer
//	event to R                           a session event
//
// Everything else is plain, because scripts decide by it: docs/state.md lists it.

// binding is what a sealed value belongs to. It is part of the seal and is not stored in it.
type binding struct{ what, session, id, field string }

const (
	// sealMark begins a sealed value, and plainMark one that is not sealed and begins with their first
	// byte, such as the state of a backend. No JSON text and no packed record does.
	sealMark, plainMark = "\xc1sl\x01", "\xc1pl\x01"
	// headSize is the length of sealMark and the key id. sealSize is the number of bytes that a seal
	// adds to a value.
	headSize  = len(sealMark) + 4
	nonceSize = 24
	sealSize  = headSize + nonceSize + 16

	// The purposes separate the derived keys from each other, from other keys that are derived from
	// a state key, and from the state key itself.
	valuePurpose = "mcpedge redis value"
	namePurpose  = "mcpedge redis name"
)

// sealer seals and opens values. The encoding is sealMark · key id (4 bytes) · nonce (24) ·
// ciphertext and tag. The first key seals, all open. Without keys it returns values as they are,
// except that it refuses sealed ones. It is safe for concurrent use.
//
// The cipher is XAES-256-GCM (c2sp.org/XAES-256-GCM), under a key that HKDF derives from the state
// key. Its nonces are random and have 192 bits, so no counter is needed: after 10^10 values under
// one key, two have the same nonce with a probability of 10^-38, and after 2^80 one of 2^-32.
type sealer struct {
	prefix string
	keys   []sealKey
	log    *slog.Logger
	// unknown are the ids of unknown keys that were logged, at most mostUnknown. mu guards it.
	mu      sync.Mutex
	unknown map[string]struct{}
}

// mostUnknown bounds the unknown keys that are logged: a writer to Redis can make up more.
const mostUnknown = 16

type sealKey struct {
	head   string // sealMark and the key id
	cipher *xaes
	names  []byte // the key of the nonces of sealName
}

// newSealer returns a sealer for state keys of 32 bytes, whose bindings include a prefix.
func newSealer(keys [][]byte, prefix string, log *slog.Logger) (*sealer, error) {
	s := &sealer{prefix: prefix, log: log, unknown: map[string]struct{}{}}
	for i, key := range keys {
		if len(key) != 32 {
			return nil, fmt.Errorf("state key %d has %d bytes: it needs 32", i+1, len(key))
		}
		values, err := hkdf.Key(sha256.New, key, nil, valuePurpose, 32)
		if err != nil {
			return nil, err
		}
		names, err := hkdf.Key(sha256.New, key, nil, namePurpose, 32)
		if err != nil {
			return nil, err
		}
		cipher, err := newXAES(values)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(key)
		s.keys = append(s.keys, sealKey{head: sealMark + string(sum[:4]), cipher: cipher, names: names})
	}
	return s, nil
}

// seal returns a value sealed for its binding. Without keys, and if it is empty, that is the value
// itself.
func (s *sealer) seal(b binding, plain []byte) []byte {
	switch {
	case len(plain) == 0:
		return plain
	case len(s.keys) == 0 && isMarked(plain):
		return append([]byte(plainMark), plain...)
	case len(s.keys) == 0:
		return plain
	}
	var nonce [nonceSize]byte
	_, _ = rand.Read(nonce[:])
	return s.keys[0].seal(nonce, b.data(s.prefix), plain)
}

// sealName seals a value by which scripts find a member of a set: equal values have equal seals.
// The nonce is an HMAC of the binding and the value.
func (s *sealer) sealName(b binding, name string) string {
	if len(s.keys) == 0 {
		return name
	}
	return s.keys[0].sealName(b.data(s.prefix), name)
}

// formsOf returns the stored forms of a name: plain, and sealed by each key.
func (s *sealer) formsOf(b binding, name string) []any {
	forms := []any{name}
	for i := range s.keys {
		forms = append(forms, s.keys[i].sealName(b.data(s.prefix), name))
	}
	return forms
}

// open returns a stored value, which may be plain. The error says with which key it is sealed if
// this replica does not have that, or that the value was changed.
func (s *sealer) open(b binding, stored string) ([]byte, error) {
	return s.openBytes(b, []byte(stored))
}

// openBytes is open for bytes. The result aliases stored.
func (s *sealer) openBytes(b binding, stored []byte) ([]byte, error) {
	switch {
	case !isMarked(stored):
		return stored, nil
	case bytes.HasPrefix(stored, []byte(plainMark)):
		return stored[len(plainMark):], nil
	case len(stored) < sealSize || !bytes.HasPrefix(stored, []byte(sealMark)):
		return nil, errRecord
	}
	i := slices.IndexFunc(s.keys, func(k sealKey) bool { return k.head == string(stored[:headSize]) })
	if i < 0 {
		return nil, s.lacks(string(stored))
	}
	nonce, rest := [nonceSize]byte(stored[headSize:]), stored[headSize+nonceSize:]
	plain, err := s.keys[i].cipher.aead(nonce).Open(rest[:0], nonce[nonceSize-12:], rest, b.data(s.prefix))
	if err != nil {
		return nil, fmt.Errorf("the %s of %s in Redis was changed, or moved from another record: it does not open with its state key", b.what, mcp.SessionPrint(b.session))
	}
	return plain, nil
}

// lacks returns the error for a value that begins like stored, whose key this replica does not
// have, and logs it once for each key.
func (s *sealer) lacks(stored string) error {
	if len(stored) < headSize { // It was cut.
		return errRecord
	}
	id, ids := fmt.Sprintf("%x", stored[len(sealMark):headSize]), make([]string, len(s.keys))
	for i := range s.keys {
		ids[i] = s.keys[i].id()
	}
	err := fmt.Errorf("a value in Redis is sealed with the key %s, and this replica has %s: give all replicas the same redis.seal-keys, "+
		"and keep one that was replaced until the sessions and tasks of its time have ended", id, cmp.Or(strings.Join(ids, ", "), "none"))
	s.mu.Lock()
	_, logged := s.unknown[id]
	if logged = logged || len(s.unknown) >= mostUnknown; !logged {
		s.unknown[id] = struct{}{}
	}
	s.mu.Unlock()
	if !logged {
		s.log.Warn("sessions, calls or tasks cannot be read here", "error", err)
	}
	return err
}

// heads returns the beginnings of the values that the keys seal, joined, for the scripts' function
// foreign.
func (s *sealer) heads() string {
	var b strings.Builder
	for i := range s.keys {
		b.WriteString(s.keys[i].head)
	}
	return b.String()
}

// isMarked reports whether a value begins like sealMark and plainMark.
func isMarked[T string | []byte](value T) bool { return len(value) > 0 && value[0] == sealMark[0] }

// data returns the associated data of a binding.
func (b binding) data(prefix string) []byte {
	out := make([]byte, 0, 160)
	for _, part := range [...]string{prefix, b.what, b.session, b.id, b.field} {
		out = append(binary.AppendUvarint(out, uint64(len(part))), part...)
	}
	return out
}

// id returns the prefix of the state key's SHA-256 in hexadecimal, by which sealed values name it.
func (k *sealKey) id() string { return fmt.Sprintf("%x", k.head[len(sealMark):]) }

func (k *sealKey) seal(nonce [nonceSize]byte, data, plain []byte) []byte {
	out := make([]byte, 0, len(plain)+sealSize)
	out = append(append(out, k.head...), nonce[:]...)
	return k.cipher.aead(nonce).Seal(out, nonce[nonceSize-12:], plain, data)
}

func (k *sealKey) sealName(data []byte, name string) string {
	mac := hmac.New(sha256.New, k.names)
	_, _ = mac.Write(binary.AppendUvarint(nil, uint64(len(data))))
	_, _ = mac.Write(data)
	_, _ = mac.Write([]byte(name))
	return string(k.seal([nonceSize]byte(mac.Sum(nil)), data, []byte(name)))
}

package stateful

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// With Options.Optional, the id of a session without a record contains everything that the record
// needs: NONCE "." SEAL. The first use of the id creates the record under NONCE. From then on NONCE
// alone identifies the session, and SEAL is not read again, so that a session outlives the key that
// sealed its id.

const (
	// firstUseWithin is the maximum age of an id at its first use, which creates its record.
	firstUseWithin = 5 * time.Minute
	// clockSkew is the tolerated difference of replicas' clocks.
	clockSkew = time.Minute
	// maxSealedID bounds the length of a sealed id, in bytes, because servers and proxies bound the
	// headers of a request. A session whose id would be longer gets its record at once.
	maxSealedID = 2 << 10
	// idPurpose separates the keys of ids from other keys that are derived from the same key, and
	// from that key itself.
	idPurpose = "mcpedge session id"
)

// sealedSession is the sealed part of a session's id.
type sealedSession struct {
	Created      time.Time       `json:"t"`
	Version      string          `json:"v"`
	Set          string          `json:"s,omitempty"`
	Principal    []byte          `json:"p"` // the SHA-256 of the principal's key
	ClientInfo   json.RawMessage `json:"i,omitempty"`
	Capabilities json.RawMessage `json:"c,omitempty"`
	Digest       mcp.Digest      `json:"d"`
}

// sealedSessionOf returns the sealed part of a new session's id.
func sealedSessionOf(s *state.Session) *sealedSession {
	return &sealedSession{
		Created: s.Created, Version: s.Version, Set: s.Set, Principal: ownerOf(&s.Principal),
		ClientInfo: s.ClientInfo, Capabilities: s.Capabilities, Digest: s.Digest,
	}
}

// session returns the record of a session that its caller uses first.
func (b *sealedSession) session(id string, in *mcp.Incoming) *state.Session {
	return &state.Session{
		ID: id, Version: b.Version, Set: b.Set, Principal: in.Principal, Address: in.Address,
		ClientInfo: b.ClientInfo, Capabilities: b.Capabilities, Digest: b.Digest, Created: b.Created,
	}
}

// ownerOf identifies a principal in a sealed id.
func ownerOf(p *mcp.Principal) []byte {
	sum := sha256.Sum256([]byte(p.Key()))
	return sum[:]
}

// idSealer seals ids with AES-256-GCM, each with a key of its own, which is derived from NONCE by HKDF. So each key seals once.
//
// The encoding of SEAL is base64url of key id (4 bytes) · ciphertext and tag.
type idSealer struct {
	keys [][]byte
}

const idKeySize = 32

// newIDSealer returns a sealer with a random key.
func newIDSealer() *idSealer {
	key := make([]byte, idKeySize)
	_, _ = rand.Read(key)
	return &idSealer{[][]byte{key}}
}

// use replaces the keys.
func (s *idSealer) use(keys [][]byte) error {
	for i, key := range keys {
		if len(key) != idKeySize {
			return fmt.Errorf("sealing key %d has %d bytes: it needs %d", i+1, len(key), idKeySize)
		}
	}
	s.keys = keys
	return nil
}

// keyID returns the prefix of a key's SHA-256, by which a seal names its key.
func keyID(key []byte) [4]byte {
	sum := sha256.Sum256(key)
	return [4]byte(sum[:])
}

// aead returns the cipher of one id, which seals once, with a nonce of zeros.
func aead(key []byte, id string) (cipher.AEAD, []byte, error) {
	own, err := hkdf.Key(sha256.New, key, []byte(id), idPurpose, idKeySize)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(own)
	if err != nil {
		return nil, nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, nil, err
	}
	return gcm, make([]byte, gcm.NonceSize()), nil
}

// seal returns the id of a new session. It returns false if that is too long.
func (s *idSealer) seal(sess *state.Session) (string, bool, error) {
	plain, err := json.Marshal(sealedSessionOf(sess))
	if err != nil {
		return "", false, err
	}
	gcm, nonce, err := aead(s.keys[0], sess.ID)
	if err != nil {
		return "", false, err
	}
	name := keyID(s.keys[0])
	text := base64.RawURLEncoding.EncodeToString(gcm.Seal(name[:], nonce, plain, []byte(idPurpose)))
	sealed := sess.ID + "." + text
	return sealed, len(sealed) <= maxSealedID, nil
}

// open returns the sealed part of an id. The error is for the log.
func (s *idSealer) open(id, seal string) (*sealedSession, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(seal)
	if err != nil || strings.ContainsAny(seal, "\r\n") || len(raw) < 4 { // the decoder would ignore these characters
		return nil, fmt.Errorf("it is not a sealed id in base64url")
	}
	for _, key := range s.keys {
		if keyID(key) != [4]byte(raw) {
			continue
		}
		gcm, nonce, err := aead(key, id)
		if err != nil {
			return nil, err
		}
		plain, err := gcm.Open(nil, nonce, raw[4:], []byte(idPurpose))
		if err != nil {
			return nil, fmt.Errorf("it was changed")
		}
		b := new(sealedSession)
		if err := json.Unmarshal(plain, b); err != nil {
			return nil, fmt.Errorf("its contents are those of another version: %w", err)
		}
		return b, nil
	}
	return nil, fmt.Errorf("it is sealed with the key %x, which this replica does not have: give all replicas the same redis.seal-keys", raw[:4])
}

// nonceOf returns the stored id of the session that a message names, and the seal of a sealed id.
// Both are empty if the message names none.
func (e *Era) nonceOf(named string) (id, seal string) {
	if e.ids == nil {
		return named, ""
	}
	id, seal, _ = strings.Cut(named, ".")
	return id, seal
}

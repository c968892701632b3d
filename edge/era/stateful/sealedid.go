package stateful

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
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
	// gcmNonceSize is the size of a nonce of AES-GCM in bytes.
	gcmNonceSize = 12
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

// idCipher makes the cipher of one id: AES-256-GCM with a key of its own, which is derived from NONCE by
// HKDF. So each key seals once, with a nonce of zeros.
func idCipher(id string) era.Cipher {
	return func(key []byte) (cipher.AEAD, []byte, error) {
		own, err := hkdf.Key(sha256.New, key, []byte(id), idPurpose, era.KeySize)
		if err != nil {
			return nil, nil, err
		}
		block, err := aes.NewCipher(own)
		if err != nil {
			return nil, nil, err
		}
		gcm, err := cipher.NewGCM(block)
		return gcm, make([]byte, gcmNonceSize), err
	}
}

// sealID returns the sealed id of a new session.
func sealID(keys era.Keys, s *state.Session) (string, error) {
	seal, err := keys.Seal(idCipher(s.ID), &sealedSession{
		Created: s.Created, Version: s.Version, Set: s.Set, Principal: ownerOf(&s.Principal),
		ClientInfo: s.ClientInfo, Capabilities: s.Capabilities, Digest: s.Digest,
	}, []byte(idPurpose))
	return s.ID + "." + seal, err
}

// openID returns the sealed part of an id. The error is for the log.
func openID(keys era.Keys, id, seal string) (*sealedSession, error) {
	b := new(sealedSession)
	return b, keys.Open(idCipher(id), seal, []byte(idPurpose), b)
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

package era

import (
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	// KeySize is the size of a sealing key in bytes.
	KeySize = 32
	// minSealed is the size of the key id and the tag in bytes.
	minSealed = 4 + 16
)

// Keys seal values that pass through clients. The first key seals, and all keys open, so that a key
// can be rotated. All replicas must have the same keys.
//
// The encoding of a sealed value is base64url of key id (4 bytes) · nonce, ciphertext and tag as the
// Cipher forms them.
type Keys [][]byte

// Cipher makes the AEAD of one text from a key, and its nonce. The nonce is nil if the AEAD draws it.
type Cipher func(key []byte) (aead cipher.AEAD, nonce []byte, _ error)

// ErrForged means that a text was sealed with other bound data, or was changed.
var ErrForged = errors.New("it was changed")

// Use replaces the keys, unless one of them is invalid. None means a random key, which other replicas
// and processes do not have.
func (k *Keys) Use(keys ...[]byte) error {
	if len(keys) == 0 {
		key := make([]byte, KeySize)
		_, _ = rand.Read(key)
		keys = Keys{key}
	}
	for i, key := range keys {
		if len(key) != KeySize {
			return fmt.Errorf("sealing key %d has %d bytes: it needs %d", i+1, len(key), KeySize)
		}
	}
	*k = keys
	return nil
}

// keyID returns the prefix of a key's SHA-256, by which a sealed text names its key.
func keyID(key []byte) [4]byte {
	sum := sha256.Sum256(key)
	return [4]byte(sum[:])
}

// Seal seals the JSON of a value, bound to further data.
func (k Keys) Seal(by Cipher, value any, bind []byte) (string, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	aead, nonce, err := by(k[0])
	if err != nil {
		return "", err
	}
	id := keyID(k[0])
	return base64.RawURLEncoding.EncodeToString(aead.Seal(id[:], nonce, plain, bind)), nil
}

// Open opens a sealed text into a value. The error is for the log.
func (k Keys) Open(by Cipher, text string, bind []byte, value any) error {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // the decoder would ignore these
		return errors.New("it is not base64url")
	}
	if len(raw) < minSealed {
		return errors.New("it is too short")
	}
	var ids []string
	for _, key := range k {
		id := keyID(key)
		if id != [4]byte(raw) {
			ids = append(ids, fmt.Sprintf("%x", id))
			continue
		}
		aead, nonce, err := by(key)
		if err != nil {
			return err
		}
		plain, err := aead.Open(nil, nonce, raw[4:], bind)
		if err != nil {
			return ErrForged
		}
		if err := json.Unmarshal(plain, value); err != nil {
			return errors.New("its contents are those of another version")
		}
		return nil
	}
	return fmt.Errorf("it is sealed with the key %x, and this replica has %s: give all replicas the same redis.seal-keys, "+
		"and keep one that was replaced until what it sealed has expired", raw[:4], strings.Join(ids, ", "))
}

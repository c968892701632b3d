package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// errNoKeys means that an issuer's keys cannot be read.
var errNoKeys = &refusal{reason: ReasonUnavailable, text: "the keys of the access token's issuer cannot be read now: try again later"}

// keySet has the keys of an issuer that can verify signatures. It is immutable.
type keySet struct {
	keys []key
	// exposed counts the keys that were skipped because the set has their private half.
	exposed int
}

type key struct {
	// id and algorithm are those in the set; empty if omitted.
	id, algorithm string
	// public is an *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey.
	public jwt.VerificationKey
}

const (
	// minModulus and maxModulus bound RSA keys, in bits: smaller ones are weak, larger ones slow.
	minModulus, maxModulus = 2048, 8192
)

// errOtherUse means that a key states another use than signatures.
var errOtherUse = errors.New("it is not intended for verifying signatures")

// errPrivate means that a key has its private half.
var errPrivate = errors.New("it has its private half, which must stay secret")

// exposure returns an error if keys are exposed, or nil.
func (s *keySet) exposure() error {
	if s.exposed == 0 {
		return nil
	}
	return fmt.Errorf("%d of its keys have their private half, with which anyone can sign tokens: make others, and publish their public halves alone", s.exposed)
}

// parseKeys parses a JWK Set (RFC 7517, section 5). It skips keys that cannot be used because of
// their type, use or a defect, and those with their private half, with which any reader of the set
// can sign. A set without keys for signatures is valid, and empty: the issuer has removed its keys.
// So is one whose keys are exposed. Any other set whose signature keys are all unusable is an
// error.
func parseKeys(raw []byte) (*keySet, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("it is not a JWK Set (RFC 7517): %w", err)
	}
	if set.Keys == nil {
		return nil, errors.New(`it is not a JWK Set (RFC 7517): it has no array "keys", which is empty where there are no keys`)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("it has %d keys: the limit is %d", len(set.Keys), maxKeys)
	}
	s := &keySet{}
	var errs []error
	var exposed []jwt.VerificationKey
	for _, raw := range set.Keys {
		k, err := parseKey(raw)
		switch {
		case err == nil:
			s.keys = append(s.keys, k)
		case errors.Is(err, errPrivate):
			exposed = append(exposed, k.public)
		case !errors.Is(err, errOtherUse):
			errs = append(errs, err)
		}
	}
	s.exposed = len(exposed)
	s.keys = slices.DeleteFunc(s.keys, func(k key) bool { // the set may have the public half, too
		return slices.ContainsFunc(exposed, func(public jwt.VerificationKey) bool { return equal(k.public, public) })
	})
	if len(s.keys) == 0 && s.exposed == 0 && len(errs) > 0 {
		return nil, fmt.Errorf("none of its %d keys can be used to verify signatures: %w", len(set.Keys), errors.Join(errs...))
	}
	return s, nil
}

// parseKey parses a public key. With errPrivate it returns the public half.
func parseKey(raw []byte) (key, error) {
	var m jwkset.JWKMarshal
	if err := json.Unmarshal(raw, &m); err != nil {
		return key{}, err
	}
	if m.USE != "" && m.USE != jwkset.UseSig {
		return key{}, fmt.Errorf("key %.80q is for use %q: %w", m.KID, m.USE, errOtherUse)
	}
	private := m.D != "" || m.P != "" || m.Q != "" || m.DP != "" || m.DQ != "" || m.QI != "" || m.OTH != nil
	if len(m.KEYOPS) > 0 && !slices.Contains(m.KEYOPS, jwkset.KeyOpsVerify) && !(private && slices.Contains(m.KEYOPS, jwkset.KeyOpsSign)) {
		return key{}, fmt.Errorf("key %.80q has key_ops %q: %w", m.KID, m.KEYOPS, errOtherUse)
	}
	m.X5C, m.X5U, m.X5T, m.X5TS256 = nil, "", "", "" // the set, not a certificate, vouches for the key
	jwk, err := jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{SkipAll: true})
	if err != nil {
		return key{}, fmt.Errorf("key %.80q: %w", m.KID, err)
	}
	switch k := jwk.Key().(type) {
	case *rsa.PublicKey:
		if n := k.N.BitLen(); n < minModulus || n > maxModulus {
			return key{}, fmt.Errorf("key %.80q has %d bits, where %d to %d are accepted", m.KID, n, minModulus, maxModulus)
		}
	case *ecdsa.PublicKey, ed25519.PublicKey:
	default:
		return key{}, fmt.Errorf("key %.80q is of type %q, which is not supported", m.KID, m.KTY)
	}
	k := key{id: m.KID, algorithm: string(m.ALG), public: jwk.Key()}
	if private {
		return k, fmt.Errorf("key %.80q: %w", m.KID, errPrivate)
	}
	return k, nil
}

// equal reports whether two public keys are the same.
func equal(a, b jwt.VerificationKey) bool {
	k, ok := a.(interface{ Equal(x crypto.PublicKey) bool })
	return ok && k.Equal(b)
}

// find returns at most maxTried keys that may have made a signature: those with the id and those
// without one; for a token without a key id, the first that suit the algorithm. known is true if
// there is such a key for any algorithm, named if one has the id.
func (s *keySet) find(id, algorithm string) (found []jwt.VerificationKey, known, named bool) {
	for _, k := range s.keys {
		if id != "" && k.id != "" && k.id != id {
			continue
		}
		known, named = true, named || id != "" && k.id == id
		if len(found) < maxTried && (k.algorithm == "" || k.algorithm == algorithm) && fitsAlgorithm(algorithm, k.public) {
			found = append(found, k.public)
		}
	}
	return found, known, named
}

// fitsAlgorithm reports whether a key can make signatures of an algorithm (RFC 7518, section 3.1; RFC
// 8037).
func fitsAlgorithm(algorithm string, public jwt.VerificationKey) bool {
	switch k := public.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		switch algorithm {
		case "ES256":
			return k.Curve == elliptic.P256()
		case "ES384":
			return k.Curve == elliptic.P384()
		case "ES512":
			return k.Curve == elliptic.P521()
		}
	case ed25519.PublicKey:
		return algorithm == "EdDSA"
	}
	return false
}

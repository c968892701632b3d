package issuer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Prover is a client with a key to which its tokens are bound (RFC 9449). It is safe for concurrent
// use.
type Prover struct {
	private *ecdsa.PrivateKey
	x, y    string
}

// NewProver returns a Prover with a new P-256 key.
func NewProver() *Prover {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	point, err := private.PublicKey.Bytes() // 4, X, Y
	if err != nil {
		panic(err)
	}
	return &Prover{private, base64.RawURLEncoding.EncodeToString(point[1:33]), base64.RawURLEncoding.EncodeToString(point[33:])}
}

// JWK returns the public key.
func (p *Prover) JWK() map[string]any {
	return map[string]any{"kty": "EC", "crv": "P-256", "x": p.x, "y": p.y}
}

// Bound returns the claim cnf of a token that is bound to the key.
func (p *Prover) Bound() map[string]any {
	sum := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + p.x + `","y":"` + p.y + `"}`))
	return map[string]any{"cnf": map[string]any{"jkt": base64.RawURLEncoding.EncodeToString(sum[:])}}
}

// Proof returns a proof for a request with a token. header and claims replace members; nil removes
// one.
func (p *Prover) Proof(method, url, token string, header, claims map[string]any) string {
	hash := sha256.Sum256([]byte(token))
	c := jwt.MapClaims{
		"jti": rand.Text(), "htm": method, "htu": url, "iat": time.Now().Unix(), "ath": base64.RawURLEncoding.EncodeToString(hash[:]),
	}
	t := jwt.NewWithClaims(jwt.SigningMethodES256, c)
	t.Header["typ"], t.Header["jwk"] = "dpop+jwt", p.JWK()
	for to, changes := range map[*map[string]any]map[string]any{&t.Header: header, (*map[string]any)(&c): claims} {
		maps.Copy(*to, changes)
		maps.DeleteFunc(*to, func(_ string, v any) bool { return v == nil })
	}
	text, err := t.SignedString(p.private)
	if err != nil {
		panic(err)
	}
	return text
}

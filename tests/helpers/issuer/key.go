package issuer

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// Key is a signing key.
type Key struct {
	ID      string
	Method  jwt.SigningMethod
	Private crypto.Signer
}

// JWKSFile returns a file with the issuer's keys.
func (i *Issuer) JWKSFile(t *testing.T) string {
	t.Helper()
	resp, err := http.Get(i.JWKS())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v", i.JWKS(), resp.StatusCode, err)
	}
	path := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// JWKS returns the URL of the keys.
func (i *Issuer) JWKS() string { return i.URL + "/jwks" }

// spareKeys are RSA keys, because generating them is slow. Issuers of one test get different ones.
var spareKeys = sync.OnceValue(func() (keys []*rsa.PrivateKey) {
	for range 6 {
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		keys = append(keys, k)
	}
	return keys
})

var nextSpare atomic.Int64

// Rotate signs with a new key from now on. The previous key stays in the set; older ones are
// removed.
func (i *Issuer) Rotate() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n++
	k := Key{fmt.Sprintf("key-%d", i.n), jwt.SigningMethodRS256, spareKeys()[nextSpare.Add(1)%6]}
	i.keys = append([]Key{k}, i.keys...)
	i.keys = i.keys[:min(len(i.keys), 2)]
}

// Withdraw removes all keys, so that the set is empty.
func (i *Issuer) Withdraw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = nil
}

// Use adds a key and signs with it.
func (i *Issuer) Use(k Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = append([]Key{k}, i.keys...)
}

// Sign signs claims with the key.
func (k Key) Sign(claims jwt.MapClaims, header map[string]any) string {
	t := jwt.NewWithClaims(k.Method, claims)
	t.Header["kid"] = k.ID
	maps.Copy(t.Header, header)
	maps.DeleteFunc(t.Header, func(_ string, v any) bool { return v == nil })
	text, err := t.SignedString(k.Private)
	if err != nil {
		panic(err)
	}
	return text
}

// SignText signs a header and claims verbatim, whether valid or not.
func (k Key) SignText(header, claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(header)) + "." + encode([]byte(claims))
	signature, err := k.Method.Sign(text, k.Private)
	if err != nil {
		panic(err)
	}
	return text + "." + encode(signature)
}

// Keys returns its keys, newest first.
func (i *Issuer) Keys() []Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.keys)
}

// Newest returns the key that signs.
func (i *Issuer) Newest() Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[0]
}

// Set returns its JWK Set.
func (i *Issuer) Set() []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	set := jwkset.JWKSMarshal{Keys: []jwkset.JWKMarshal{}}
	for _, k := range i.keys {
		jwk, err := jwkset.NewJWKFromKey(k.Private.Public(), jwkset.JWKOptions{
			Metadata: jwkset.JWKMetadataOptions{KID: k.ID, ALG: jwkset.ALG(k.Method.Alg()), USE: jwkset.UseSig},
		})
		if err != nil {
			panic(err)
		}
		set.Keys = append(set.Keys, jwk.Marshal())
	}
	raw, err := json.Marshal(set)
	if err != nil {
		panic(err)
	}
	return raw
}

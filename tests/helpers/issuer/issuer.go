// Package issuer is an authorization server for tests, without logins. It has keys, metadata and
// tokens; it can be slow or down, and can rotate its keys.
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
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// Issuer signs tokens. It is safe for concurrent use.
type Issuer struct {
	// URL is its identifier.
	URL string
	// Fetches counts the requests for the keys.
	Fetches atomic.Int64
	// Exchanges counts the token exchanges.
	Exchanges atomic.Int64
	// Documents counts the requests for the metadata.
	Documents atomic.Int64
	// Questions counts the introspections.
	Questions atomic.Int64

	mu    sync.Mutex
	keys  []Key
	delay time.Duration
	down  bool
	n     int
	// exchanger replaces the token exchange; nil uses the default. exchanged are the exchanges so
	// far.
	exchanger func(r *http.Request) (status int, body string)
	exchanged []Exchanged
	// opaque are the claims of opaque tokens.
	opaque map[string]jwt.MapClaims
}

// ClientID and ClientSecret are the credentials of the client that introspects and exchanges
// tokens.
const ClientID, ClientSecret = "edge:1", "s e/cret"

// Opaque returns a token that only the issuer can read.
func (i *Issuer) Opaque(claims jwt.MapClaims) string {
	token := rand.Text()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.opaque == nil {
		i.opaque = map[string]jwt.MapClaims{}
	}
	i.opaque[token] = claims
	return token
}

// Describe replaces the claims of an opaque token.
func (i *Issuer) Describe(token string, claims jwt.MapClaims) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.opaque[token] = claims
}

// Revoke revokes an opaque token.
func (i *Issuer) Revoke(token string) {
	i.mu.Lock()
	delete(i.opaque, token)
	i.mu.Unlock()
}

// IntrospectionURL returns the introspection endpoint (RFC 7662).
func (i *Issuer) IntrospectionURL() string { return i.URL + "/introspect" }

// introspect serves the introspection of opaque tokens.
func (i *Issuer) introspect(w http.ResponseWriter, r *http.Request) {
	user, secret, _ := r.BasicAuth()
	id, _ := url.QueryUnescape(user)
	word, _ := url.QueryUnescape(secret)
	if r.Method != http.MethodPost || id != ClientID || word != ClientSecret {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	i.mu.Lock()
	claims := i.opaque[r.PostFormValue("token")]
	i.mu.Unlock()
	answer := map[string]any{"active": claims != nil}
	maps.Copy(answer, claims)
	_ = json.NewEncoder(w).Encode(answer)
}

// Exchanged is one exchange of a token (RFC 8693).
type Exchanged struct {
	// Form is the request, Token the issued token.
	Form  url.Values
	Token string
}

// Exchanged returns the exchanges so far.
func (i *Issuer) Exchanged() []Exchanged {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.exchanged)
}

// ExchangeWith makes fn answer token exchanges. nil restores the default.
func (i *Issuer) ExchangeWith(fn func(r *http.Request) (status int, body string)) {
	i.mu.Lock()
	i.exchanger = fn
	i.mu.Unlock()
}

// TokenURL returns the token endpoint.
func (i *Issuer) TokenURL() string { return i.URL + "/token" }

// exchange issues a token with a lifetime of five minutes for the requested audience or resource.
// Subject and client, and scopes unless some are requested, are those of the subject token, which
// must be the issuer's.
func (i *Issuer) exchange(r *http.Request) (status int, body string) {
	user, secret, _ := r.BasicAuth()
	id, _ := url.QueryUnescape(user)
	word, _ := url.QueryUnescape(secret)
	const access = "urn:ietf:params:oauth:token-type:access_token"
	form := func(name string) string { return r.PostFormValue(name) }
	switch {
	case r.Method != http.MethodPost || id != ClientID || word != ClientSecret:
		return http.StatusUnauthorized, `{"error":"invalid_client"}`
	case form("grant_type") != "urn:ietf:params:oauth:grant-type:token-exchange" || form("subject_token_type") != access || form("requested_token_type") != access:
		return http.StatusBadRequest, `{"error":"unsupported_grant_type"}`
	}
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(form("subject_token"), claims, func(t *jwt.Token) (any, error) {
		for _, k := range i.Keys() {
			if k.ID == t.Header["kid"] {
				return k.Private.Public(), nil
			}
		}
		return nil, fmt.Errorf("no such key")
	})
	if i.mu.Lock(); err != nil && i.opaque[form("subject_token")] != nil {
		claims, err = i.opaque[form("subject_token")], nil
	}
	i.mu.Unlock()
	if err != nil {
		return http.StatusBadRequest, `{"error":"invalid_grant","error_description":"` + form("subject_token") + ` is not good"}`
	}
	audience := form("audience")
	if audience == "" {
		audience = form("resource")
	}
	scope := form("scope")
	if scope == "" {
		scope, _ = claims["scope"].(string)
	}
	token := i.Token(fmt.Sprint(claims["sub"]), audience, map[string]any{"scope": scope, "client_id": claims["client_id"], "act": map[string]string{"sub": ClientID}})
	i.mu.Lock()
	i.exchanged = append(i.exchanged, Exchanged{r.PostForm, token})
	i.mu.Unlock()
	return http.StatusOK, `{"access_token":"` + token + `","issued_token_type":"` + access + `","token_type":"Bearer","expires_in":300}`
}

// Key is a signing key.
type Key struct {
	ID      string
	Method  jwt.SigningMethod
	Private crypto.Signer
}

// New returns an issuer with one key, RS256, and the given URL. The caller serves it: see
// ServeHTTP.
func New(url string) *Issuer {
	i := &Issuer{URL: url}
	i.Rotate()
	return i
}

// Serve returns an issuer that is served on a loopback port until the test ends.
func Serve(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{}
	s := httptest.NewServer(i)
	t.Cleanup(s.Close)
	i.URL = s.URL
	i.Rotate()
	return i
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

// spare are RSA keys, because generating them is slow. Issuers of one test get different ones.
var spare = sync.OnceValue(func() (keys []*rsa.PrivateKey) {
	for range 6 {
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		keys = append(keys, k)
	}
	return keys
})

var turn atomic.Int64

// Rotate signs with a new key from now on. The previous key stays in the set; older ones are
// removed.
func (i *Issuer) Rotate() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n++
	k := Key{fmt.Sprintf("key-%d", i.n), jwt.SigningMethodRS256, spare()[turn.Add(1)%6]}
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

// Slow delays answers.
func (i *Issuer) Slow(d time.Duration) {
	i.mu.Lock()
	i.delay = d
	i.mu.Unlock()
}

// Down makes the issuer answer 500, or normally again.
func (i *Issuer) Down(is bool) {
	i.mu.Lock()
	i.down = is
	i.mu.Unlock()
}

// Claims returns the claims of an access token for an audience. The test may modify them.
func (i *Issuer) Claims(subject, audience string) jwt.MapClaims {
	now := time.Now()
	return jwt.MapClaims{
		"iss": i.URL, "sub": subject, "aud": audience, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
		"client_id": "a-client", "scope": "mcp:read mcp:write", "jti": rand.Text(),
	}
}

// Token returns a signed access token. changes are claims and header members; nil removes one.
func (i *Issuer) Token(subject, audience string, changes ...map[string]any) string {
	claims := i.Claims(subject, audience)
	for _, c := range changes {
		maps.Copy(claims, c)
	}
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return i.Sign(claims, nil)
}

// Sign signs claims with the newest key. header replaces members of the header; nil removes one.
func (i *Issuer) Sign(claims jwt.MapClaims, header map[string]any) string {
	i.mu.Lock()
	k := i.keys[0]
	i.mu.Unlock()
	return k.Sign(claims, header)
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

// ServeHTTP serves its metadata (OpenID Connect Discovery), its keys and its endpoints.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	delay, down := i.delay, i.down
	i.mu.Unlock()
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		i.Documents.Add(1)
	case "/jwks":
		i.Fetches.Add(1)
	case "/introspect":
		i.Questions.Add(1)
	case "/token":
		i.Exchanges.Add(1)
	}
	if delay > 0 {
		_ = r.ParseForm() // The server detects a disconnected client only after the body is read.
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return
		}
	}
	if down {
		http.Error(w, "down", http.StatusInternalServerError)
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": i.URL, "jwks_uri": i.JWKS(), "token_endpoint": i.TokenURL()})
	case "/jwks":
		_, _ = w.Write(i.Set())
	case "/introspect":
		i.introspect(w, r)
	case "/token":
		i.mu.Lock()
		fn := i.exchanger
		i.mu.Unlock()
		if fn == nil {
			fn = i.exchange
		}
		status, body := fn(r)
		if status/100 == 3 {
			http.Redirect(w, r, body, status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	default:
		http.NotFound(w, r)
	}
}

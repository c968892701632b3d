// Package issuer is an authorization server for tests: it has keys, metadata and tokens, and may be slow, down or
// rotate its keys. It has no login.
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

// Issuer signs tokens. Safe for concurrent use.
type Issuer struct {
	// URL is its identifier.
	URL string
	// Fetches counts the requests for the keys.
	Fetches atomic.Int64
	// Exchanges counts those to exchange a token.
	Exchanges atomic.Int64
	// Documents counts those for its metadata.
	Documents atomic.Int64
	// Questions counts those about opaque tokens.
	Questions atomic.Int64

	mu    sync.Mutex
	keys  []Key
	delay time.Duration
	down  bool
	n     int
	// exchanger replaces what exchanges tokens; nil: nothing does. exchanged is what was exchanged.
	exchanger func(r *http.Request) (status int, body string)
	exchanged []Exchanged
	// opaque are the claims of opaque tokens.
	opaque map[string]jwt.MapClaims
}

// ClientID and ClientSecret are those of who asks about opaque tokens.
const ClientID, ClientSecret = "edge:1", "s e/cret"

// Opaque is a token that only the issuer can read.
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

// Revoke has an opaque token be good no more.
func (i *Issuer) Revoke(token string) {
	i.mu.Lock()
	delete(i.opaque, token)
	i.mu.Unlock()
}

// IntrospectionURL is where it is asked about opaque tokens (RFC 7662).
func (i *Issuer) IntrospectionURL() string { return i.URL + "/introspect" }

// introspect answers a question about an opaque token.
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
	// Form is what was sent, Token what was given for it.
	Form  url.Values
	Token string
}

// Exchanged are the exchanges so far.
func (i *Issuer) Exchanged() []Exchanged {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.exchanged)
}

// ExchangeWith has requests to exchange a token answered by fn; nil: as they should be.
func (i *Issuer) ExchangeWith(fn func(r *http.Request) (status int, body string)) {
	i.mu.Lock()
	i.exchanger = fn
	i.mu.Unlock()
}

// TokenURL is where tokens are exchanged.
func (i *Issuer) TokenURL() string { return i.URL + "/token" }

// exchange gives a token of five minutes for the audience or resource that is asked for, with the subject, client and, where
// none are asked for, scopes of the one that is shown, which must be the issuer's.
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

// Key is a key that tokens are signed with.
type Key struct {
	ID      string
	Method  jwt.SigningMethod
	Private crypto.Signer
}

// New makes an issuer with one key, RS256, that is known by a URL and serves nothing by itself: see ServeHTTP.
func New(url string) *Issuer {
	i := &Issuer{URL: url}
	i.Rotate()
	return i
}

// Serve is New on a port of loopback until the test ends.
func Serve(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{}
	s := httptest.NewServer(i)
	t.Cleanup(s.Close)
	i.URL = s.URL
	i.Rotate()
	return i
}

// JWKSFile is a file with the issuer's keys.
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

// JWKS is the URL of the keys.
func (i *Issuer) JWKS() string { return i.URL + "/jwks" }

// spare are RSA keys, which take long to make. Issuers take turns, so that those of a test have different ones.
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

// Rotate signs with a new key from now on; the one before stays for tokens that were signed with it, those before it
// do not.
func (i *Issuer) Rotate() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n++
	k := Key{fmt.Sprintf("key-%d", i.n), jwt.SigningMethodRS256, spare()[turn.Add(1)%6]}
	i.keys = append([]Key{k}, i.keys...)
	i.keys = i.keys[:min(len(i.keys), 2)]
}

// Withdraw takes all keys away: its set has none.
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

// Slow has it answer later.
func (i *Issuer) Slow(d time.Duration) {
	i.mu.Lock()
	i.delay = d
	i.mu.Unlock()
}

// Down has it answer 500, or no more.
func (i *Issuer) Down(is bool) {
	i.mu.Lock()
	i.down = is
	i.mu.Unlock()
}

// Claims of an access token for an audience, which a test may change.
func (i *Issuer) Claims(subject, audience string) jwt.MapClaims {
	now := time.Now()
	return jwt.MapClaims{
		"iss": i.URL, "sub": subject, "aud": audience, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
		"client_id": "a-client", "scope": "mcp:read mcp:write", "jti": rand.Text(),
	}
}

// Token is a signed access token, with the claims and header members of changes, nil taking one away.
func (i *Issuer) Token(subject, audience string, changes ...map[string]any) string {
	claims := i.Claims(subject, audience)
	for _, c := range changes {
		maps.Copy(claims, c)
	}
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return i.Sign(claims, nil)
}

// Sign signs claims with the newest key; header replaces members of the header, nil taking one away.
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

// SignText signs a header and claims as they are, whether they make sense or not.
func (k Key) SignText(header, claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(header)) + "." + encode([]byte(claims))
	signature, err := k.Method.Sign(text, k.Private)
	if err != nil {
		panic(err)
	}
	return text + "." + encode(signature)
}

// Keys are its keys, the newest first.
func (i *Issuer) Keys() []Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.keys)
}

// Newest is the key that tokens are signed with.
func (i *Issuer) Newest() Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[0]
}

// Set is its JWK Set.
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

// ServeHTTP serves its metadata, by OpenID Connect Discovery, and its keys.
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
		_ = r.ParseForm() // Until the body is read the server does not see that the client has left.
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

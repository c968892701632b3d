// Package issuer is an authorization server for tests, without logins. It has keys, metadata and
// tokens; it can be slow or down, and can rotate its keys.
package issuer

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// SetDelay delays all responses by d.
func (i *Issuer) SetDelay(d time.Duration) {
	i.mu.Lock()
	i.delay = d
	i.mu.Unlock()
}

// SetUnavailable makes the issuer respond with 500 if is is true, and normally otherwise.
func (i *Issuer) SetUnavailable(is bool) {
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

package issuer

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"

	"github.com/golang-jwt/jwt/v5"
)

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

package issuer

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/golang-jwt/jwt/v5"
)

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

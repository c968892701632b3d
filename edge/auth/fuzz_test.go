package auth_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// For any header, a request is refused or accepted, and nothing of it can end a header of the
// response.
func FuzzHeader(f *testing.F) {
	i := issuer.New("https://id.example")
	a := newAuth(f, options(i))
	good := i.Token("alice", resource)
	for _, s := range []string{"", "Bearer", "Bearer ", "Bearer a.b.c", "bearer\t" + good, "Bearer " + good, "Basic x", "Bearer  =", "Bearer \x00"} {
		f.Add(s, "")
	}
	f.Add("Bearer x", "access_token=x")
	f.Fuzz(func(t *testing.T, header, query string) {
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.URL.RawQuery = query
		r.Header["Authorization"] = []string{header}
		p, denied := a.Authenticate(r)
		if denied == nil {
			if p.Subject != "alice" {
				t.Fatalf("%q is %+v", header, p)
			}
			return
		}
		if denied.Status != 400 && denied.Status != 401 || len(denied.Challenges) != 1 || strings.ContainsAny(denied.Challenges[0], "\r\n") {
			t.Fatalf("%q: %+v", header, denied)
		}
	})
}

// For any claims under a valid signature, nothing panics, and an accepted caller has a subject.
func FuzzClaims(f *testing.F) {
	i := issuer.New("https://id.example")
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	key := issuer.Key{ID: "ed", Method: jwt.SigningMethodEdDSA, Private: private}
	i.Use(key)
	a := newAuth(f, options(i))
	for _, s := range []string{
		`{}`, `[]`, `{"iss":"https://id.example","sub":"a","aud":"https://mcp.example.com","exp":99999999999}`,
		`{"iss":"https://id.example","sub":{"a":1},"aud":["https://mcp.example.com",7],"exp":1e300,"scope":[1,"a"],"realm_access":{"roles":"x"}}`,
		`{"iss":"https://id.example","sub":"\ud800","aud":"https://mcp.example.com","exp":99999999999,"realm_access":7,"nbf":"x"}`,
	} {
		f.Add(s)
	}
	header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"EdDSA","kid":"` + key.ID + `"}`))
	f.Fuzz(func(t *testing.T, text string) {
		signed := header + "." + base64.RawURLEncoding.EncodeToString([]byte(text))
		signature, err := key.Method.Sign(signed, key.Private)
		if err != nil {
			t.Fatal(err)
		}
		p, denied := a.Authenticate(bearer(signed + "." + base64.RawURLEncoding.EncodeToString(signature)))
		if denied == nil && (p.Subject == "" || p.Issuer != i.URL || strings.ContainsAny(p.Subject, "\x00\n\ufffd")) {
			t.Fatalf("%q is %+v", text, p)
		}
	})
}

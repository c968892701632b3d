package auth_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// proved returns a request to /mcp with a token and proofs.
func proved(scheme, token string, proofs ...string) *http.Request {
	r := request(scheme + " " + token)
	for _, p := range proofs {
		r.Header.Add("DPoP", p)
	}
	return r
}

// Proofs of every kind with a bound token: accepted, or denied with the reason (RFC 9449, section
// 4.3).
func TestProofs(t *testing.T) {
	i, client, other := issuer.New("https://id.example"), issuer.NewProver(), issuer.NewProver()
	o := options(i)
	o.DPoP = auth.DPoPAccept
	a := newAuth(t, o)
	token := i.Token("alice", resource, client.Bound())
	plain := i.Token("alice", resource)
	type members = map[string]any
	proof := func(header, claims members) string {
		return client.Proof("POST", resource+"/mcp", token, header, claims)
	}
	at := func(d time.Duration) members { return members{"iat": time.Now().Add(d).Unix()} }
	private := client.JWK()
	private["d"] = "AAAA"
	capital := client.JWK()
	capital["D"] = "AAAA"
	curve := client.JWK()
	curve["crv"] = "P-384"
	shadowed := other.JWK()
	shadowed["X"], shadowed["Y"] = client.JWK()["x"], client.JWK()["y"]
	used := proof(nil, nil)
	for _, c := range []struct {
		name   string
		r      *http.Request
		status int // 0 means accepted
		failed string
		says   string
	}{
		{"good", proved("DPoP", token, used), 0, "", ""},
		{"scheme in lower case", proved("dpop", token, proof(nil, nil)), 0, "", ""},
		{"type in capitals", proved("DPoP", token, proof(members{"typ": "DPoP+JWT"}, nil)), 0, "", ""},
		{"URL spelled otherwise", proved("DPoP", token, proof(nil, members{"htu": "HTTPS://MCP.example.com:443/mcp?a=b#c"})), 0, "", ""},
		{"made a while ago", proved("DPoP", token, proof(nil, at(-50*time.Second))), 0, "", ""},
		{"made a little ahead", proved("DPoP", token, proof(nil, at(50*time.Second))), 0, "", ""},
		{"an unbound token, by Bearer", proved("Bearer", plain), 0, "", ""},

		{"used before", proved("DPoP", token, used), 401, "invalid_dpop_proof", "used before"},
		{"none", proved("DPoP", token), 401, "invalid_dpop_proof", "the proof is missing"},
		{"two", proved("DPoP", token, proof(nil, nil), proof(nil, nil)), 401, "invalid_dpop_proof", "2 times"},
		{"no JWT", proved("DPoP", token, "x"), 401, "invalid_dpop_proof", "not a valid JWT"},
		{"too large", proved("DPoP", token, proof(nil, members{"jti": strings.Repeat("x", 9<<10)})), 401, "invalid_dpop_proof", "the limit is 8192"},
		{"no type", proved("DPoP", token, proof(members{"typ": nil}, nil)), 401, "invalid_dpop_proof", "another type"},
		{"another type", proved("DPoP", token, proof(members{"typ": "JWT"}, nil)), 401, "invalid_dpop_proof", "another type"},
		{"an extension", proved("DPoP", token, proof(members{"crit": []string{"x"}, "x": 1}, nil)), 401, "invalid_dpop_proof", "extensions"},
		{"no key", proved("DPoP", token, proof(members{"jwk": nil}, nil)), 401, "invalid_dpop_proof", "no key"},
		{"a private key", proved("DPoP", token, proof(members{"jwk": private}, nil)), 401, "invalid_dpop_proof", "private key"},
		{"a private key, its member in capitals", proved("DPoP", token, proof(members{"jwk": capital}, nil)), 401, "invalid_dpop_proof", "private key"},
		{"a symmetric key", proved("DPoP", token, proof(members{"jwk": members{"kty": "oct", "k": "AAAA"}}, nil)), 401, "invalid_dpop_proof", "private key"},
		{"a key that is none", proved("DPoP", token, proof(members{"jwk": members{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}}, nil)), 401, "invalid_dpop_proof", "cannot be used"},
		{"another key, in the header", proved("DPoP", token, proof(members{"jwk": other.JWK()}, nil)), 401, "invalid_dpop_proof", "another key"},
		{"another client's", proved("DPoP", token, other.Proof("POST", resource+"/mcp", token, nil, nil)), 401, "invalid_dpop_proof", "another key"},
		{"wrong signature", proved("DPoP", token, spoiled(proof(nil, nil))), 401, "invalid_dpop_proof", "signature"},
		{"algorithm none", proved("DPoP", token, proof(members{"alg": "none"}, nil)), 401, "invalid_dpop_proof", "algorithm"},
		{"HMAC", proved("DPoP", token, proof(members{"alg": "HS256"}, nil)), 401, "invalid_dpop_proof", "algorithm"},
		{"another curve", proved("DPoP", token, proof(members{"jwk": curve}, nil)), 401, "invalid_dpop_proof", "cannot be used"},
		{"another key beside it, in capitals", proved("DPoP", token, other.Proof("POST", resource+"/mcp", token, members{"jwk": shadowed}, nil)), 401, "invalid_dpop_proof", ""},
		{"an algorithm of another key", proved("DPoP", token, proof(members{"alg": "RS256"}, nil)), 401, "invalid_dpop_proof", "algorithm"},
		{"another method", proved("DPoP", token, proof(nil, members{"htm": "GET"})), 401, "invalid_dpop_proof", "(htm)"},
		{"the method in lower case", proved("DPoP", token, proof(nil, members{"htm": "post"})), 401, "invalid_dpop_proof", "(htm)"},
		{"another path", proved("DPoP", token, proof(nil, members{"htu": resource + "/sse"})), 401, "invalid_dpop_proof", "(htu)"},
		{"another host", proved("DPoP", token, proof(nil, members{"htu": "https://evil.example/mcp"})), 401, "invalid_dpop_proof", "(htu)"},
		{"another scheme", proved("DPoP", token, proof(nil, members{"htu": "http://mcp.example.com/mcp"})), 401, "invalid_dpop_proof", "(htu)"},
		{"another port", proved("DPoP", token, proof(nil, members{"htu": "https://mcp.example.com:80/mcp"})), 401, "invalid_dpop_proof", "(htu)"},
		{"a user in the URL", proved("DPoP", token, proof(nil, members{"htu": "https://a@mcp.example.com/mcp"})), 401, "invalid_dpop_proof", "(htu)"},
		{"an escaped slash", proved("DPoP", token, proof(nil, members{"htu": resource + "/mcp%2F"})), 401, "invalid_dpop_proof", "(htu)"},
		{"the path in another case", proved("DPoP", token, proof(nil, members{"htu": resource + "/MCP"})), 401, "invalid_dpop_proof", "(htu)"},
		{"a path with segments of dots", proved("DPoP", token, proof(nil, members{"htu": resource + "/x/../mcp"})), 401, "invalid_dpop_proof", "(htu)"},
		{"no scheme", proved("DPoP", token, proof(nil, members{"htu": "//mcp.example.com/mcp"})), 401, "invalid_dpop_proof", "(htu)"},
		{"no URL", proved("DPoP", token, proof(nil, members{"htu": nil})), 401, "invalid_dpop_proof", "(htu)"},
		{"no hash of the token", proved("DPoP", token, proof(nil, members{"ath": nil})), 401, "invalid_dpop_proof", "(ath)"},
		{"another token's", proved("DPoP", token, client.Proof("POST", resource+"/mcp", plain, nil, nil)), 401, "invalid_dpop_proof", "(ath)"},
		{"no identifier", proved("DPoP", token, proof(nil, members{"jti": nil})), 401, "invalid_dpop_proof", "(jti)"},
		{"a long identifier", proved("DPoP", token, proof(nil, members{"jti": strings.Repeat("x", 300)})), 401, "invalid_dpop_proof", "(jti)"},
		{"no time", proved("DPoP", token, proof(nil, members{"iat": nil})), 401, "invalid_dpop_proof", "(iat)"},
		{"a time that is none", proved("DPoP", token, proof(nil, members{"iat": "now"})), 401, "invalid_dpop_proof", "(iat)"},
		{"a time in milliseconds", proved("DPoP", token, proof(nil, members{"iat": time.Now().UnixMilli()})), 401, "invalid_dpop_proof", "too old"},
		{"old", proved("DPoP", token, proof(nil, at(-2*time.Minute))), 401, "invalid_dpop_proof", "too old"},
		{"of the future", proved("DPoP", token, proof(nil, at(2*time.Minute))), 401, "invalid_dpop_proof", "too old"},

		{"a bound token, by Bearer", proved("Bearer", token, proof(nil, nil)), 401, "invalid_token", "which the scheme Bearer does not prove"},
		{"an unbound token, by DPoP", proved("DPoP", plain, client.Proof("POST", resource+"/mcp", plain, nil, nil)), 401, "invalid_token", "not bound"},
		{"bound in two ways", proved("DPoP", i.Token("alice", resource, claims{"cnf": claims{"jkt": strings.Repeat("A", 43), "x5t#S256": "x"}})), 401, "invalid_token", "bound"},
		{"bound by a certificate", proved("Bearer", i.Token("alice", resource, claims{"cnf": claims{"x5t#S256": "x"}})), 401, "invalid_token", "bound"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, denied := a.Authenticate(c.r)
			if c.status == 0 {
				if denied != nil || p.Subject != "alice" {
					t.Fatalf("%+v, %+v", p, denied)
				}
				return
			}
			if denied == nil || denied.Status != c.status || !strings.Contains(denied.Message, c.says) {
				t.Fatalf("%+v, want %d and %q", denied, c.status, c.says)
			}
			used := "DPoP "
			if strings.HasPrefix(c.r.Header.Get("Authorization"), "Bearer") {
				used = "Bearer "
			}
			if len(denied.Challenges) != 2 || !strings.HasPrefix(denied.Challenges[0], "Bearer ") || !strings.HasPrefix(denied.Challenges[1], "DPoP ") ||
				!strings.Contains(denied.Challenges[1], `algs="RS256 PS256 ES256 ES384 EdDSA"`) {
				t.Errorf("the challenges are %q", denied.Challenges)
			}
			for _, one := range denied.Challenges {
				if strings.Contains(one, `error="`+c.failed+`"`) != strings.HasPrefix(one, used) || !strings.Contains(one, "resource_metadata=") {
					t.Errorf("the error %s in %q", c.failed, denied.Challenges)
				}
			}
		})
	}
}

// spoiled returns a JWT with another signature.
func spoiled(token string) string {
	head, tail := token[:len(token)-8], token[len(token)-8:]
	if tail == "AAAAAAAA" {
		return head + "BBBBBBBB"
	}
	return head + "AAAAAAAA"
}

func TestProofsAreOffOrRequired(t *testing.T) {
	i, client := issuer.New("https://id.example"), issuer.NewProver()
	o := options(i)
	o.ReadAPIKeys = func() ([]auth.APIKey, error) {
		return []auth.APIKey{{Name: "ci", SHA256: sha256.Sum256([]byte("key")), Scopes: []string{"operate"}}}, nil
	}
	bound, plain := i.Token("alice", resource, client.Bound()), i.Token("alice", resource, claims{"scope": "operate"})
	proof := func() string { return client.Proof("POST", resource+"/mcp", bound, nil, nil) }
	off := newAuth(t, o)
	o.DPoP = auth.DPoPRequire
	required := newAuth(t, o)
	for name, c := range map[string]struct {
		a          *auth.Authenticator
		r          *http.Request
		challenges string // empty means accepted
	}{
		"off, bound by DPoP":       {off, proved("DPoP", bound, proof()), "Bearer"},
		"off, bound by Bearer":     {off, proved("Bearer", bound, proof()), "Bearer"},
		"off, unbound":             {off, proved("Bearer", plain), ""},
		"required, bound":          {required, proved("DPoP", bound, proof()), ""},
		"required, unbound":        {required, proved("Bearer", plain), "DPoP"},
		"required, none":           {required, request(), "DPoP"},
		"required, an API key":     {required, proved("Bearer", "key"), ""},
		"required, unbound, DPoP":  {required, proved("DPoP", plain, proof()), "DPoP"},
		"required, API key, DPoP":  {required, proved("DPoP", "key", proof()), "DPoP"},
		"required, bound, Bearer":  {required, proved("Bearer", bound, proof()), "DPoP"},
		"required, another scheme": {required, proved("Basic", "eDp4"), "DPoP"},
	} {
		_, denied := c.a.Authenticate(c.r)
		switch {
		case c.challenges == "" && denied != nil, c.challenges != "" && denied == nil:
			t.Errorf("%s: %+v", name, denied)
		case denied != nil && (denied.Status != 401 || len(denied.Challenges) != 1 || !strings.HasPrefix(denied.Challenges[0], c.challenges+" ")):
			t.Errorf("%s: status %d, %q", name, denied.Status, denied.Challenges)
		}
	}
	// The admin address accepts no proofs.
	admin := required.Requiring("operate")
	if _, denied := admin.Authenticate(proved("Bearer", plain)); denied != nil {
		t.Errorf("an unbound token at the admin address: %+v", denied)
	}
	if _, denied := admin.Authenticate(proved("DPoP", bound, proof())); denied == nil || denied.Status != 401 || !strings.HasPrefix(denied.Challenges[0], "Bearer ") {
		t.Errorf("a bound token at the admin address: %+v", denied)
	}
	for mode, want := range map[auth.DPoP][2]any{auth.DPoPOff: {nil, nil}, auth.DPoPAccept: {5, nil}, auth.DPoPRequire: {5, true}} {
		o.DPoP = mode
		w := httptest.NewRecorder()
		newAuth(t, o).ServeHTTP(w, httptest.NewRequest("GET", auth.MetadataPath+"/mcp", nil))
		var m map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		algorithms, _ := m["dpop_signing_alg_values_supported"].([]any)
		if n, _ := want[0].(int); len(algorithms) != n || m["dpop_bound_access_tokens_required"] != want[1] {
			t.Errorf("mode %d: the metadata is %s", mode, w.Body)
		}
	}
}

// A proof is for the public URL, whatever Host says, and whether or not a proxy cuts off its path.
func TestProofsAreForThePublicURL(t *testing.T) {
	i, client := issuer.New("https://id.example"), issuer.NewProver()
	o := options(i)
	o.DPoP, o.Resource = auth.DPoPAccept, "https://example.com/ai/"
	a := newAuth(t, o)
	token := i.Token("alice", "https://example.com/ai", client.Bound())
	for url, good := range map[string]bool{
		"https://example.com/ai/mcp": true, "https://example.com/mcp": false, "http://localhost:8080/mcp": false, "https://example.com/ai/ai/mcp": false,
	} {
		for _, path := range []string{"/mcp", "/ai/mcp"} {
			if path == "/ai/mcp" && url == "https://example.com/ai/ai/mcp" {
				continue // a proxy that removes nothing would have received this
			}
			r := proved("DPoP", token, client.Proof("POST", url, token, nil, nil))
			r.URL.Path, r.Host = path, "localhost:8080"
			if _, denied := a.Authenticate(r); (denied == nil) != good {
				t.Errorf("a proof for %s, at %s: %+v", url, path, denied)
			}
		}
	}
}

// storing is a store of proofs with a function of the test.
type storing func(caller, id string, life time.Duration, most int) (bool, error)

func (s storing) Spend(_ context.Context, caller, id string, life time.Duration, most int) (bool, error) {
	return s(caller, id, life, most)
}

// Results of the store of proofs: a failure is not the caller's error, and a caller with too many
// proofs must retry later.
func TestProofsNeedTheirStore(t *testing.T) {
	i, client := issuer.New("https://id.example"), issuer.NewProver()
	for name, c := range map[string]struct {
		err    error
		status int
		says   string
		after  time.Duration
	}{
		"away":     {errors.New("away"), 503, "cannot be checked for reuse now", 0},
		"too many": {mcp.Errorf(mcp.KindLimit, "full"), 429, "65536 DPoP proofs", 10 * time.Second},
	} {
		o := options(i)
		o.DPoP, o.Proofs = auth.DPoPAccept, func() auth.Proofs {
			return storing(func(string, string, time.Duration, int) (bool, error) { return false, c.err })
		}
		token := i.Token("alice", resource, client.Bound())
		_, denied := newAuth(t, o).Authenticate(proved("DPoP", token, client.Proof("POST", resource+"/mcp", token, nil, nil)))
		if denied == nil || denied.Status != c.status || len(denied.Challenges) != 0 || !strings.Contains(denied.Message, c.says) || denied.RetryAfter != c.after {
			t.Errorf("%s: %+v", name, denied)
		}
	}
}

// A proof is remembered for ten seconds longer than it is accepted here, because the clock of
// another replica may be behind.
func TestProofsOutlastTheClocksOfReplicas(t *testing.T) {
	i, client := issuer.New("https://id.example"), issuer.NewProver()
	synctest.Test(t, func(t *testing.T) {
		o := options(i)
		o.DPoP, o.Proofs = auth.DPoPAccept, func() auth.Proofs {
			return storing(func(caller, _ string, life time.Duration, _ int) (bool, error) {
				if caller != i.URL+"\x00alice" || life != 20*time.Second {
					t.Errorf("a proof of %q is remembered for %v", caller, life)
				}
				return true, nil
			})
		}
		a := newAuth(t, o)
		token := i.Token("alice", resource, client.Bound())
		proof := client.Proof("POST", resource+"/mcp", token, nil, map[string]any{"iat": time.Now().Add(-50 * time.Second).Unix()})
		if _, denied := a.Authenticate(proved("DPoP", token, proof)); denied != nil {
			t.Errorf("%+v", denied)
		}
	})
}

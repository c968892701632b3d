package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// public is the URL of edges whose callers have tokens.
const public = "https://mcp.example.com"

// withAuth has an edge accept the tokens of an issuer.
func withAuth(id *issuer.Issuer) func(*config.Config) {
	return func(c *config.Config) {
		c.Listen.PublicURL = public
		c.Auth = &config.Auth{
			Issuers:  []config.Issuer{{Issuer: id.URL}},
			Metadata: config.AuthMetadata{ScopesSupported: []string{"mcp:read", "mcp:write"}, InitialScopes: []string{"mcp:read"}},
		}
	}
}

// presented are headers of a request, and what comes of it.
type presented struct {
	headers []string
	query   string
	// status 0: it is served.
	status    int
	challenge string
	message   string
}

// credentials are those of the table, in every way in which they may be wrong.
func credentials(t *testing.T, id *issuer.Issuer) map[string]presented {
	foreign := issuer.Serve(t)
	token := func(changes map[string]any) string { return id.Token("alice", public+"/mcp", changes) }
	forged := foreign.Newest()
	forged.ID = id.Newest().ID
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, id.Claims("alice", public)).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	bearer := func(token string, status int, failure, message string) presented {
		return presented{headers: []string{"Authorization", "Bearer " + token}, status: status, challenge: failure, message: message}
	}
	wrong := func(token, message string) presented { return bearer(token, 401, "invalid_token", message) }
	good := token(nil)
	return map[string]presented{
		"good":                       bearer(good, 0, "", ""),
		"several audiences":          bearer(token(map[string]any{"aud": []string{"x", public + "/sse"}}), 0, "", ""),
		"audience spelled otherwise": bearer(token(map[string]any{"aud": "https://MCP.example.com:443/"}), 0, "", ""),
		"none":                       {status: 401, message: "authentication is required"},
		"in the query":               {query: "access_token=" + good, status: 401, message: "in the query"},
		"empty header":               {headers: []string{"Authorization", " "}, status: 400, challenge: "invalid_request", message: "is empty"},
		"two headers":                {headers: []string{"Authorization", "Bearer " + good, "Authorization", "Bearer " + good}, status: 400, challenge: "invalid_request", message: "2 times"},
		"two tokens":                 bearer(good+" "+good, 400, "invalid_request", "an invalid character"),
		"also in the query":          {headers: []string{"Authorization", "Bearer " + good}, query: "access_token=" + good, status: 400, challenge: "invalid_request", message: "beside"},
		"no JWT":                     wrong("opaque", "is unknown"),
		"wrong signature":            wrong(good[:len(good)-8]+"AAAAAAAA", "signature"),
		"alg none":                   wrong(unsigned, "algorithm"),
		"unknown kid":                wrong(id.Sign(id.Claims("alice", public), map[string]any{"kid": "x"}), "a key that its issuer does not have"),
		"other issuer":               wrong(foreign.Token("alice", public), "issuer is not accepted"),
		"other issuer's key":         wrong(forged.Sign(id.Claims("alice", public), nil), "signature"),
		"ID token":                   wrong(token(map[string]any{"at_hash": "x"}), "ID token"),
		"wrong audience":             wrong(token(map[string]any{"aud": "https://other.example"}), "not for this server"),
		"no audience":                wrong(token(map[string]any{"aud": nil}), "not for this server"),
		"expired":                    wrong(token(map[string]any{"exp": 1700000000}), "has expired"),
		"not yet valid":              wrong(token(map[string]any{"nbf": 4000000000}), "not valid yet"),
		"too large":                  wrong(strings.Repeat("x", 20<<10), "bytes"),
		"bound to a key, by Bearer":  wrong(token(map[string]any{"cnf": map[string]string{"jkt": "x"}}), "bound to a key"),
	}
}

// TestTokens presents every token over every transport, in every revision and with every method: each refusal has its
// status, its challenge, which names the metadata of its endpoint, and a JSON-RPC error as body, and comes before the
// request's body is looked at.
func TestTokens(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	_, e := startFixture(t, withAuth(id))
	initialize := func(version string) string {
		return envelope("1", "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	}
	requests := map[string]struct {
		path, metadata, method, body string
		headers                      []string
		served                       int
	}{
		"SSE, GET":            {"/sse", "/sse", "GET", "", nil, 200},
		"SSE, POST":           {"/message?sessionId=none", "/sse", "POST", initialize(v2024), nil, 404},
		"broken body":         {"/mcp", "/mcp", "POST", `{"jsonrpc"`, nil, 400},
		"DELETE":              {"/mcp", "/mcp", "DELETE", "", []string{"Mcp-Session-Id", "none"}, 404},
		"GET":                 {"/mcp", "/mcp", "GET", "", []string{"Mcp-Session-Id", "none"}, 404},
		"resuming GET":        {"/mcp", "/mcp", "GET", "", []string{"Mcp-Session-Id", "none", "Last-Event-ID", "x"}, 404},
		"a response":          {"/mcp", "/mcp", "POST", `{"jsonrpc":"2.0","id":1,"result":{}}`, []string{"Mcp-Session-Id", "none"}, 404},
		"batch":               {"/mcp", "/mcp", "POST", `[` + envelope("1", "ping", "") + `]`, []string{"Mcp-Session-Id", "none"}, 404},
		v2026 + " tools/list": {"/mcp", "/mcp", "POST", envelope("1", "tools/list", `{"_meta":{`+metaBoth+`}}`), modernHeaders("tools/list", ""), 200},
		v2026 + " discover":   {"/mcp", "/mcp", "POST", envelope("1", "server/discover", `{"_meta":{`+metaBoth+`}}`), modernHeaders("server/discover", ""), 200},
		v2026 + " listen":     {"/mcp", "/mcp", "POST", envelope("1", "subscriptions/listen", `{"_meta":{`+metaBoth+`},"notifications":{}}`), modernHeaders("subscriptions/listen", ""), 200},
	}
	for _, v := range stateful {
		r := requests["GET"]
		r.method, r.body, r.headers, r.served = "POST", initialize(v), nil, 200
		requests[v+" initialize"] = r
	}
	for name, p := range credentials(t, id) {
		t.Run(name, func(t *testing.T) {
			for what, r := range requests {
				u, err := url.Parse("http://" + e.Host + r.path)
				if err != nil {
					t.Fatal(err)
				}
				if p.query != "" {
					u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+p.query, "&")
				}
				got := newCaller(t, u.String()).send(t, r.method, r.body, append(append([]string{}, r.headers...), p.headers...)...)
				if p.status == 0 {
					if got.status != r.served {
						t.Errorf("%s: status %d, want %d: %s", what, got.status, r.served, got.body)
					}
					if got.stream != nil {
						got.stream.close()
					}
					continue
				}
				challenge := "Bearer "
				if p.challenge != "" {
					challenge += `error="` + p.challenge + `", error_description="`
				}
				end := `scope="mcp:read", resource_metadata="` + public + `/.well-known/oauth-protected-resource` + r.metadata + `"`
				if c := got.header.Values("WWW-Authenticate"); got.status != p.status || len(c) != 1 || !strings.HasPrefix(c[0], challenge) || !strings.HasSuffix(c[0], end) {
					t.Errorf("%s: status %d, challenge %q, want %d, %s…%s", what, got.status, c, p.status, challenge, end)
				}
				code := map[int]int{400: -32600, 401: -31401}[p.status]
				var body struct {
					JSONRPC string
					ID      json.RawMessage
					Error   struct {
						Code    int
						Message string
					}
				}
				if err := json.Unmarshal(got.body, &body); err != nil || body.JSONRPC != "2.0" || body.ID != nil || body.Error.Code != code || !strings.Contains(body.Error.Message, p.message) {
					t.Errorf("%s: the body is %s, want code %d and %q", what, got.body, code, p.message)
				}
			}
		})
	}
	// A browser's preflight has no credentials, and its page may read the challenge.
	browser := newCaller(t, e.URL)
	page := []string{"Origin", "http://localhost:5173"}
	preflight := browser.send(t, "OPTIONS", "", append(page, "Access-Control-Request-Headers", "authorization")...).want(204)
	if h := preflight.header; h.Get("Access-Control-Allow-Headers") != "authorization" || h.Get("Access-Control-Allow-Origin") != page[1] {
		t.Errorf("the preflight is answered with %v", h)
	}
	if h := browser.send(t, "POST", "{}", page...).want(401).header; h.Get("Access-Control-Allow-Origin") != page[1] ||
		!strings.Contains(h.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		t.Errorf("a page is refused with %v", h)
	}
	// The metadata that the challenges name leads to the issuer, without credentials and for pages of every origin.
	for _, path := range []string{"", "/mcp", "/sse"} {
		got := newCaller(t, "http://"+e.Host+"/.well-known/oauth-protected-resource"+path).send(t, "GET", "", "Origin", "https://app.example", "Accept", "")
		m := object(t, got.body)
		if got.status != 200 || m["resource"] != public+path || dig(m, "authorization_servers", 0) != id.URL || got.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d, %v, %s", path, got.status, got.header, got.body)
		}
	}
}

// TestRefusedCredentialsAreLogged: who looks at the log of an edge as it comes sees why credentials are refused, where, and of whom, and
// nothing of a token; the other listener and other reasons have lines of their own.
func TestRefusedCredentialsAreLogged(t *testing.T) {
	harness.OneProcess(t)
	id := issuer.Serve(t)
	_, e := startFixture(t, withAuth(id), func(c *config.Config) { c.Admin.Auth = &config.AdminAuth{Scope: "mcp:operate"} })
	expired := id.Token("alice", public, map[string]any{"exp": 1})
	for range 20 {
		at(t, e, "/mcp", expired).send(t, "POST", hello).want(http.StatusUnauthorized)
		newCaller(t, e.URL).send(t, "POST", hello).want(http.StatusUnauthorized)
	}
	status := newCaller(t, "http://"+e.Admin+"/v1/status")
	status.send(t, "GET", "", "Authorization", "Bearer "+id.Token("alice", public)).want(http.StatusForbidden)
	at(t, e, "/mcp", id.Token("alice", public)).send(t, "POST", hello).want(http.StatusOK)
	e.End(t)
	var lines []string
	for line := range strings.Lines(e.Log.String()) {
		if strings.Contains(line, "credentials were refused") {
			lines = append(lines, line)
		}
	}
	log := strings.Join(lines, "")
	for _, want := range []string{
		`level=INFO msg="credentials were refused" reason=expired status=401 listener=mcp address=127.0.0.1 issuer=` + id.URL + ` error="the access token has expired: get a new one"`,
		"reason=missing status=401 listener=mcp address=127.0.0.1 ", "reason=scope status=403 listener=admin address=127.0.0.1 issuer=" + id.URL,
	} {
		if strings.Count(log, want) == 0 {
			t.Errorf("no line has %s:\n%s", want, log)
		}
	}
	if len(lines) > 10 { // as they come in ten seconds, three
		t.Errorf("41 refusals have %d lines:\n%s", len(lines), log)
	}
	for _, part := range strings.Split(expired, ".")[1:] {
		if strings.Contains(e.Log.String(), part[:20]) {
			t.Errorf("the log has a part of the token: %s", part[:20])
		}
	}
}

//go:build access

package access

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// startClosed runs an edge and a server of its own, where no client registers itself.
func startClosed(t *testing.T, name string, at func(t *testing.T, name, edge string, log *transcript) server, log *transcript) (edge, issuer string) {
	t.Helper()
	address, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	edge = log.proxy(t, "http://"+address, toEdge)
	log.name(edge, "http://EDGE")
	s := at(t, name, edge, log)
	serve(t, address, edge, s.settings(), "mcp:read")
	await.Until(t, "the edge has read the metadata", func() bool { return log.has("SERVER", "/.well-known/", ": 200") })
	return edge, s.settings().Issuer
}

// TestClientWithID: where no client registers itself, the login code of each SDK works with an id that the user has configured, and
// without one it fails before the user is asked anything.
func TestClientWithID(t *testing.T) {
	need(t, npmPackages, pipPackages)
	for name, at := range closed {
		log := &transcript{}
		edge, issuer := startClosed(t, "with-id", at, log)
		// Keycloak names its endpoint in each case, for clients with a token for it.
		if endpoint := metadataAt(t, issuer)["registration_endpoint"]; (endpoint != nil) != (name == "keycloak") {
			t.Errorf("%s names the registration endpoint %v", name, endpoint)
		}
		for _, sdk := range sdks {
			t.Run(name+"/"+sdk.name, func(t *testing.T) {
				log.clear()
				log.heading("log in with an id, and list", false)
				if err := tryLogin(t, log, sdk.make, edge, "mcp-client"); err != nil {
					t.Error(err)
				}
				log.heading("log in without one", false)
				if err := tryLogin(t, log, sdk.make, edge, ""); err == nil || !strings.Contains(strings.ToLower(err.Error()), "regist") {
					t.Errorf("without an id: %v", err)
				}
				if log.has("USER") {
					t.Error("without an id the user is sent to a page")
				}
				compare(t, log, filepath.Join("testdata", "closed-"+sdk.name+"-"+name+".txt"))
			})
		}
	}
}

// registeredAs is the answer of a registration endpoint that has one client for everybody, as a proxy may have it in a file.
const registeredAs = `{"client_id":"mcp-client","redirect_uris":["http://127.0.0.1/callback"],"token_endpoint_auth_method":"none",` +
	`"grant_types":["authorization_code","refresh_token"],"response_types":["code"]}`

// nameEndpoint is what a proxy in front of an authorization server does for docs/access.md: it adds a registration endpoint to the
// server's own metadata, and answers there.
func nameEndpoint(resp *http.Response) {
	r := resp.Request
	replace := func(status int, body []byte) {
		_ = resp.Body.Close()
		resp.StatusCode, resp.Status = status, http.StatusText(status)
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
		resp.Header.Set("Content-Type", "application/json")
	}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/one-client":
		replace(http.StatusCreated, []byte(registeredAs))
	case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/.well-known/") && resp.StatusCode == http.StatusOK:
		body, err := io.ReadAll(resp.Body)
		var m map[string]any
		if err == nil && json.Unmarshal(body, &m) == nil && m["issuer"] != nil { // that of the edge has none
			m["registration_endpoint"] = "http://" + r.Host + "/one-client"
			body, _ = json.Marshal(m)
		}
		replace(http.StatusOK, body)
	}
}

// TestOneClientOfServer: a registration endpoint with one client for all is accepted by every SDK where the server's own metadata
// names it, since the issuer is the server's in the metadata and in the response.
func TestOneClientOfServer(t *testing.T) {
	need(t, npmPackages, pipPackages)
	for name, at := range closed {
		edge, _ := startClosed(t, "one-client", at, &transcript{alter: nameEndpoint})
		for _, sdk := range sdks {
			t.Run(name+"/"+sdk.name, func(t *testing.T) {
				if err := tryLogin(t, &transcript{}, sdk.make, edge, ""); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// browser is one that follows no redirects, and shows where an authorization endpoint sends it.
type browser struct {
	http.Client
	issuer string
}

// sent is the query with which the authorization endpoint sends the browser to a redirect, without a page; nil: it does not.
func (b *browser) sent(t *testing.T, client, redirect string) url.Values {
	t.Helper()
	q := url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "scope": {"mcp:read"}, "prompt": {"none"}, "state": {"of-another"},
		"code_challenge": {strings.Repeat("x", 43)}, "code_challenge_method": {"S256"},
	}
	resp, err := b.Get(metadataAt(t, b.issuer)["authorization_endpoint"].(string) + "?" + q.Encode())
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	to := resp.Header.Get("Location")
	if !strings.HasPrefix(to, redirect) {
		if to != "" {
			t.Errorf("%s is sent to %s", redirect, to)
		}
		return nil
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

// TestConsentOfEachClient is why docs/access.md has a client for each program that is not on the user's machine: Keycloak does not ask a
// user again who has consented to a client, whichever redirect of it a link names, and asks before it sends a code to another client.
// A consent page of the edge could not do that: the link goes to Keycloak.
func TestConsentOfEachClient(t *testing.T) {
	const theirs = "https://assistant.example.com/callback"
	realm := atClosedKeycloak(t, "consent", "http://127.0.0.1:9", &transcript{}).(*keycloakRealm)
	assistant := map[string]any{
		"clientId": "assistant", "publicClient": true, "standardFlowEnabled": true, "consentRequired": true, "fullScopeAllowed": false, "redirectUris": []string{theirs},
		"attributes": map[string]string{"pkce.code.challenge.method": "S256"}, "defaultClientScopes": []string{"basic"}, "optionalClientScopes": []string{"mcp:read"},
	}
	if err := realm.admin(t.Context(), http.MethodPost, "/"+realm.name+"/clients", assistant, nil); err != nil {
		t.Fatal(err)
	}
	u, b := newUser(t, "alice"), &browser{issuer: realm.issuer}
	b.Jar, _ = cookiejar.New(nil)
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	q := url.Values{
		"response_type": {"code"}, "client_id": {"mcp-client"}, "redirect_uri": {u.redirect}, "scope": {"mcp:read"}, "code_challenge": {strings.Repeat("x", 43)},
		"code_challenge_method": {"S256"},
	}
	if err := u.submit(t.Context(), &http.Client{Jar: b.Jar}, metadataAt(t, realm.issuer)["authorization_endpoint"].(string)+"?"+q.Encode()); err != nil {
		t.Fatal(err)
	}
	if got := b.sent(t, "mcp-client", u.redirect); got.Get("code") == "" || got.Get("iss") != realm.issuer {
		t.Errorf("with her consent she is sent back with %v", got)
	}
	if got := b.sent(t, "assistant", theirs); got.Get("code") != "" || got.Get("error") == "" {
		t.Errorf("to a client that she knows nothing of she is sent with %v", got)
	}
	refusesRedirects(t, b)

	realm.setClient(t, "mcp-client", func(client map[string]any) { client["redirectUris"] = append(client["redirectUris"].([]any), theirs) })
	if got := b.sent(t, "mcp-client", theirs); got.Get("code") == "" || got.Get("state") != "of-another" {
		t.Errorf("a client for both asks her first: %v", got)
	}
}

// refusesRedirects: what looks like a redirect of a client is none.
func refusesRedirects(t *testing.T, b *browser) {
	t.Helper()
	for client, redirects := range map[string]map[string]bool{
		"mcp-client": {
			"http://127.0.0.1:1/callback": true, "http://localhost:65535/callback": true,
			"http://127.0.0.1.example.com/callback": false, "http://127.0.0.1@example.com/callback": false, "http://localhost.example.com/": false,
			"http://localhost:1@example.com/": false, "http://127.0.0.2/callback": false, "http://2130706433/callback": false, "https://127.0.0.1/callback": false,
			"http://example.com/callback": false, "com.example.app:/callback": false, "http://127.0.0.1\\@example.com/": false, "javascript:alert(1)": false,
		},
		"assistant": {
			"https://assistant.example.com/callback":  true,
			"https://assistant.example.com/callback/": false, "https://assistant.example.com/Callback": false, "https://assistant.example.com/%63allback": false,
			"https://assistant.example.com/callback?to=x": false, "https://assistant.example.com/callback/../x": false, "https://assistant.example.com:8443/callback": false,
			"http://assistant.example.com/callback": false, "https://assistant.example.com.evil.example/callback": false,
			"https://assistant.example.com@evil.example/callback": false, "https://evil.example/assistant.example.com/callback": false,
			"https://x.assistant.example.com/callback": false, "http://127.0.0.1:1/callback": false,
		},
	} {
		for _, redirect := range slices.Sorted(maps.Keys(redirects)) {
			if got := b.sent(t, client, redirect); (got != nil) != redirects[redirect] {
				t.Errorf("%s: %s is answered with %v", client, redirect, got)
			}
		}
	}
}

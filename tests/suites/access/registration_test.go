//go:build access

package access

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// sdks are those whose own login code is tried.
var sdks = []struct {
	name string
	make func(t *testing.T, edge, redirect, id string, login login) client
	// checks is whether the SDK compares issuer in metadata with where it was read (RFC 8414, section 3.3), and iss in a response with
	// that (RFC 9207). TypeScript 1.x, for revisions before 2026-07-28, checks neither.
	checks bool
}{
	{"go", newGoClient, true},
	{"python", newProgram("env", "PYTHONPATH="+pythonPackages, "python3", "clients/python.py"), true},
	{"typescript-v2", newProgram("node", "clients/typescript-v2.mjs"), true},
	{"typescript-v1", newProgram("node", "clients/typescript-v1.mjs"), false},
}

// closed are the servers where no client registers itself.
var closed = map[string]func(t *testing.T, name, edge string, log *transcript) server{
	"keycloak": atClosedKeycloak, "oidc-provider": atClosedProvider,
}

// atClosedKeycloak is atKeycloak without registration by clients.
func atClosedKeycloak(t *testing.T, name, edge string, log *transcript) server {
	t.Helper()
	k := atKeycloak(t, name, edge, log).(*keycloakRealm)
	const policies = "org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy"
	var found []map[string]any
	if err := k.admin(t.Context(), http.MethodGet, "/"+name+"/components?type="+policies, nil, &found); err != nil {
		t.Fatal(err)
	}
	for _, policy := range found {
		if policy["providerId"] != "trusted-hosts" || policy["subType"] != "anonymous" {
			continue
		}
		policy["config"] = map[string]any{
			"host-sending-registration-request-must-match": []string{"true"}, "client-uris-must-match": []string{"true"}, "trusted-hosts": []string{},
		}
		if err := k.admin(t.Context(), http.MethodPut, "/"+name+"/components/"+policy["id"].(string), policy, nil); err != nil {
			t.Fatal(err)
		}
		return k
	}
	t.Fatal("the realm has no policy of hosts that may register clients")
	return nil
}

// setClient changes the client of the realm.
func (k *keycloakRealm) setClient(t *testing.T, id string, change func(client map[string]any)) {
	t.Helper()
	var found []map[string]any
	if err := k.admin(t.Context(), http.MethodGet, "/"+k.name+"/clients?clientId="+id, nil, &found); err != nil || len(found) != 1 {
		t.Fatalf("%d clients, %v", len(found), err)
	}
	change(found[0])
	if err := k.admin(t.Context(), http.MethodPut, "/"+k.name+"/clients/"+found[0]["id"].(string), found[0], nil); err != nil {
		t.Fatal(err)
	}
}

// sayNoIssuer has Keycloak leave iss out of its responses to mcp-client.
func (k *keycloakRealm) sayNoIssuer(t *testing.T) {
	t.Helper()
	k.setClient(t, "mcp-client", func(client map[string]any) {
		client["attributes"].(map[string]any)["exclude.issuer.from.auth.response"] = "true"
	})
}

// borrowed is an MCP server that presents metadata of an authorization server at its own origin, with the login of another one.
type borrowed struct {
	// server is the authorization server whose login it is.
	server func() server
	// issuer is the issuer that the metadata names; nil: the origin itself.
	issuer func() string
	// token is the token endpoint; nil: that of the server.
	token http.HandlerFunc
	// legacy leaves out the protected-resource metadata, as it was before 2025-06-18.
	legacy bool
	// edge is the address of the edge that its /mcp is; empty: it refuses all requests.
	edge string
}

// serve serves it at a free port of loopback, with a registration endpoint that answers every client with the id mcp-client.
func (b borrowed) serve(t *testing.T) (origin string) {
	t.Helper()
	l, err := freeport.Listen()
	if err != nil {
		t.Fatal(err)
	}
	origin = "http://" + l.Addr().String()
	mux := http.NewServeMux()
	b.present(t, mux, origin)
	if b.token != nil {
		mux.HandleFunc("POST /token", b.token)
	}
	if b.edge != "" {
		mux.Handle("/mcp", b.toEdge())
	} else {
		mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer scope="mcp:read", resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, origin))
			http.Error(w, "log in", http.StatusUnauthorized)
		})
	}
	s := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return origin
}

// present serves the metadata and the registration endpoint.
func (b borrowed) present(t *testing.T, mux *http.ServeMux, origin string) {
	say := func(w http.ResponseWriter, status int, what any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(what)
	}
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		if b.legacy {
			http.NotFound(w, r)
			return
		}
		say(w, http.StatusOK, map[string]any{
			"resource": origin + "/mcp", "authorization_servers": []string{origin}, "scopes_supported": []string{"mcp:read", "mcp:write"},
		})
	})
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
		m := metadataAt(t, b.server().settings().Issuer)
		m["issuer"], m["registration_endpoint"] = origin, origin+"/register"
		if b.issuer != nil {
			m["issuer"] = b.issuer()
		} else {
			delete(m, "authorization_response_iss_parameter_supported")
		}
		if b.token != nil {
			m["token_endpoint"] = origin + "/token"
		}
		m["scopes_supported"] = []string{"mcp:read", "mcp:write"}
		say(w, http.StatusOK, m)
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		asked["client_id"] = "mcp-client"
		say(w, http.StatusCreated, asked)
	})
}

// toEdge passes requests on to the edge, with the Host that the client wrote.
func (b borrowed) toEdge() http.Handler {
	to := &url.URL{Scheme: "http", Host: b.edge}
	return &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}, ModifyResponse: func(resp *http.Response) error {
		if b.legacy {
			resp.Header.Del("WWW-Authenticate")
		}
		return nil
	}}
}

// metadataAt is the metadata of an issuer.
func metadataAt(t *testing.T, issuer string) (m map[string]any) {
	t.Helper()
	resp, err := http.Get(issuer + "/.well-known/openid-configuration")
	if err != nil {
		t.Error(err)
		return map[string]any{}
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&m); err != nil {
		t.Error(err)
	}
	return m
}

// tryLogin has a new client of a user log in at the edge and list its tools.
func tryLogin(t *testing.T, log *transcript, make func(t *testing.T, edge, redirect, id string, login login) client, edge, id string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), expires)
	defer cancel()
	u := newUser(t, "alice")
	log.name(u.redirect, "http://CLIENT/callback")
	c := make(t, edge+"/mcp", u.redirect, id, log.login(u))
	defer func() { _ = c.close() }()
	if err := c.connect(ctx); err != nil {
		return err
	}
	tools, err := c.list(ctx)
	if slices.Sort(tools); err == nil && !slices.Equal(tools, []string{"change", "look"}) {
		return fmt.Errorf("it lists %q", tools)
	}
	return err
}

// TestBorrowedMetadata is why the edge does not register clients (docs/security.md): metadata that another origin than the issuer
// presents, with a registration endpoint of its own, is refused by each SDK that checks what it must, whichever issuer it names. What
// is refused is either the metadata, or the response, in which the issuer names itself.
func TestBorrowedMetadata(t *testing.T) {
	need(t, npmPackages, pipPackages)
	for name, at := range closed {
		for _, kind := range []string{"its own issuer", "the issuer of the server", "without protected-resource metadata"} {
			var s server
			address, err := freeport.Addr()
			if err != nil {
				t.Fatal(err)
			}
			b := borrowed{server: func() server { return s }, edge: address}
			want := "iss" // of the response
			if kind != "its own issuer" {
				b.issuer = func() string { return s.settings().Issuer }
				b.legacy = kind != "the issuer of the server"
				want = "issuer" // of the metadata
			}
			edge := b.serve(t)
			s = at(t, strings.ReplaceAll(kind, " ", "-"), edge, &transcript{})
			serve(t, address, edge, s.settings(), "mcp:read")
			for _, sdk := range sdks {
				if b.legacy && !sdk.checks {
					continue // which scopes and which audience it then gets is up to the server
				}
				t.Run(name+"/"+kind+"/"+sdk.name, func(t *testing.T) {
					err := tryLogin(t, &transcript{}, sdk.make, edge, "")
					switch {
					case !sdk.checks && err != nil:
						t.Errorf("it checks nothing, and fails: %v", err)
					case sdk.checks && (err == nil || !strings.Contains(strings.ToLower(err.Error()), want)):
						t.Errorf("it does not refuse %s: %v", want, err)
					}
				})
			}
		}
	}
}

// TestMixUp is what iss in a response prevents, and why no edge may ask operators to turn it off, as borrowed metadata would need: a
// server that a user adds to a client names the authorization server's login with the one public client, and its own token endpoint.
// Without iss it gets the code and its verifier, and with them a token of the user that the edge accepts.
func TestMixUp(t *testing.T) {
	need(t, npmPackages, pipPackages)
	for _, silent := range []bool{false, true} {
		address, err := freeport.Addr()
		if err != nil {
			t.Fatal(err)
		}
		edge := "http://" + address
		realm := atClosedKeycloak(t, fmt.Sprintf("mixup-%t", silent), edge, &transcript{}).(*keycloakRealm)
		serve(t, address, edge, realm.settings(), "mcp:read")
		if silent {
			realm.sayNoIssuer(t)
		}
		for _, sdk := range sdks {
			t.Run(fmt.Sprintf("without iss=%t/%s", silent, sdk.name), func(t *testing.T) {
				stolen := ""
				thief := borrowed{server: func() server { return realm }, token: func(w http.ResponseWriter, r *http.Request) {
					stolen = realm.redeem(t, r)
					http.Error(w, `{"error":"server_error"}`, http.StatusBadRequest)
				}}.serve(t)
				if err := tryLogin(t, &transcript{}, sdk.make, thief, ""); err == nil {
					t.Error("it logs in at a server that has no tools")
				}
				got := statusAt(t, edge, stolen)
				if safe := sdk.checks && !silent; safe != (stolen == "") || !safe && got != http.StatusMethodNotAllowed {
					t.Errorf("a token was stolen: %t; the edge answers it with %d", stolen != "", got)
				}
			})
		}
	}
}

// redeem gets a token of the realm for a request that was meant for another token endpoint.
func (k *keycloakRealm) redeem(t *testing.T, r *http.Request) string {
	if err := r.ParseForm(); err != nil {
		t.Error(err)
	}
	resp, err := http.PostForm(metadataAt(t, k.issuer)["token_endpoint"].(string), r.PostForm)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Token == "" {
		t.Errorf("%s %s", resp.Status, raw)
	}
	return answer.Token
}

// statusAt is how an edge answers a GET with a token: 405 if it accepts the token.
func statusAt(t *testing.T, edge, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, edge+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

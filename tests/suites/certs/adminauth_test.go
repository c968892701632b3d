package certs

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

const (
	public  = "https://mcp.example.com"
	operate = "mcp:operate"
)

// certified runs an edge whose admin address lets in who has a certificate of clients, or, with an issuer, its token.
func certified(t *testing.T, id *issuer.Issuer, ca, clients *authority.CA, adjust func(*config.Config)) (*harness.Edge, *authority.Mount) {
	t.Helper()
	s := newService()
	capability.AddTool(s.Server, "whoami", "Says who calls", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		p := c.Principal()
		return fmt.Sprintf("%s %s %s", p.GetIssuer(), p.GetSubject(), p.GetScopes()), nil
	})
	cfg := harness.Config(harness.Serve(t, "fixture", s.Server).Backend())
	m := secured(t, &cfg, ca, clients)
	cfg.Listen.TLS.ClientCA = ""
	cfg.Admin.Auth, cfg.Admin.Pprof = &config.AdminAuth{Scope: operate, ClientCert: true}, true
	if id != nil {
		cfg.Listen.PublicURL, cfg.Auth = public, &config.Auth{Issuers: []config.Issuer{{Issuer: id.URL}}}
	}
	if adjust != nil {
		adjust(&cfg)
	}
	return harness.Start(t, cfg), m
}

// showing is a client that shows a certificate whatever CAs the edge names; nil: none.
func showing(t *testing.T, protocol string, ca *authority.CA, pair *authority.Pair) *client {
	t.Helper()
	conf := &tls.Config{RootCAs: authority.Pool(ca)}
	if pair != nil {
		shown := pair.TLS(t)
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil }
	}
	return newClientWith(t, protocol, conf)
}

// answered is an answer of the admin address; status 0: there was no handshake.
type answered struct {
	status          int
	challenge, body string
	// message is the body's.
	message string
}

// ask sends a request to the admin address, with a token unless it is empty: a POST of a call where the path is of one.
func (c *client) ask(t *testing.T, e *harness.Edge, path, token string) answered {
	t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if strings.HasSuffix(path, ":call") {
		method, body = http.MethodPost, strings.NewReader("{}")
	}
	r, err := http.NewRequest(method, "https://"+e.Admin+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(r)
	if err != nil {
		return answered{}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ Message string }
	_ = json.Unmarshal(raw, &said)
	return answered{resp.StatusCode, resp.Header.Get("WWW-Authenticate"), string(raw), said.Message}
}

// With client-cert a certificate of the client CAs lets its owner in where a token does, and a request that has both is
// judged by the token.
func TestAdminClientCert(t *testing.T) {
	id, ca, clients, other := issuer.Serve(t), authority.New(t, "ca"), authority.New(t, "clients"), authority.New(t, "other")
	e, _ := certified(t, id, ca, clients, nil)
	good, stranger, late := clients.Client(t), other.Client(t), clients.Client(t, authority.Expired)
	operator := id.Token("olga", public, map[string]any{"scope": operate})
	alice := id.Token("alice", public)
	const byCertificate = "mcpedge:client-certificates CN=of clients [mcp:operate]"
	byToken := id.URL + " olga [mcp:operate]"
	for _, protocol := range protocols {
		for name, row := range map[string]struct {
			pair   *authority.Pair
			token  string
			open   int // the status of what is open
			status int
			is     string // who calls, or a part of the message
		}{
			"certificate":               {&good, "", 200, 200, byCertificate},
			"token":                     {nil, operator, 200, 200, byToken},
			"both":                      {&good, operator, 200, 200, byToken},
			"nothing":                   {nil, "", 200, 401, "or a client certificate is required: send one issued by a CA of admin.tls.client-ca"},
			"token without the scope":   {nil, alice, 200, 403, operate},
			"certificate, and that one": {&good, alice, 200, 403, operate},
			"certificate, and nonsense": {&good, "nonsense", 200, 401, "is unknown"},
			"stranger":                  {&stranger, "", 0, 0, ""},
			"stranger, and token":       {&stranger, operator, 0, 0, ""},
			"expired":                   {&late, "", 0, 0, ""},
		} {
			t.Run(protocol+"/"+name, func(t *testing.T) {
				c := showing(t, protocol, ca, row.pair)
				for _, path := range []string{"/healthz", "/readyz"} {
					if got := c.ask(t, e, path, row.token); got.status != row.open {
						t.Errorf("%s: %d %s", path, got.status, got.body)
					}
				}
				for _, path := range []string{"/metrics", "/v1/status", "/v1/sessions", "/openapi.json", "/debug/pprof/"} {
					got := c.ask(t, e, path, row.token)
					if got.status != row.status || (got.status == 401 || got.status == 403) != strings.HasPrefix(got.challenge, "Bearer ") {
						t.Errorf("%s: %d, %q: %s", path, got.status, got.challenge, got.body)
					}
				}
				if got := c.ask(t, e, "/v1/tools/whoami:call", row.token); got.status != row.status || !strings.Contains(got.body, row.is) {
					t.Errorf("called: %d %s, want %s", got.status, got.body, row.is)
				}
			})
		}
	}
	if got := showing(t, "HTTP/2.0", ca, &good).ask(t, e, "/v1/status?access_token="+operator, ""); got.status != 401 {
		t.Errorf("with a token in the query: %d %s", got.status, got.body)
	}
}

// Without auth a certificate is the only way in, and what open leaves out needs one.
func TestAdminClientCertAlone(t *testing.T) {
	ca, clients := authority.New(t, "ca"), authority.New(t, "clients")
	e, _ := certified(t, nil, ca, clients, func(c *config.Config) {
		c.Admin.Auth = &config.AdminAuth{ClientCert: true, Open: config.Names{config.OpenProbes}}
	})
	good := clients.Client(t)
	for _, protocol := range protocols {
		with, without := showing(t, protocol, ca, &good), showing(t, protocol, ca, nil)
		for _, path := range []string{"/metrics", "/v1/status"} {
			if got := with.ask(t, e, path, ""); got.status != 200 {
				t.Errorf("%s: %d %s", path, got.status, got.body)
			}
			for _, token := range []string{"", "nonsense"} {
				got := without.ask(t, e, path, token)
				if got.status != 403 || !strings.Contains(got.message, "a client certificate is required") {
					t.Errorf("%s without a certificate, token %q: %d %s", path, token, got.status, got.body)
				}
			}
		}
		if got := without.ask(t, e, "/healthz", ""); got.status != 200 {
			t.Errorf("the probe: %d %s", got.status, got.body)
		}
		const who = "mcpedge:client-certificates CN=of clients []"
		if got := with.ask(t, e, "/v1/tools/whoami:call", ""); !strings.Contains(got.body, who) {
			t.Errorf("called: %d %s, want %s", got.status, got.body, who)
		}
	}
}

// A CA that is taken out of the file lets nobody in any more, not even over a connection that was open; one that is put in
// does.
func TestAdminClientCertExchange(t *testing.T) {
	id, ca, before, after := issuer.Serve(t), authority.New(t, "ca"), authority.New(t, "before"), authority.New(t, "after")
	e, m := certified(t, id, ca, before, nil)
	old, next := before.Client(t), after.Client(t)
	kept := map[string]*client{}
	for _, protocol := range protocols {
		kept[protocol] = showing(t, protocol, ca, &old)
		if got := kept[protocol].ask(t, e, "/v1/status", ""); got.status != 200 {
			t.Fatalf("over %s: %d %s", protocol, got.status, got.body)
		}
		if got := showing(t, protocol, ca, &next).ask(t, e, "/v1/status", ""); got.status != 0 {
			t.Errorf("over %s, before its time: %d %s", protocol, got.status, got.body)
		}
	}
	m.Write(t, listenerFiles(ca.Server(t), after))
	for _, protocol := range protocols {
		await.Until(t, "the new CA over "+protocol, func() bool {
			return showing(t, protocol, ca, &next).ask(t, e, "/v1/status", "").status == 200
		})
		got := kept[protocol].ask(t, e, "/v1/status", "")
		if got.status != 401 || !strings.Contains(got.message, "the client certificate of this connection is not accepted any more") {
			t.Errorf("the kept connection over %s: %d %s", protocol, got.status, got.body)
		}
		operator := id.Token("olga", public, map[string]any{"scope": operate})
		if got := kept[protocol].ask(t, e, "/v1/status", operator); got.status != 200 {
			t.Errorf("the kept connection over %s, with a token: %d %s", protocol, got.status, got.body)
		}
		if got := showing(t, protocol, ca, &old).ask(t, e, "/v1/status", ""); got.status != 0 {
			t.Errorf("the old CA over %s: %d %s", protocol, got.status, got.body)
		}
	}
}

// Calls of who came with a certificate are recorded as theirs, with the certificate's fingerprint, and pass the policy.
func TestAdminClientCertRecorded(t *testing.T) {
	ca, clients := authority.New(t, "ca"), authority.New(t, "clients")
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	e, _ := certified(t, issuer.Serve(t), ca, clients, func(c *config.Config) {
		c.Audit = &config.Audit{File: path}
		c.Policy = &config.Policy{
			Default: "allow",
			Rules:   []config.PolicyRule{{Name: "operators echo nothing", When: `tool.name == "echo" && "mcp:operate" in principal.scopes`, Then: "deny"}},
		}
	})
	good := clients.Client(t)
	c := showing(t, "HTTP/2.0", ca, &good)
	if got := c.ask(t, e, "/v1/tools/whoami:call", ""); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := c.ask(t, e, "/v1/tools/echo:call", ""); got.status != 403 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := showing(t, "HTTP/2.0", ca, nil).ask(t, e, "/v1/tools/whoami:call", ""); got.status != 401 {
		t.Errorf("%d %s", got.status, got.body)
	}
	e.End(t)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for line := range strings.Lines(string(raw)) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		said = append(said, fmt.Sprint(r["event"], " ", r["issuer"], " ", r["subject"], " ", r["listener"], " ", r["address"], " ", r["target"], " ", r["decision"], " ", r["rule"], " ", r["outcome"], " ", r["jti_sha256"] == good.Fingerprint(t)))
	}
	for _, want := range []string{
		"outcome mcpedge:client-certificates CN=of clients <nil> <nil> whoami <nil> <nil> ok true",
		"decision mcpedge:client-certificates CN=of clients <nil> <nil> echo deny operators echo nothing <nil> true",
		"decision <nil> <nil> admin 127.0.0.1 <nil> deny missing <nil> false",
	} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("recorded:\n%s\nwant %s", strings.Join(said, "\n"), want)
		}
	}
}

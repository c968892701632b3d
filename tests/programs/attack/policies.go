package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/capability"
)

// Attacks of who has a credential, or a page that a user opens, on what is decided. Each has an edge of its own with the settings that
// it is about.
var policyAttacks = []attack{
	{name: "policy-tenants", what: "arguments that are another's tenant, as near as digits let them be", run: withPolicy(tenantRule, neighbours)},
	{name: "policy-lists", what: "the same within lists and maps", run: withPolicy(listRule, neighbouringLists)},
	{name: "policy-scopes", what: "scopes of another type, or with other space between them", run: withPolicy(scopeRule, forgedScopes)},
	{name: "policy-groups", what: "a group that is named as a role", run: withPolicy(roleRule, groupsAsRoles)},
	{name: "policy-hidden", what: "64 KiB of _meta before a policy server", run: hiddenFromServer},
	{name: "admin-silently", what: "an operator ends a session, and no record says who", run: withPolicy("", operateSilently)},
	{name: "admin-metrics", what: "metrics without credentials", run: withPolicy("", openMetrics)},
	{name: "metrics-names", what: "calls of 300 tools, each a series", run: manySeries},
	{name: "cross-site", what: "requests of another site's page, on both addresses", run: withPolicy("", crossSite)},
	{name: "odd-hosts", what: "hosts and origins with users, empty ports, dots and zones", run: withPolicy("", oddHosts)},
	{name: "secrets-yaml", what: "a mistake beside a password in the configuration", run: secretsInErrors},
}

const (
	tenantRule = `policy: {default: deny, rules: [{name: own, when: 'arguments.tenant == principal.claims.tenant', then: allow}]}`
	listRule   = `policy: {default: deny, rules: [{name: own, when: 'arguments.tenant in principal.claims.tenants || arguments.of == principal.claims.of', then: allow}]}`
	scopeRule  = `policy: {default: allow, scopes: [{need: [admin]}]}`
	roleRule   = `policy: {default: deny, rules: [{name: admins, when: '"admin" in principal.roles', then: allow}]}`
)

// ruled is an edge that wants tokens, with an audit and an admin address that is locked.
type ruled struct {
	*edge
	lock          *lock
	audit, config string // files
}

// withPolicy runs fn on an edge with more settings.
func withPolicy(more string, fn func(context.Context, *site, *ruled) error) func(context.Context, *site) error {
	return withBackend("", more, fn)
}

// withBackend runs fn on an edge with more settings and one more backend, a line of the configuration, or none.
func withBackend(backend, more string, fn func(context.Context, *site, *ruled) error) func(context.Context, *site) error {
	return func(ctx context.Context, s *site) (err error) {
		dir, err := os.MkdirTemp(s.dir, "ruled-")
		if err != nil {
			return err
		}
		r := &ruled{audit: filepath.Join(dir, "audit.jsonl")}
		if r.lock, err = newLock(); err != nil {
			return err
		}
		defer r.lock.stop()
		r.config = filepath.Join(dir, "edge.yaml")
		if err := r.lock.configure(s.backends, r.config); err != nil {
			return err
		}
		text, err := os.ReadFile(r.config)
		if err != nil {
			return err
		}
		text = bytes.Replace(text, []byte("backends:\n"), []byte("backends:\n"+backend), 1)
		text = fmt.Appendf(text, "admin-auth: {scope: mcp:operate}\naudit: {file: %q}\n%s\n", r.audit, more)
		if err := os.WriteFile(r.config, text, 0o644); err != nil {
			return err
		}
		if r.edge, err = startEdge(s.o, filepath.Join(dir, "edge.log"), setting{"config", r.config}); err != nil {
			return err
		}
		defer r.kill()
		if err := r.awaitReady(ctx); err != nil {
			return err
		}
		return fn(ctx, s, r)
	}
}

// withServer runs fn on an edge with more settings and one more backend of that name, whose services register has.
func withServer(name, more string, register func(*grpc.Server), fn func(context.Context, *site, *ruled) error) func(context.Context, *site) error {
	return func(ctx context.Context, s *site) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		server, served := newServer(), make(chan struct{})
		register(server)
		go func() {
			defer close(served)
			_ = server.Serve(l)
		}()
		defer func() {
			server.Stop()
			<-served
		}()
		return withBackend(fmt.Sprintf("  - {name: %s, target: %q}\n", name, l.Addr()), more, fn)(ctx, s)
	}
}

// as is a client with a token.
func (r *ruled) as(s *site, claims map[string]any) *rogue {
	c := newRogue(r.url(), s.freshAddr())
	token := r.lock.Token("mallory", r.url(), claims)
	c.authorization = func() string { return "Bearer " + token }
	return c
}

// denied reports whether a call of echo is refused, by the policy, for its scopes or for its token.
func (r *ruled) denied(ctx context.Context, c *rogue, arguments string) (bool, error) {
	a, err := c.call(ctx, "echo", arguments)
	if err != nil {
		return false, err
	}
	return a.status == http.StatusUnauthorized || a.status == http.StatusForbidden || strings.Contains(string(a.body), `"code":-31403`), nil
}

// each holds a call for each of some arguments against whether it is to be denied.
func (r *ruled) each(ctx context.Context, c *rogue, want map[string]bool) (err error) {
	for arguments, denied := range want {
		got, e := r.denied(ctx, c, arguments)
		if e != nil {
			return e
		}
		if got != denied {
			err = errors.Join(err, fmt.Errorf("%s: denied %t", arguments, got))
		}
	}
	return err
}

func neighbours(ctx context.Context, s *site, r *ruled) error {
	c := r.as(s, map[string]any{"tenant": json.Number("9007199254740993")})
	defer c.close()
	return r.each(ctx, c, map[string]bool{
		`{"text":"x","tenant":9007199254740993}`: false, `{"text":"x","tenant":9007199254740992}`: true, `{"text":"x","tenant":9007199254740994}`: true,
		`{"text":"x","tenant":9007199254740993.5}`: true, `{"text":"x","tenant":9007199254740993.0}`: false,
	})
}

func neighbouringLists(ctx context.Context, s *site, r *ruled) error {
	c := r.as(s, map[string]any{"tenants": []any{json.Number("9007199254740993")}, "of": map[string]any{"a": []any{json.Number("18446744073709551617")}}})
	defer c.close()
	return r.each(ctx, c, map[string]bool{
		`{"text":"x","tenant":9007199254740993,"of":{}}`: false, `{"text":"x","tenant":9007199254740992,"of":{}}`: true,
		`{"text":"x","tenant":1,"of":{"a":[18446744073709551617]}}`: false, `{"text":"x","tenant":1,"of":{"a":[18446744073709551616]}}`: true,
	})
}

func forgedScopes(ctx context.Context, s *site, r *ruled) (err error) {
	for name, claims := range map[string]map[string]any{
		"a number, and scp":  {"scope": 7, "scp": "admin"},
		"an object, and scp": {"scope": map[string]any{}, "scp": []string{"admin"}},
		"a tab":              {"scope": "read\tadmin"},
		"a line feed":        {"scope": "read\nadmin"},
		"a wide space":       {"scope": "read\u2003admin"},
		"a number beside it": {"scope": []any{"admin", 7}},
	} {
		c := r.as(s, claims)
		got, e := r.denied(ctx, c, `{"text":"x"}`)
		c.close()
		if e != nil {
			return e
		}
		if !got {
			err = errors.Join(err, fmt.Errorf("%s: it has the scope admin", name))
		}
	}
	return err
}

func groupsAsRoles(ctx context.Context, s *site, r *ruled) error {
	c := r.as(s, map[string]any{"groups": []string{"admin"}})
	defer c.close()
	return r.each(ctx, c, map[string]bool{`{"text":"x"}`: true})
}

// oracle is a policy server that allows all it is asked about but what it does not see the name of.
type oracle struct {
	authv3.UnimplementedAuthorizationServer
	mu    sync.Mutex
	blind int
}

func (o *oracle) Check(_ context.Context, req *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	params := req.GetAttributes().GetMetadataContext().GetFilterMetadata()["envoy.filters.http.mcp"].GetFields()["params"].GetStructValue().GetFields()
	if params["name"].GetStringValue() == "" {
		o.mu.Lock()
		o.blind++
		o.mu.Unlock()
	}
	return &authv3.CheckResponse{Status: &status.Status{}}, nil
}

func hiddenFromServer(ctx context.Context, s *site) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	o, server := &oracle{}, grpc.NewServer()
	authv3.RegisterAuthorizationServer(server, o)
	go func() { _ = server.Serve(l) }() // ends with Stop
	defer server.Stop()
	return withPolicy(fmt.Sprintf("policy: {external: {target: %q, timeout: 5s}}", l.Addr()), func(ctx context.Context, s *site, r *ruled) error {
		c := r.as(s, nil)
		defer c.close()
		a, err := c.send(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":`+meta(`,"x":"`+strings.Repeat("x", 64<<10)+`"`)+
			`,"name":"echo","arguments":{"text":"x"}}}`, modernHeader("tools/call", "echo")...)
		if err != nil {
			return err
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.blind > 0 {
			return fmt.Errorf("it was asked %d times about what it does not see the name of, and its word was taken: %.200s", o.blind, a.body)
		}
		return nil
	})(ctx, s)
}

// admin sends a request to the admin address.
func (r *ruled) admin(ctx context.Context, method, path, token string, header ...string) (*answer, error) {
	c := newRogue("http://"+r.Admin+path, "127.0.0.1")
	defer c.close()
	if token != "" {
		header = append(header, "Authorization", "Bearer "+token)
	}
	return c.send(ctx, method, "", header...)
}

func operateSilently(ctx context.Context, s *site, r *ruled) error {
	c := r.as(s, nil)
	defer c.close()
	id, err := c.hello(ctx, `{"name":"x","version":"1"}`)
	if err != nil {
		return err
	}
	token := r.lock.Token("olga", r.url(), map[string]any{"scope": "mcp:operate"})
	if a, err := r.admin(ctx, http.MethodDelete, "/v1/sessions/"+id, token); err != nil || a.status != http.StatusOK {
		return fmt.Errorf("an operator cannot end a session: %v, %v", a, err)
	}
	for range 50 { // records are written behind
		raw, err := os.ReadFile(r.audit)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(raw)) {
			if strings.Contains(line, `"olga"`) && strings.Contains(line, "sessions/end") {
				return nil
			}
		}
		pause(ctx, 100*time.Millisecond)
	}
	return errors.New("no record says that olga has ended a session")
}

func openMetrics(ctx context.Context, _ *site, r *ruled) (err error) {
	for path, want := range map[string]int{"/metrics": http.StatusUnauthorized, "/healthz": http.StatusOK, "/readyz": http.StatusOK} {
		a, e := r.admin(ctx, http.MethodGet, path, "")
		if e != nil {
			return e
		}
		if a.status != want {
			err = errors.Join(err, fmt.Errorf("%s: %d, want %d", path, a.status, want))
		}
	}
	return err
}

// manyTools is more than metrics tell apart.
const manyTools = 300

func manySeries(ctx context.Context, s *site) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b := capability.New("many", "1.0.0", capability.WithLogger(slog.New(slog.DiscardHandler)))
	for i := range manyTools {
		capability.AddTool(b, fmt.Sprint("many", i), "One of many", func(context.Context, *capability.Call, struct{}) (string, error) { return "", nil })
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- b.Serve(serving, l) }()
	err = withBackend(fmt.Sprintf("  - {name: many, target: %q}\n", l.Addr()), "", callMany)(ctx, s)
	stop()
	<-ended
	return err
}

func callMany(ctx context.Context, s *site, r *ruled) error {
	c := r.as(s, nil)
	defer c.close()
	if err := together(manyTools, 8, func(i int) error {
		a, err := c.call(ctx, fmt.Sprint("many", i), "{}")
		if err == nil && strings.Contains(string(a.body), `"error"`) {
			err = fmt.Errorf("a call fails: %.200s", a.body)
		}
		return err
	}); err != nil {
		return err
	}
	token := r.lock.Token("olga", r.url(), map[string]any{"scope": "mcp:operate"})
	a, err := r.admin(ctx, http.MethodGet, "/metrics", token)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(a.body)) {
		if _, rest, found := strings.Cut(line, `gen_ai_tool_name="`); found {
			name, _, _ := strings.Cut(rest, `"`)
			names[name] = true
		}
	}
	s.note("%d names", len(names))
	if len(names) > 201 || len(names) == 0 {
		return fmt.Errorf("metrics have %d names of tools", len(names))
	}
	return nil
}

func crossSite(ctx context.Context, s *site, r *ruled) (err error) {
	token := r.lock.Token("olga", r.url(), map[string]any{"scope": "mcp:operate"})
	c := r.as(s, nil)
	defer c.close()
	for _, site := range []string{"cross-site", "same-site"} {
		a, e := c.send(ctx, http.MethodPost, c.modernBody("tools/call", callMembers("echo", `{"text":"x"}`)), append(modernHeader("tools/call", "echo"), "Sec-Fetch-Site", site)...)
		b, e2 := r.admin(ctx, http.MethodGet, "/v1/sessions", token, "Sec-Fetch-Site", site)
		if e := errors.Join(e, e2); e != nil {
			return e
		}
		if a.status != http.StatusForbidden || b.status != http.StatusForbidden {
			err = errors.Join(err, fmt.Errorf("%s: %d of the MCP address, and %d of the admin address", site, a.status, b.status))
		}
	}
	return err
}

func oddHosts(ctx context.Context, s *site, r *ruled) (err error) {
	c := r.as(s, nil)
	defer c.close()
	_, port, _ := net.SplitHostPort(r.Addr)
	for _, headers := range []string{
		"Host: [127.0.0.1]:" + port, "Host: 127.0.0.1:", "Host: [localhost]", "Host: [[::1]]",
		"Host: 127.0.0.1\r\nOrigin: http://u@127.0.0.1", "Host: 127.0.0.1\r\nOrigin: http://127.0.0.1:", "Host: 127.0.0.1\r\nOrigin: http://[127.0.0.1]x",
		"Host: 127.0.0.1\r\nOrigin: HTTP://LocalHost", "Host: 127.0.0.1\r\nOrigin: http://127.0.0.1/path", "Host: 127.0.0.1\r\nOrigin: ftp://u:p@localhost",
	} {
		conn, e := c.dial(ctx)
		if e != nil {
			return e
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		_, e = io.WriteString(conn, "POST /mcp HTTP/1.1\r\n"+headers+"\r\nAuthorization: "+c.authorization()+
			"\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
		raw, e2 := io.ReadAll(conn)
		_ = conn.Close()
		if e := errors.Join(e, e2); e != nil {
			return e
		}
		if first, _, _ := strings.Cut(string(raw), "\r\n"); !strings.Contains(first, " 403 ") {
			err = errors.Join(err, fmt.Errorf("%q: %s, let in", headers, first))
		}
	}
	return err
}

func secretsInErrors(ctx context.Context, s *site) (err error) {
	const secret = "hunter2"
	for name, text := range map[string]string{
		"an unknown key":      "redis: redis://edge:" + secret + "@db:6379\nlisen: x\n",
		"a list of keys":      "state-keys:\n  - " + secret + "\nlimits: 7\n",
		"a target":            "backends: [{name: a, target: \"https://edge:" + secret + "@crm.example\"}]\n",
		"a public URL":        "public-url: https://edge:" + secret + "@mcp.example.com\n",
		"a word that is none": "state-keys: [[" + secret + "]]\n",
	} {
		file := filepath.Join(s.dir, "secret.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		out, e := exec.CommandContext(ctx, s.o.program, "check", "--config", file).CombinedOutput() // #nosec G204 -- the program under attack
		if e == nil {
			err = errors.Join(err, fmt.Errorf("%s is no error", name))
		}
		if strings.Contains(string(out), secret) {
			err = errors.Join(err, fmt.Errorf("%s: the password is printed", name))
		}
	}
	return err
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
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
	{name: "hooks-hostile", what: "a hook that answers with lies, 32 MiB and silence", run: hostileHooks},
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

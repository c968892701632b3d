package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// loaded loads a file of settings, as `mcpedge check` does.
func loaded(t *testing.T, text string) (Config, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "edge.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(check, []string{"--config", name}, func(string) (string, bool) { return "", false }, os.Stderr)
}

// A policy is read as it is written, scopes with a colon in flow mappings among it.
func TestPolicyIsRead(t *testing.T) {
	c, err := loaded(t, `
policy:
  default: deny
  hierarchy:
    mcp:admin: [mcp:write]
    mcp:write: [mcp:read]
  scopes:
    - {tools: ["admin_*"], need: [mcp:admin]}
    - {resources: ["docs://**"], need: [mcp:read]}
    - {need: [mcp:write]}
  rules:
    - {name: interns destroy nothing, when: 'tool.annotations.destructive && "intern" in principal.roles', then: hide}
    - {name: own region, when: 'tool.name == "ship" && arguments.region != principal.claims.region', then: deny}
    - {name: the rest, when: 'true', then: allow}
  lists: obtainable
`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.CompilePolicy()
	if err != nil {
		t.Fatal(err)
	}
	decide := func(scope string, target policy.Target) string {
		d, err := p.Explain(&mcp.Principal{Subject: "s", Scopes: []string{scope}, Claims: map[string]json.RawMessage{"region": json.RawMessage(`"eu"`)}}, &target, func() (map[string]any, error) {
			return map[string]any{"region": "us"}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(d.Effect) + " " + d.Rule + " " + strings.Join(d.Need, ",")
	}
	for _, x := range []struct {
		scope  string
		target policy.Target
		want   string
	}{
		{"mcp:write", policy.Target{Kind: policy.Tool, Name: "ship"}, "deny own region "},
		{"mcp:write", policy.Target{Kind: policy.Tool, Name: "admin_x"}, "step-up scopes mcp:admin"},
		{"mcp:admin", policy.Target{Kind: policy.Tool, Name: "x"}, "allow the rest "},
		{"mcp:admin", policy.Target{Kind: policy.Resource, Name: "docs://a/b"}, "allow the rest "},
		{"other", policy.Target{Kind: policy.Resource, Name: "docs://a/b"}, "step-up scopes mcp:read"},
	} {
		if got := decide(x.scope, x.target); got != x.want {
			t.Errorf("%s of %s: %s, want %s", x.target.Name, x.scope, got, x.want)
		}
	}
}

// An invalid policy is reported with its place and what to write, by every command.
func TestPolicyIsValidated(t *testing.T) {
	for text, want := range map[string]string{
		"policy: {rules: [{name: r, when: 'true', then: allow}]}":                        "policy: default: it is missing",
		"policy: {default: deny, rules: [{name: r, when: 'tool.nam == 1', then: hide}]}": "policy: rules[0] r: when: it is not a valid expression",
		"policy: {default: deny, rules: [{name: r, when: 'true', then: permit}]}":        `then: "permit": use allow, hide or deny`,
		"policy: {scopes: [{need: [a b]}]}":                                              `policy: scopes[0]: need: "a b" is not a scope`,
		"policy: {lists: some}":                                                          `policy: lists: "some"`,
		"policy: {external: {timeout: 1s}}":                                              "policy.external: target is missing",
		"policy: {external: {target: 'https://pdp:9191'}}":                               "policy.external: target \"https://pdp:9191\" is a URL, where gRPC takes an address: write pdp:9191, and tls: {} for it",
		"policy: {external: {target: 'pdp:9191', timeout: 11s}}":                         "policy.external: timeout: 11s: give at most 10s",
		"policy: {external: {target: 'pdp:9191', timeout: -1s}}":                         "policy.external.timeout: -1s",
		"policy: {external: {target: 'pdp:9191', on-failure: hide}}":                     `policy.external: on-failure: "hide": use deny or allow`,
		"policy: {external: {target: 'pdp:9191', tls: {cert: c}}}":                       "policy.external: tls: cert and key belong together",
		"policy: {rule: []}": "rule",
	} {
		if _, err := loaded(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// A policy server has its timeout, what happens when it fails, and its files.
func TestPolicyServer(t *testing.T) {
	c, err := loaded(t, "policy: {external: {target: 'dns:///pdp:9191', timeout: 1s, on-failure: allow, tls: {ca: ca.crt}}}\n")
	if err != nil {
		t.Fatal(err)
	}
	want := &External{Target: "dns:///pdp:9191", Timeout: time.Second, OnFailure: "allow", TLS: &TLS{CA: filepath.Join(filepath.Dir(c.File), "ca.crt")}}
	if e := c.Policy.External; !e.Allows() || !reflect.DeepEqual(e, want) {
		t.Errorf("%+v", e)
	}
}

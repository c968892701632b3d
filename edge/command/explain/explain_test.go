package explain

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/command/check"
	"github.com/mcpedge/mcpedge/edge/command/commandtest"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
)

// TestExplainPolicy explains the policy of the documentation to a token's claims, over the bundled
// backends.
func TestExplainPolicy(t *testing.T) {
	page, err := os.ReadFile("../../../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- policy recipe -->\n```yaml\n")
	settings, rest, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/access.md has no policy between the marks of the recipe")
	}
	_, rest, _ = strings.Cut(rest, "echo '")
	claims, _, found := strings.Cut(rest, "' > ann.json")
	if !found {
		t.Fatal("docs/access.md has no claims")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	file := write("edge.yaml", settings)
	explain := func(claims string, args ...string) (string, error) {
		var out bytes.Buffer
		err := Run(t.Context(), append([]string{"explain", "--config", file, "--claims", write("claims.json", claims)}, args...), &out, &out)
		return out.String(), err
	}
	all, err := explain(claims)
	for _, want := range []string{"allow, by the rule \"the rest\"", "step-up to the scopes mcp:write", "prompt ", "resource ", "template "} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	if err != nil {
		t.Error(err)
	}
	name := strings.Fields(all[strings.Index(all, "\ntool ")+1:])[1]
	if one, err := explain(strings.Replace(claims, "mcp:read", "mcp:admin", 1), "--tool="+name); err != nil || strings.Count(one, "\n") != 3 || !strings.Contains(one, name) {
		t.Errorf("%q, %v", one, err)
	}
	if one, err := explain("{}", "--tool", name); err != nil || !strings.Contains(one, "step-up") {
		t.Errorf("anonymous: %q, %v", one, err)
	}
	for _, x := range []struct {
		claims string
		args   []string
		want   string
	}{
		{claims, []string{"--tool", "nix"}, "no backend has a tool"},
		{"[]", nil, "not a JSON object"},
		{"{}", []string{"--claims", "[1]"}, "--claims: open [1]"},
		{"{}", []string{"--claims", "{1}"}, "the JSON given is not a JSON object"},
		{"{}", []string{"--api-key", "ci"}, "two callers"},
		{"{}", []string{"--claims=", "--api-key", "ci"}, "the settings have no auth.api-keys"},
		{"{}", []string{"--claims="}, "--claims is missing"},
		{`{"scope": "x"}`, nil, "the claim of the subject is missing"},
		{claims, []string{"--tool"}, "--tool lacks its value"},
		{claims, []string{"--arguments", "{}"}, "--arguments is about one tool"},
		{claims, []string{"--tool", name, "--arguments", "[]"}, "not a JSON object"},
		{claims, []string{"--tool", name, "--arguments", "null"}, "not a JSON object"},
	} {
		if _, err := explain(x.claims, x.args...); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s %q: %v, want %s", x.claims, x.args, err, x.want)
		}
	}
	if one, err := explain("{}", "--claims", strings.Replace(claims, "mcp:read", "mcp:admin", 1), "--tool", name); err != nil || !strings.Contains(one, `allow, by the rule "the rest"`) {
		t.Errorf("claims in the command: %q, %v", one, err)
	}
	keys := write("keys.yaml", "- {name: ci, sha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, scopes: [mcp:write], roles: [robot]}\n")
	settings += "auth: {api-keys: " + keys + "}\n"
	file = write("edge.yaml", settings)
	if one, err := explain("{}", "--claims=", "--api-key", "ci", "--tool", name); err != nil || !strings.Contains(one, `allow, by the rule "the rest"`) {
		t.Errorf("by an API key: %q, %v", one, err)
	}
	if _, err := explain("{}", "--claims=", "--api-key", "cj"); err == nil || !strings.Contains(err.Error(), `has no key named "cj": did you mean "ci"?`) {
		t.Errorf("by the name of no key: %v", err)
	}
	for condition, want := range map[string]string{
		`tool.name != ""`:                 `hide, by the rule "interns destroy nothing"`,
		`arguments.x == 1`:                `depends on the arguments: hide, by the rule "interns destroy nothing"`,
		`principal.claims.missing == "x"`: `deny, by the rule "interns destroy nothing", which could not be evaluated`,
	} {
		file = write("edge.yaml", strings.Replace(settings, "tool.annotations.destructive", condition, 1))
		if one, err := explain(claims, "--tool", name); err != nil || !strings.Contains(one, want) || strings.Contains(one, "not listed") == strings.HasPrefix(condition, "arguments") {
			t.Errorf("%s: %q, %v", condition, one, err)
		}
	}
	file = write("edge.yaml", strings.Replace(settings, "tool.annotations.destructive", `arguments.n > 9007199254740992`, 1))
	for arguments, want := range map[string]string{
		"": `if it holds; --arguments decides it`, `{"n": 9007199254740993}`: `  hide, by the rule "interns destroy nothing"  listed`,
		`{"n": 1}`: "allow, by the rule \"the rest\"", `{}`: "could not be evaluated",
	} {
		args := []string{"--tool", name}
		if arguments != "" {
			args = append(args, "--arguments="+arguments)
		}
		one, err := explain(strings.Replace(claims, "mcp:read", "mcp:admin", 1), args...)
		if err != nil || !strings.Contains(one, want) || strings.Contains(one, "--arguments") != (arguments == "") {
			t.Errorf("%s: %q, %v; want %q", arguments, one, err, want)
		}
	}
	file = write("edge.yaml", strings.Replace(settings, "policy:\n", `policy:
  confirm:
    - {name: all of it, when: 'true', message: "Sure?"}
    - {name: large, when: 'arguments.n > 1', message: "Sure?"}
    - {name: never, when: 'false', message: "Sure?"}
`, 1))
	for arguments, want := range map[string]string{
		``: `; the user must confirm it: "all of it"; depending on the arguments, the user must confirm it: "large"  `, `{"n": 2}`: `; the user must confirm it: "all of it"; the user must confirm it: "large"  `,
		`{"n": 1}`: `; the user must confirm it: "all of it"  `, `{}`: `; denied by the confirmation "large", whose condition could not be evaluated`,
	} {
		args := []string{"--tool", name}
		if arguments != "" {
			args = append(args, "--arguments="+arguments)
		}
		if one, err := explain(strings.Replace(claims, "mcp:read", "mcp:admin", 1), args...); err != nil || !strings.Contains(one, want) || strings.Contains(one, "never") {
			t.Errorf("confirmations of %s: %q, %v; want %q", arguments, one, err, want)
		}
	}
	file = write("none.yaml", "demo: true\n")
	if out, err := explain(claims); err != nil || !strings.Contains(out, "note    the settings have no policy: everything is allowed that the catalog shows") || !strings.Contains(out, "allow, by default") {
		t.Errorf("%v\n%s", err, out)
	}
	file = write("pins.yaml", "backends: [{name: one, target: '"+commandtest.Tools(t, "m", 2)+"'}]\n"+
		"catalog: {tools: [{backend: one, tool: m0000, name: shown}, {backend: one, tool: m0001, hide: true}]}\nsets: {s: {include: {tools: [m0000]}}}\n")
	for _, args := range [][]string{nil, {"--set", "s"}, {"--tool", "shown"}} {
		if out, err := explain(claims, args...); err != nil || !strings.Contains(out, "tool  m0000, shown as shown  allow, by default  listed") || strings.Contains(out, "m0001") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

// The help lists the command's own flags first, and then the settings.
func TestExplainHelp(t *testing.T) {
	for _, args := range [][]string{{"explain", "--help"}, {"explain", "--claims", "x", "-h"}, {"--help"}} {
		var out, help bytes.Buffer
		if err := Run(t.Context(), args, &out, &help); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%q: %v", args, err)
		}
		at := -1
		for _, want := range []string{"--claims JSON|FILE", "--api-key NAME", "--tool NAME, --prompt NAME, --resource URI", "--arguments JSON", "-config file"} {
			next := strings.Index(help.String(), want)
			if next <= at {
				t.Errorf("%q: %s is missing, or not in its place:\n%s", args, want, &help)
			}
			at = next
		}
	}
}

// check and explain report the policy server and the effect of its failure. Neither calls it.
func TestPolicyServerIsNamed(t *testing.T) {
	pdp := authorizer.Serve(t)
	pdp.SetDecide(authorizer.Deny("never"))
	dir := t.TempDir()
	file, claims := filepath.Join(dir, "edge.yaml"), filepath.Join(dir, "claims.json")
	for name, text := range map[string]string{file: "demo: true\npolicy: {external: {target: '" + pdp.Addr + "', on-failure: allow}}\n", claims: "{}"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	note := "info    policy.external: the policy server " + pdp.Addr + " authorizes what rules and scopes allow; a request without its answer within 200ms is allowed\n"
	var out bytes.Buffer
	if err := Run(t.Context(), []string{"explain", "--config", file, "--claims", claims}, &out, &out); err != nil ||
		!strings.HasPrefix(out.String(), note) || !strings.Contains(out.String(), "allow, by default, if the policy server allows it") {
		t.Errorf("%v\n%s", err, &out)
	}
	out.Reset()
	if err := check.Run(t.Context(), []string{"--config", file, "--backend=one=" + commandtest.Tools(t, "m", 1)}, &out, &out); err != nil || !strings.HasPrefix(out.String(), note) {
		t.Errorf("%v\n%s", err, &out)
	}
	if n := len(pdp.Asked()); n > 0 {
		t.Errorf("the policy server was asked %d times", n)
	}
}

// If a rule matches another spelling of a URI, the explanation shows that spelling.
func TestExplainNamesTheSpelling(t *testing.T) {
	s := capability.New("menus", "1", capability.WithLogger(slog.New(slog.DiscardHandler)))
	capability.AddResource(s, &capability.Resource{Uri: "doc://a%20b", Name: "menu"}, func(context.Context, *capability.Call, string) (string, error) { return "", nil })
	file := filepath.Join(t.TempDir(), "edge.yaml")
	settings := "backends: [{name: menus, target: '" + commandtest.Serve(t, s) + "'}]\n" +
		"policy: {default: allow, rules: [{name: decoded, when: 'resource.uri == \"doc://a b\"', then: hide}]}\n"
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := Run(t.Context(), []string{"explain", "--config", file, "--claims", "{}"}, &out, &out)
	if want := `hide, by the rule "decoded", as it may be spelled "doc://a b"`; err != nil || !strings.Contains(out.String(), want) {
		t.Errorf("%v, %s\nwant %s", err, &out, want)
	}
}

package explain

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/command/commandtest"
)

// locked writes settings with a policy and the files that they name. more is appended to the
// settings. It returns a function that explains the policy.
func locked(t *testing.T, more string) func(args ...string) (string, error) {
	t.Helper()
	s := capability.New("one", "1", capability.WithLogger(slog.New(slog.DiscardHandler)))
	capability.AddTool(s, "go", "Goes", func(context.Context, *capability.Call, struct{}) (string, error) { return "", nil })
	greet := &capability.Prompt{Name: "greet", Arguments: []*capability.PromptArgument{{Name: "name"}}}
	capability.AddPrompt(s, greet, func(context.Context, *capability.Call, map[string]string) (string, error) { return "", nil })
	capability.AddResource(s, &capability.Resource{Uri: "doc://menu", Name: "menu"}, func(context.Context, *capability.Call, string) (string, error) { return "", nil })
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "doc://of/{day}", Name: "of"},
		func(context.Context, *capability.Call, string, map[string]string) (string, error) { return "", nil })
	dir := filepath.ToSlash(t.TempDir())
	for name, text := range map[string]string{
		"jwks.json": `{"keys":[]}`,
		"keys.yaml": "- {name: old, sha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, expires: 2020-01-01T00:00:00Z}\n" +
			"- {name: new, sha256: ca7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, expires: 2999-01-01T00:00:00Z}\n" +
			"- {name: rotated, sha256: da7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, expires: 2020-01-01T00:00:00Z}\n" +
			"- {name: rotated, sha256: ea7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad}\n",
		"edge.yaml": "backends: [{name: one, target: '" + commandtest.Serve(t, s) + "'}, {name: ops, target: '127.0.0.1:1', prefix: ops_}]\n" +
			"listen: {public-url: https://mcp.example.com}\n" +
			"policy: {default: allow, rules: [" +
			"{name: greetings, when: 'prompt.name == \"greet\" && arguments.name == \"eve\"', then: deny}, " +
			"{name: sundays, when: 'has(resource.vars.day) && resource.vars.day == \"sunday\"', then: hide}]}\n" + strings.ReplaceAll(more, "DIR", dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(args ...string) (string, error) {
		var out bytes.Buffer
		err := Run(t.Context(), append([]string{"explain", "--config", filepath.Join(dir, "edge.yaml")}, args...), &out, &out)
		return out.String(), err
	}
}

const withAuth = "auth: {api-keys: DIR/keys.yaml, issuers: [{issuer: 'https://id.example.com', jwks: DIR/jwks.json}]}\n"

// TestRefusedCallers: the explanation for a caller that the edge would refuse has a note that says
// so.
func TestRefusedCallers(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		caller   []string
		want     []string // nil: no note about the caller
	}{
		"an expired key": {withAuth, []string{"--api-key", "old"}, []string{`the API key "old" expired at 2020-01-01T00:00:00Z: the edge answers its requests with 401`}},
		"a rotated key": {withAuth, []string{"--api-key", "rotated"}, []string{
			`the API key "rotated" has other entries: entry 3 of the file expired at 2020-01-01T00:00:00Z; this is the answer for entry 4`}},
		"a valid key":        {withAuth, []string{"--api-key", "new"}, nil},
		"another issuer":     {withAuth, []string{"--claims", `{"sub":"ann","iss":"https://x"}`}, []string{"401", `iss "https://x": the access token's issuer is not accepted; auth.issuers has https://id.example.com`}},
		"expired":            {withAuth, []string{"--claims", `{"sub":"ann","exp":1}`}, []string{"401", "exp 1970-01-01T00:00:01Z: the access token has expired"}},
		"another audience":   {withAuth, []string{"--claims", `{"sub":"ann","aud":"https://other"}`}, []string{"401", `aud "https://other": the access token is not for this server`, "https://mcp.example.com/mcp"}},
		"good claims":        {withAuth, []string{"--claims", `{"sub":"ann","iss":"https://id.example.com","exp":32503680000,"aud":"https://mcp.example.com/mcp"}`}, nil},
		"few claims":         {withAuth, []string{"--claims", `{"sub":"ann"}`}, nil},
		"anonymous":          {withAuth, []string{"--claims", `{}`}, []string{"auth.optional is not set: the edge answers requests without credentials with 401"}},
		"anonymous let in":   {strings.Replace(withAuth, "{", "{optional: true, ", 1), []string{"--claims", `{}`}, nil},
		"no issuer":          {"auth: {api-keys: DIR/keys.yaml}\n", []string{"--claims", `{"sub":"ann"}`}, []string{"401", "auth.issuers has none"}},
		"no auth":            {"", []string{"--claims", `{"sub":"ann"}`}, []string{"there is no auth", "anonymous"}},
		"no auth, no claims": {"", []string{"--claims", `{}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := locked(t, c.settings)(append(c.caller, "--tool", "go")...)
			if err != nil || !strings.Contains(out, "allow, by default") {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in\n%s", want, out)
				}
			}
			if notes := strings.Count(out, "note    ") - 1; (notes == 0) != (c.want == nil) { // without the note about the backend ops
				t.Errorf("there are %d notes about the caller:\n%s", notes, out)
			}
		})
	}
}

// TestMissingBackendIsNamed: an unreachable backend is named, with the reason.
func TestMissingBackendIsNamed(t *testing.T) {
	explain := locked(t, "")
	const want = `the backend "ops" could not be asked for its lists`
	out, err := explain("--claims", "{}")
	if err != nil || !strings.HasPrefix(out, "note    "+want) || !strings.Contains(out, "refused") || !strings.Contains(out, "may be missing here") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, args := range [][]string{{"--tool", "ops_greet"}, {"--prompt", "ops_greet"}, {"--resource", "ops://x"}} {
		_, err := explain(append(args, "--claims", "{}")...)
		if err == nil || !strings.Contains(err.Error(), args[1]+`" now; `+want) || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestPromptAndResource explains one prompt, one resource, one template and one URI of a template.
func TestPromptAndResource(t *testing.T) {
	explain := locked(t, "")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a prompt":            {[]string{"--prompt", "greet"}, `prompt greet depends on the arguments: deny, by the rule "greetings", if it holds; --arguments decides it listed`},
		"with arguments":      {[]string{"--prompt", "greet", "--arguments", `{"name":"eve"}`}, `prompt greet deny, by the rule "greetings" listed`},
		"with others":         {[]string{"--prompt", "greet", "--arguments", `{"name":"ann"}`}, "prompt greet allow, by default listed"},
		"a resource":          {[]string{"--resource", "doc://menu"}, "resource doc://menu allow, by default listed"},
		"another spelling":    {[]string{"--resource", "doc://%6Denu"}, "resource doc://menu allow, by default listed"},
		"one of a template":   {[]string{"--resource", "doc://of/monday"}, "resource doc://of/monday allow, by default not listed"},
		"a hidden one of it":  {[]string{"--resource", "doc://of/sunday"}, `resource doc://of/sunday hide, by the rule "sundays" not listed`},
		"a template":          {[]string{"--resource", "doc://of/{day}"}, `template doc://of/{day} depends on the arguments: hide, by the rule "sundays", if it holds listed`},
		"a tool of that name": {[]string{"--tool", "greet"}, `no backend has a tool "greet" now`},
		"no such prompt":      {[]string{"--prompt", "go"}, `no backend has a prompt "go" now`},
		"no such resource":    {[]string{"--resource", "x://y"}, `no backend has a resource or template "x://y" now`},
		"two things":          {[]string{"--resource", "x://y", "--prompt", "greet"}, "give one of them"},
		"arguments of none":   {[]string{"--resource", "doc://menu", "--arguments", "{}"}, "--arguments is about one tool or prompt"},
	} {
		out, err := explain(append(c.args, "--claims", "{}")...)
		if err != nil {
			out = err.Error()
		}
		if got := strings.Join(strings.Fields(out), " "); !strings.Contains(got, c.want) || err == nil && strings.Count(out, "\n") != 2 {
			t.Errorf("%s: %s\nwant %s", name, out, c.want)
		}
	}
}

// TestQuotasAreNamed: with quotas, a note says that the explanation does not include them.
func TestQuotasAreNamed(t *testing.T) {
	out, err := locked(t, "quotas: [{name: few, per: principal, rate: 1/1h}]\n")("--claims", "{}", "--tool", "go")
	if err != nil || !strings.Contains(out, "note    quotas are not part of this") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A tool that the catalog hides is reported as hidden if it is named, and is not in the explanation
// of all tools.
func TestHiddenToolIsExplained(t *testing.T) {
	explain := locked(t, "catalog: {tools: [{backend: one, tool: go, hide: true}]}\n")
	if _, err := explain("--claims", "{}", "--tool", "go"); err == nil || !strings.Contains(err.Error(), `catalog hides "go": it is unknown to every caller`) {
		t.Errorf("the error is %v", err)
	}
	if out, err := explain("--claims", "{}"); err != nil || strings.Contains(out, "go ") || !strings.Contains(out, "greet") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A renamed tool can be named by its canonical name, by the name that clients see, or by an alias.
func TestRenamedToolIsExplained(t *testing.T) {
	explain := locked(t, "catalog: {tools: [{backend: one, tool: go, name: walk, aliases: [run]}]}\n")
	for _, name := range []string{"go", "walk", "run"} {
		if out, err := explain("--claims", "{}", "--tool", name); err != nil || !strings.Contains(out, "go, shown as walk") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// Rules are evaluated with the arguments that the backend receives, including pinned values and
// defaults of the catalog. The pinned arguments are named.
func TestPinnedArgumentsAreExplained(t *testing.T) {
	for arguments, cases := range map[string]map[string]string{
		"{name: {from: principal.claims.who}}": {
			`{"who":"eve"} {}`:             `deny, by the rule "greetings"; always sent with name="eve"`,
			`{"who":"bob"} {}`:             `allow, by default; always sent with name="bob"`,
			`{"who":"bob"} {"NAME":"eve"}`: `this call is refused: the catalog pins the argument name, and NAME is given`,
			`{} {}`:                        `every call is refused, because the catalog pins the argument name`,
			`{"who":"bob"} `:               `; always sent with name="bob"`,
		},
		"{name: {from: principal.claims.who, mode: audit}}": {
			`{"who":"bob"} {"name":"eve"}`: `deny, by the rule "greetings"`,
			`{"who":"eve"} {"name":"bob"}`: `allow, by default; would deny by the pin "catalog.prompts[0].arguments.name", which is in audit mode: the argument name is given`,
			`{} {"NAME":"eve","name":"x"}`: `allow, by default; would deny by the pin "catalog.prompts[0].arguments.name", which is in audit mode: `,
			`{"who":"bob"} `:               `; would always be sent with name="bob" by the pin "catalog.prompts[0].arguments.name", which is in audit mode`,
		},
		"{nom: {value: eve, mode: audit}}": {
			`{} {"name":"bob"}`: `allow, by default; would hide by the pin "catalog.prompts[0].arguments.nom", which is in audit mode: it has no argument "nom"`,
		},
		"{name: {default: eve}}": {
			`{} {}`:             `deny, by the rule "greetings"`,
			`{} {"name":null}`:  `deny, by the rule "greetings"`,
			`{} {"name":"bob"}`: `allow, by default`,
		},
	} {
		explain := locked(t, "catalog: {prompts: [{backend: one, prompt: greet, arguments: "+arguments+"}]}\nauth: {issuers: [{issuer: https://id.example, jwks: DIR/jwks.json}]}\n")
		for given, want := range cases {
			claims, args, _ := strings.Cut(given, " ")
			flags := []string{"--claims", strings.Replace(claims, "{", `{"iss":"https://id.example","sub":"s",`, 1), "--prompt", "greet"}
			if claims == "{}" {
				flags[1] = `{"iss":"https://id.example","sub":"s"}`
			}
			if args != "" {
				flags = append(flags, "--arguments", args)
			}
			if out, err := explain(flags...); err != nil || !strings.Contains(out, want) {
				t.Errorf("%s, %s: %v, want %s in\n%s", arguments, given, err, want, out)
			}
		}
	}
}

// A URI or template that the catalog hides is reported as hidden.
func TestHiddenResourceIsExplained(t *testing.T) {
	explain := locked(t, "catalog: {resources: [{backend: one, resource: 'doc://of/{day}', hide: true}]}\n")
	for _, uri := range []string{"doc://of/{day}", "doc://of/monday"} {
		if _, err := explain("--claims", "{}", "--resource", uri); err == nil || !strings.Contains(err.Error(), "catalog hides") {
			t.Errorf("%s: the error is %v", uri, err)
		}
	}
	if out, err := explain("--claims", "{}", "--resource", "doc://menu"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// If a rule uses arguments, the explanation also names the scopes that the caller lacks. It
// suggests only flags that were not given.
func TestExplainNamesScopesBesideArguments(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"keys.yaml": "- {name: olga, sha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, scopes: [mcp:operate]}\n" +
			"- {name: ada, sha256: ca7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, scopes: [mcp:read]}\n",
		"edge.yaml": "auth: {api-keys: keys.yaml}\npolicy: {default: allow, scopes: [{need: [mcp:read]}], " +
			"rules: [{name: not for bob, when: 'has(arguments.name) && arguments.name == \"bob\"', then: deny}]}\n" +
			"backends: [{name: one, target: '" + commandtest.Tools(t, "m", 1) + "'}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const open = `depends on the arguments: deny, by the rule "not for bob", if it holds`
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--api-key=olga", "--tool=m0000"}, open + "; what is allowed also needs the scopes mcp:read, which the caller lacks; --arguments decides it  listed"},
		{[]string{"--api-key=olga"}, open + "; what is allowed also needs the scopes mcp:read, which the caller lacks; --tool and --arguments decide it  listed"},
		{[]string{"--api-key=ada", "--tool=m0000"}, open + "; --arguments decides it  listed"},
	} {
		var out bytes.Buffer
		err := Run(t.Context(), append([]string{"explain", "--config", filepath.Join(dir, "edge.yaml")}, c.args...), &out, &out)
		if err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: %v, want %s in\n%s", c.args, err, c.want, &out)
		}
	}
}

// For one tool, the stages of a call that the settings enable are printed in their order.
func TestOrderIsExplained(t *testing.T) {
	for more, want := range map[string]string{
		"": "order   names and what is hidden, rules and scopes, headers that mirror arguments, the schema of the tool: the first that refuses a call ends it\n",
		"quotas: [{per: tool, rate: 1/1s}]\naudit: {file: DIR/audit}\nhooks: [{name: dlp, target: '127.0.0.1:1', on: [request]}, {name: late, target: '127.0.0.1:1', on: [result]}]\n": "order   names and what is hidden, rules and scopes, " +
			"headers that mirror arguments, hooks that match (\"dlp\"), the schema of the tool, quotas, the audit: the first that refuses a call ends it\n",
	} {
		explain := locked(t, more)
		if got, err := explain("--claims", "{}", "--tool", "go"); err != nil || !strings.HasSuffix(got, want) {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
		if got, err := explain("--claims", "{}"); err != nil || strings.Contains(got, "\norder ") {
			t.Errorf("of everything: %v\n%s", err, got)
		}
	}
}

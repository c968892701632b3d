package policy

import (
	"fmt"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// A URI is refused that a backend could take for one that the caller may not read.
func TestOtherFormsOfURIs(t *testing.T) {
	p, err := Compile(Settings{
		Default: Allow,
		Scopes:  []Scopes{{Resources: []string{"file:///secret/**"}, Need: []string{"admin"}}},
		Rules:   []Rule{{Name: "inner", When: `resource.uri.startsWith("docs://admin")`, Then: Hide}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]Effect{
		"file:///public/x":               Allow,
		"file:///secret/x":               StepUp,
		"file:///public/../secret/x":     StepUp,
		"file:///public/..%2fsecret/x":   StepUp,
		"file:///%73ecret/x":             StepUp,
		"FILE:///secret/x":               StepUp,
		"docs://guide/../admin":          Hide,
		"docs://guide/..%5cadmin":        Hide,
		"docs://./admin":                 Hide,
		"docs://guide?/../admin":         Hide,
		"docs://@admin":                  Hide,
		"docs://guide/%2e%2e/admin?a=/.": Hide,
		"docs://guide/a%20b":             Allow,
	} {
		target := &Target{Kind: Resource, Method: mcp.MethodResourcesRead, Name: uri, Backend: "files"}
		d, err := p.Decide(&mcp.Principal{Subject: "alice"}, target, noArguments)
		if err != nil || d.Effect != want {
			t.Errorf("%s: %s, %v; want %s", uri, d.Effect, err, want)
		}
		if listed := p.Listed(&mcp.Principal{Subject: "alice"}, target); listed != (want != Hide) {
			t.Errorf("%s: listed %v", uri, listed)
		}
	}
}

// A URI is refused of which a backend may drop the fragment, the query or the last slash, unless it
// is listed and only the default refuses what is left.
func TestURIsWithoutParts(t *testing.T) {
	compiled := func(s Settings) *Policy {
		p, err := Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	denies := compiled(Settings{Default: Allow, Rules: []Rule{{Name: "secret", When: `resource.uri == "file:///secret" || resource.uri.endsWith(".key")`, Then: Deny}},
		Scopes: []Scopes{{Resources: []string{"file:///scoped"}, Need: []string{"admin"}}}})
	allows := compiled(Settings{Default: Deny, Rules: []Rule{
		{Name: "hidden", When: `resource.uri == "file:///public/hidden"`, Then: Hide},
		{Name: "public", When: `resource.uri.startsWith("file:///public/") || resource.uri.startsWith("q://x?name=")`, Then: Allow}}})
	for _, c := range []struct {
		p                *Policy
		uri              string
		want, wantListed Effect
	}{
		{denies, "file:///public#secret", Allow, Allow},
		{denies, "file:///secret#", Deny, Deny},
		{denies, "file:///secret?", Deny, Deny},
		{denies, "file:///secret?x", Deny, Deny},
		{denies, "file:///secret/", Deny, Deny},
		{denies, "file:///a.key%23", Deny, Deny},
		{denies, "file:///scoped?x", StepUp, StepUp},
		{allows, "file:///public/a/?x#y", Allow, Allow},
		{allows, "file:///public/", Deny, Allow},
		{allows, "q://x?name=1", Deny, Allow},
		{allows, "q://x?name=1#z", Deny, Allow},
		{allows, "file:///public/hidden/", Hide, Hide},
		{allows, "file:///public/../x/", Deny, Deny},
	} {
		for listed, want := range map[bool]Effect{false: c.want, true: c.wantListed} {
			target := &Target{Kind: Resource, Name: c.uri, IsListed: listed}
			d, err := c.p.Explain(&mcp.Principal{}, target, noArguments)
			if err != nil || d.Effect != want {
				t.Errorf("%s, listed %v: %s of the form %q, %v; want %s", c.uri, listed, d.Effect, d.Form, err, want)
			}
			if got := c.p.Listed(&mcp.Principal{}, target); got != (want == Allow || want == StepUp) {
				t.Errorf("%s, listed %v: is in lists %v", c.uri, listed, got)
			}
		}
	}
}

// What libraries decode before they hand it to a backend is decided on decoded, and a template by its own text in every form.
func TestDecodedForms(t *testing.T) {
	p, err := Compile(Settings{
		Default: Allow,
		Scopes:  []Scopes{{Resources: []string{"file:///secret/**", "docs://café/**"}, Need: []string{"admin"}}},
		Rules: []Rule{{Name: "named", When: `resource.uri.endsWith("name=secret") || resource.uri.endsWith("#secret")`, Then: Hide},
			{Name: "slashed", When: `resource.uri.startsWith("docs://secret/")`, Then: Deny}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]Effect{
		"file:///secret%2Fa":         StepUp,
		"file:///secret%5Ca":         StepUp,
		"file:////secret/a":          StepUp,
		"FILE:///%73ecret%2fa":       StepUp,
		"docs://caf%C3%A9/a":         StepUp,
		"docs://caf%c3%a9%2Fa":       StepUp,
		"docs://secret%2fa":          Deny,
		"q://x?name=%73ecret":        Hide,
		"f://x#%73ecret":             Hide,
		"docs://public%2Fa":          Allow,
		"docs://caf%25C3%25A9/a":     Allow, // It is decoded once.
		"q://x?name=%2573ecret":      Allow,
		"file:///public/caf%C3%A9/x": Allow,
	} {
		d, err := p.Explain(&mcp.Principal{}, &Target{Kind: Resource, Name: uri}, noArguments)
		if err != nil || d.Effect != want {
			t.Errorf("%s: %s by %q of the form %q, %v; want %s", uri, d.Effect, d.Rule, d.Form, err, want)
		}
	}
	for text, want := range map[string]bool{"docs://%73ecret/{name}": false, "docs://secret%2f{name}": false, "DOCS://public/{name}": true} {
		if got := p.Listed(&mcp.Principal{}, &Target{Kind: Template, Name: text}); got != want {
			t.Errorf("%s: listed %v", text, got)
		}
	}
}

// Rules know the variables of a template as the backend gets them. While they are not known, which is in lists, what they decide is open.
func TestVariablesOfTemplates(t *testing.T) {
	p, err := Compile(Settings{Default: Deny, Rules: []Rule{
		{Name: "own", When: `has(resource.vars.tenant) && resource.vars.tenant == principal.subject`, Then: Allow},
	}})
	if err != nil {
		t.Fatal(err)
	}
	template := parsed(t, "t://{tenant}/{+path}")
	for uri, want := range map[string]Effect{"t://ann/x": Allow, "T://%61nn/x": Allow, "t://bob/ann": Deny, "t://ann%2Fx/": Deny, "u://ann": Deny} {
		target := &Target{Kind: Resource, Name: uri, Vars: func() []map[string]string {
			if vars, ok := template.Match(uri); ok {
				return []map[string]string{vars}
			}
			return nil
		}}
		d, err := p.Decide(&mcp.Principal{Subject: "ann"}, target, noArguments)
		if err != nil || d.Effect != want || d.Err != nil {
			t.Errorf("%s: %s, %v, %v; want %s", uri, d.Effect, err, d.Err, want)
		}
		if got := p.Listed(&mcp.Principal{Subject: "ann"}, target); got != (want == Allow) {
			t.Errorf("%s: listed %v", uri, got)
		}
	}
	listed := &Target{Kind: Template, Name: template.String()}
	if !p.Listed(&mcp.Principal{Subject: "ann"}, listed) {
		t.Error("the template is not listed, although some of its variables are allowed")
	}
	for chosen, want := range map[string]Effect{"ann": Allow, "bob": Deny} {
		d, err := p.Decide(&mcp.Principal{Subject: "ann"}, listed, func() (map[string]any, error) { return map[string]any{"tenant": chosen}, nil })
		if err != nil || d.Effect != want {
			t.Errorf("completion for %s: %s, %v; want %s", chosen, d.Effect, err, want)
		}
	}
	if _, err := Compile(Settings{Rules: []Rule{{Name: "typed", When: `resource.vars.page > 3`, Then: Deny}}, Default: Allow}); err == nil {
		t.Error("a variable is compared with a number")
	}
}

// What several templates match is allowed if it is by the variables of each, and what too many match is denied.
func TestVariablesOfSeveralTemplates(t *testing.T) {
	p, err := Compile(Settings{Default: Deny, Rules: []Rule{{Name: "own", When: `has(resource.vars.tenant) && resource.vars.tenant == principal.subject`, Then: Allow}}})
	if err != nil {
		t.Fatal(err)
	}
	ann := &mcp.Principal{Subject: "ann"}
	own := func(n int) (out []map[string]string) {
		for i := range n {
			out = append(out, map[string]string{"tenant": "ann", "i": fmt.Sprint(i)})
		}
		return out
	}
	for name, x := range map[string]struct {
		vars []map[string]string
		want Effect
		err  bool
	}{
		"the first is another's": {append([]map[string]string{{"tenant": "bob"}}, own(2)...), Deny, false},
		"the last is another's":  {append(own(2), map[string]string{"tenant": "bob"}), Deny, false},
		"the last has none":      {append(own(1), map[string]string{}), Deny, false},
		"all are own":            {own(MaxReadings), Allow, false},
		"too many":               {own(MaxReadings + 1), Deny, true},
	} {
		target := &Target{Kind: Resource, Name: "t://x/y", Vars: func() []map[string]string { return x.vars }}
		d, err := p.Decide(ann, target, noArguments)
		if err != nil || d.Effect != x.want || (d.Err != nil) != x.err {
			t.Errorf("%s: %s, %v, %v", name, d.Effect, err, d.Err)
		}
		if got := p.Listed(ann, target); got != (x.want == Allow) {
			t.Errorf("%s: listed %v", name, got)
		}
	}
}

func noArguments() (map[string]any, error) { return nil, nil }

func parsed(t *testing.T, text string) *uris.Template {
	t.Helper()
	template, err := uris.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

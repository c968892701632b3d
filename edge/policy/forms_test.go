package policy

import (
	"slices"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

func TestForms(t *testing.T) {
	for uri, want := range map[string][]string{
		"docs://README":                  nil,
		"docs://a/b.txt?at=../x":         nil,
		"docs://a%20b":                   nil,
		"docs://a%2Fb":                   nil,
		"urn:isbn:1":                     nil,
		"no scheme/../x":                 nil,
		"FILE:///secret":                 {"file:///secret"},
		"file://HOST/%61":                {"file://host/a"},
		"file:///%73ecret/x":             {"file:///secret/x"},
		"file:///public/../secret/x":     {"file:///secret/x"},
		"file:///public/%2e%2E/secret/x": {"file:///secret/x"},
		"file:///public/..%2fsecret/x":   {"file:///secret/x"},
		`file:///public/..\secret/x`:     {"file:///secret/x"},
		"file:///./secret/.":             {"file:///secret/"},
		"file:///../../secret?a":         {"file:///secret?a"},
		"docs://guide/../admin":          {"docs://admin", "docs://guide/admin"},
		"docs:guide/../admin":            {"docs:admin"},
		"docs://./admin":                 {"docs://admin"},
		"docs://%2e/admin":               {"docs://admin", "docs://./admin"},
		"docs://guide?/../admin":         {"docs://admin"},
		"docs://guide?a/../admin/b":      {"docs://admin/b"},
		"docs://guide#/..%2fadmin":       {"docs://admin"},
		"docs:guide?/../admin":           {"docs:admin"},
		"docs://@admin/x":                {"docs://admin/x"},
		"docs://admin:/x":                {"docs://admin/x"},
		"docs://bob@admin:80/x":          nil,
		"docs://a/b:":                    nil,
		"docs://a/%zz%4":                 nil,
	} {
		if got := forms(uri); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", uri, got, want)
		}
	}
}

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

func noArguments() (map[string]any, error) { return nil, nil }

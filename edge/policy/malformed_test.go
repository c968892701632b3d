package policy

import (
	"errors"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Unreadable arguments do not reveal whether a target that is hidden for all arguments exists.
func TestMalformedArguments(t *testing.T) {
	p, err := Compile(Settings{Default: Allow, Rules: []Rule{
		{Name: "region", When: `has(arguments.region) && arguments.region == "us"`, Then: Deny},
		{Name: "secret", When: `tool.name == "secret"`, Then: Hide},
		{Name: "closed", When: `tool.name == "closed"`, Then: Deny},
	}})
	if err != nil {
		t.Fatal(err)
	}
	malformed := errors.New("malformed")
	for name, hidden := range map[string]bool{"secret": true, "closed": false, "open": false} {
		d, err := p.Decide(&mcp.Principal{}, &Target{Kind: Tool, Name: name}, func() (map[string]any, error) { return nil, malformed })
		if hidden != (err == nil && d.Effect == Hide && d.Rule == "secret") || !hidden && !errors.Is(err, malformed) {
			t.Errorf("%s: %s by %q, %v", name, d.Effect, d.Rule, err)
		}
	}
}

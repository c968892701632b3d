package config

import (
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
)

// A text with a colon is a text, wherever it stands.
func TestNames(t *testing.T) {
	for text, want := range map[string][]string{
		"a: [mcp:read, b, 'c:d']": {"mcp:read", "b", "c:d"},
		"{a: [mcp:read, mcp:write:all, https://example.com:8443/mcp, port:80]}": {"mcp:read", "mcp:write:all", "https://example.com:8443/mcp", "port:80"},
		"a:\n- mcp:read\n- 7": {"mcp:read", "7"},
		"a: []":               {},
		"{a: [[b]]}":          nil,
		"{a: [{b: c, d: e}]}": nil,
		"{a: b}":              nil,
	} {
		var got struct {
			A Names `yaml:"a"`
		}
		if err := yaml.Unmarshal([]byte(text), &got); (err != nil) != (want == nil) || !slices.Equal(got.A, want) {
			t.Errorf("%s gives %q, %v; want %q", text, got.A, err, want)
		}
	}
}

package config

import (
	"strings"
	"testing"
)

// Settings that cannot match, or that have another meaning than intended, are reported; correct
// ones are not.
func TestIneffective(t *testing.T) {
	for _, x := range []struct {
		c    Config
		want string // empty means no note
	}{
		{Config{Listen: Listen{Hosts: []string{"mcp.example.com", "10.0.0.1", "::1", "localhost"}}}, ""},
		{Config{Listen: Listen{Hosts: []string{"https://mcp.example.com"}}}, `hosts[0]: "https://mcp.example.com" matches no Host: write the name alone, mcp.example.com`},
		{Config{Listen: Listen{Hosts: []string{"a", "mcp.example.com:8080"}}}, `hosts[1]: "mcp.example.com:8080" matches no Host: ports are not compared: write mcp.example.com`},
		{Config{Admin: Admin{Hosts: []string{"*.example.com"}}}, `admin.hosts[0]: "*.example.com" matches no Host`},
		{Config{Listen: Listen{Hosts: []string{"[::1]"}}}, `hosts[0]: "[::1]" matches no Host`},
		{Config{Listen: Listen{Hosts: []string{"mcp.example.com/mcp"}}}, `hosts[0]: `},
		{Config{Listen: Listen{Origins: []string{"*", "https://app.example", "https://app.example/", "http://localhost:3000", "null"}}}, `origins[4]: "null"`},
		{Config{Listen: Listen{Origins: []string{"app.example"}}}, `origins[0]: "app.example" matches no Origin: write it with its scheme`},
		{Config{Listen: Listen{Origins: []string{"https://app.example/page"}}}, `an origin has no path: write https://app.example`},
		{Config{Listen: Listen{Origins: []string{"https://*.example"}}}, `there are no patterns but * alone`},
		{Config{Listen: Listen{Origins: []string{"https://app.example:443"}}}, `write https://app.example`},
		{Config{Listen: Listen{PublicURL: "https://mcp.example.com/"}}, ""},
		{Config{Listen: Listen{PublicURL: "http://mcp.example.com"}}, ""},
		{Config{Listen: Listen{PublicURL: "https://mcp.example.com", TLS: ListenerTLS{Cert: "c", Key: "k"}}}, ""},
		{Config{Listen: Listen{PublicURL: "http://mcp.example.com", TLS: ListenerTLS{Cert: "c", Key: "k"}}}, `listen.public-url: "http://mcp.example.com" is without TLS, while listen.tls makes the address speak TLS only: write https://mcp.example.com`},
		{Config{Listen: Listen{PublicURL: "https://example.com/tools"}}, `listen.public-url: "https://example.com/tools" has a path: clients call https://example.com/tools/mcp`},
		{Config{Listen: Listen{PublicURL: "https://example.com/mcp"}}, `names an endpoint`},
		{Config{Backends: []Backend{{Name: "a", Target: "h:1"}, {Name: "b", Target: "dns:///h:1"}, {Name: "c", Target: "unix:/run/x"}, {Name: "d", Target: "passthrough:///x"}}}, ""},
		{Config{Catalog: &Catalog{Tools: []CatalogTool{{Backend: "a", Tool: "b", Name: strings.Repeat("x", 64), Aliases: Names{strings.Repeat("x", 65)}}}}}, ""},
		{Config{Catalog: &Catalog{Tools: []CatalogTool{{Backend: "a", Tool: "b"}, {Backend: "a", Tool: "c", Name: strings.Repeat("x", 65)}}}},
			`catalog.tools[1]: name: "` + strings.Repeat("x", 65) + `" has 65 characters: some models accept at most 64`},
		{Config{Root: RootOff}, "root: off, and there are no sets: no path serves MCP"},
		{Config{Root: RootOff, Sets: map[string]Set{"desk": {}}}, ""},
		{Config{Root: RootAll}, ""},
		{Config{CatalogLock: &CatalogLock{File: "c.json"}}, ""},
		{Config{CatalogLock: &CatalogLock{File: "c.json"}, Kubernetes: &Kubernetes{}}, "catalog-lock: snapshots have no backends that are found in Kubernetes"},
		{Config{Backends: []Backend{{Name: "a", Target: "tools.internal"}}}, `backends[0] a: target "tools.internal" has no port: gRPC takes 443`},
		{Config{Backends: []Backend{{Name: "a", Target: "dns:///tools.internal"}}}, `has no port`},
		{Config{Backends: []Backend{{Name: "a", Target: "dns://8.8.8.8/tools"}}}, `has no port`},
		{Config{Backends: []Backend{{Name: "a", Target: "::1"}}}, `has no port`},
	} {
		notes := strings.Join(x.c.Ineffective(), "\n")
		if x.want == "" && notes != "" || !strings.Contains(notes, x.want) || strings.Contains(notes, "\n") {
			t.Errorf("%+v: %q, want %q", x.c, notes, x.want)
		}
	}
}

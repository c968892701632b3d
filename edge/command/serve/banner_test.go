package serve

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/command/client"
	"github.com/mcpedge/mcpedge/edge/command/demo"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// The banner suggests commands that work: with credentials if they are required. It names the page
// of calls if a browser may open it.
func TestBanner(t *testing.T) {
	const token, page = "--token-file", "http://127.0.0.1:9090/dev"
	open := &config.AdminAuth{Scope: "mcp:operate", Open: config.Names{config.OpenDev}}
	for name, c := range map[string]struct {
		cfg       config.Config
		demo      bool
		want, not []string
	}{
		"open":             {config.Config{Admin: config.Admin{Dev: true}}, true, []string{"npx @modelcontextprotocol/inspector", page, "http://localhost:8080/mcp"}, []string{token, "token"}},
		"auth":             {config.Config{Auth: &config.Auth{}}, true, []string{"access token", "mcpedge call --token-file FILE http://localhost:8080/mcp"}, []string{"npx", "/dev"}},
		"auth, optional":   {config.Config{Auth: &config.Auth{Optional: true}}, true, []string{"npx @modelcontextprotocol/inspector"}, []string{token}},
		"admin.auth":       {config.Config{Admin: config.Admin{Dev: true, Auth: &config.AdminAuth{Scope: "x"}}}, false, nil, []string{"/dev"}},
		"admin.auth, open": {config.Config{Admin: config.Admin{Dev: true, Auth: open}}, false, []string{page}, []string{"npx"}},
		"neither":          {config.Config{}, false, nil, []string{"MCP Edge"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			greet(&out, &c.cfg, c.demo, "http://0.0.0.0:8080/mcp", "127.0.0.1:9090")
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in\n%s", want, &out)
				}
			}
			for _, not := range c.not {
				if strings.Contains(out.String(), not) {
					t.Errorf("%q is in\n%s", not, &out)
				}
			}
		})
	}
}

// The command in the banner calls an existing tool.
func TestBannerCommand(t *testing.T) {
	cfg := harness.Config()
	stop, err := demo.Add(t.Context(), &cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	url := harness.Start(t, cfg).URL
	_, rest, _ := strings.Cut(lockedBanner, "--token-file FILE %s ")
	line, _, _ := strings.Cut(rest, "\n")
	tool, arguments, _ := strings.Cut(line, " ")
	var out bytes.Buffer
	if err := client.Call(t.Context(), []string{url, tool, strings.Trim(arguments, "'")}, "test", &out, &out); err != nil || !strings.Contains(out.String(), "42") {
		t.Errorf("%s: %v\n%s", line, err, &out)
	}
}

func TestBannerNamesAnAddressThatCanBeCalled(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://[::]:8080/mcp":         "http://localhost:8080/mcp",
		"https://0.0.0.0:8443/mcp":     "https://localhost:8443/mcp",
		"http://127.0.0.1:8080/mcp":    "http://127.0.0.1:8080/mcp",
		"http://[::1]:8080/mcp":        "http://[::1]:8080/mcp",
		"http://edge.example:8080/mcp": "http://edge.example:8080/mcp",
	} {
		if got := onThisMachine(endpoint); got != want {
			t.Errorf("%s is shown as %s, want %s", endpoint, got, want)
		}
	}
}

package install

import (
	"strings"
	"testing"
)

// TestClientIDs checks each host's entry for a registered client, with a port and without, and the
// redirect URI that the advice has.
func TestClientIDs(t *testing.T) {
	empty(t)
	const url = "https://mcp.example.com/mcp"
	// object returns an entry of a JSON file, with its members in their order.
	object := func(section, before string) string {
		return `{"` + section + `":{"mcpedge":{` + before + `"url":"` + url + `"}}}`
	}
	tests := []struct {
		host string
		// entry is the output without a port, withPort the output with one, or the error if the host
		// has no port.
		entry, withPort string
		// redirect and redirectWithPort are the redirect URIs in the advice for both.
		redirect, redirectWithPort string
	}{
		{
			"claude-code",
			object("mcpServers", `"oauth":{"clientId":"desk"},"type":"http",`),
			object("mcpServers", `"oauth":{"callbackPort":8765,"clientId":"desk"},"type":"http",`),
			"http://localhost:PORT/callback, on any port", "http://localhost:8765/callback",
		},
		{
			"cline",
			object("mcpServers", `"oauthClient":{"clientId":"desk"},"type":"streamableHttp",`), "1456 to 1458",
			"http://127.0.0.1:1456/mcp/oauth/callback", "",
		},
		{
			"codex",
			"[mcp_servers.mcpedge]\noauth = {client_id = \"desk\"}\nurl = \"" + url + "\"", "mcp_oauth_callback_port",
			"http://127.0.0.1:PORT/callback/…, on any port", "",
		},
		{
			"copilot-cli",
			object("mcpServers", `"oauthClientId":"desk","oauthPublicClient":true,"tools":["*"],"type":"http",`),
			object("mcpServers", `"auth":{"redirectPort":8765},"oauthClientId":"desk","oauthPublicClient":true,"tools":["*"],"type":"http",`),
			"http://127.0.0.1:PORT/, on any port", "http://127.0.0.1:8765/",
		},
		{
			"cursor",
			object("mcpServers", `"auth":{"CLIENT_ID":"desk"},`), "leave --callback-port out",
			"cursor://anysphere.cursor-mcp/oauth/callback, in newer versions http://localhost:8787/callback", "",
		},
		{
			"gemini-cli",
			`{"mcpServers":{"mcpedge":{"httpUrl":"` + url + `","oauth":{"clientId":"desk","enabled":true}}}}`,
			`{"mcpServers":{"mcpedge":{"httpUrl":"` + url + `","oauth":{"clientId":"desk","enabled":true,"redirectUri":"http://localhost:8765/oauth/callback"}}}}`,
			"http://localhost:PORT/oauth/callback, on any port", "http://localhost:8765/oauth/callback",
		},
		{
			"mistral-vibe",
			"[[mcp_servers]]\nname = \"mcpedge\"\nauth = {client_id = \"desk\", scopes = [], type = \"oauth\"}\ntransport = \"streamable-http\"\nurl = \"" + url + "\"",
			"[[mcp_servers]]\nname = \"mcpedge\"\nauth = {client_id = \"desk\", redirect_port = 8765, scopes = [], type = \"oauth\"}\n" +
				"transport = \"streamable-http\"\nurl = \"" + url + "\"",
			"http://127.0.0.1:47823/callback", "http://127.0.0.1:8765/callback",
		},
		{
			"opencode",
			object("mcp", `"enabled":true,"oauth":{"clientId":"desk"},"type":"remote",`),
			object("mcp", `"enabled":true,"oauth":{"callbackPort":8765,"clientId":"desk"},"type":"remote",`),
			"http://127.0.0.1:19876/mcp/oauth/callback", "http://127.0.0.1:8765/mcp/oauth/callback",
		},
		{
			"qwen-code",
			`{"mcpServers":{"mcpedge":{"httpUrl":"` + url + `","oauth":{"clientId":"desk","enabled":true}}}}`, "7777",
			"http://localhost:7777/oauth/callback", "",
		},
		{
			"vscode",
			object("servers", `"oauth":{"clientId":"desk"},"type":"http",`), "leave --callback-port out",
			"http://127.0.0.1:33418/, and https://vscode.dev/redirect", "",
		},
		{
			"zed",
			`{"context_servers":{"mcpedge":{"oauth":{"client_id":"desk"},"url":"` + url + `"}}}`, "leave --callback-port out",
			"http://127.0.0.1:PORT/callback, on any port", "",
		},
	}
	tested := map[string]bool{}
	for _, tt := range tests {
		tested[tt.host] = true
		out, stderr, err := run(t, tt.host, "--url", url, "--client-id", "desk")
		if err != nil || canonical(t, out) != tt.entry || !strings.Contains(stderr, "the redirect "+tt.redirect+"\n") {
			t.Errorf("%s: %v\n%s\n%s", tt.host, err, out, stderr)
		}
		out, stderr, err = run(t, tt.host, "--url", url, "--client-id", "desk", "--callback-port", "8765")
		switch {
		case tt.redirectWithPort == "":
			if out != "" || err == nil || !strings.Contains(err.Error(), tt.withPort) {
				t.Errorf("%s: want %q in %v", tt.host, tt.withPort, err)
			}
		case err != nil || canonical(t, out) != tt.withPort || !strings.Contains(stderr, "the redirect "+tt.redirectWithPort+"\n"):
			t.Errorf("%s with a port: %v\n%s\n%s", tt.host, err, out, stderr)
		}
	}
	for _, h := range hosts {
		if tested[h.name] {
			continue
		}
		out, _, err := run(t, h.name, "--url", url, "--client-id", "desk")
		if out != "" || err == nil || h.clientHelp == "" || !strings.Contains(err.Error(), h.clientHelp) && !strings.Contains(err.Error(), h.remoteHelp) {
			t.Errorf("%s: %v\n%s", h.name, err, out)
		}
	}
}

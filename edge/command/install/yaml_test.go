package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLists compares whole files whose servers are entries of a list.
func TestLists(t *testing.T) {
	const entry = "- name: \"mcpedge\"\n    type: \"streamable-http\"\n    url: \"http://127.0.0.1:8080/mcp\"\n"
	const table = "[[mcp_servers]]\nname = \"mcpedge\"\ntransport = \"streamable-http\"\nurl = \"http://127.0.0.1:8080/mcp\"\n"
	tests := []struct{ name, host, before, after string }{
		{"no list", "continue-cli", "name: mine # my own\nmodels: []", "name: mine # my own\nmodels: []\nmcpServers:\n  " + entry},
		{"empty list", "continue-cli", "mcpServers: []\nname: mine\n", "mcpServers:\n  " + entry + "name: mine\n"},
		{
			"another entry", "continue-cli",
			"mcpServers:\n  # first\n  - name: a\n    url: x\n\n# models\nmodels: []\n",
			"mcpServers:\n  # first\n  - name: a\n    url: x\n  " + entry + "\n# models\nmodels: []\n",
		},
		{
			"indented as its keys", "continue-cli",
			"mcpServers:\n- name: a\n  url: x\nmodels: []\n",
			"mcpServers:\n- name: a\n  url: x\n" + strings.ReplaceAll(entry, "\n    ", "\n  ") + "models: []\n",
		},
		{
			"replaced", "continue-cli",
			"mcpServers:\n  - name: mcpedge\n    url: old\n  - name: z # last\n    url: y\n",
			"mcpServers:\n  " + entry + "  - name: z # last\n    url: y\n",
		},
		{
			"CRLF", "continue-cli",
			"name: mine\r\nmcpServers:\r\n  - name: a\r\n    url: x\r\n",
			"name: mine\r\nmcpServers:\r\n  - name: a\r\n    url: x\r\n  " + strings.ReplaceAll(entry, "\n", "\r\n"),
		},
		{"TOML without a list", "mistral-vibe", "model = \"x\" # fast\n", "model = \"x\" # fast\n\n" + table},
		{
			"TOML replaced, with the tables below it", "mistral-vibe",
			"[[mcp_servers]]\nname = \"a\"\n[mcp_servers.env]\nname = \"mcpedge\"\n\n[[mcp_servers]]\nname = 'mcpedge'\nurl = \"old\"\n[mcp_servers.auth]\ntype = \"oauth\"\n\n[tools]\nx = 1\n",
			"[[mcp_servers]]\nname = \"a\"\n[mcp_servers.env]\nname = \"mcpedge\"\n\n[tools]\nx = 1\n\n" + table,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(empty(t), "file")
			if err := os.WriteFile(file, []byte(tt.before), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := run(t, tt.host, "--write", "--replace", "--file", file); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// run runs the command with an empty home and working directory.
func run(t *testing.T, args ...string) (out, stderr string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	err = Run(args, &o, &e)
	return o.String(), e.String(), err
}

// empty sets an empty directory as the home and the working directory of the test.
func empty(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, v := range []string{"CODEX_HOME", "COPILOT_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "QWEN_HOME", "XDG_CONFIG_HOME", "APPDATA", "VIBE_HOME", "CONTINUE_GLOBAL_DIR"} {
		t.Setenv(v, "")
	}
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	t.Chdir(dir)
	return dir
}

// TestPrints prints each host's entry, and writes nothing.
func TestPrints(t *testing.T) {
	dir := empty(t)
	want := map[string]string{
		"claude-code": `{"mcpServers":{"desk":{"headers":{"Authorization":"Bearer ${TOKEN}"},"type":"http","url":"https://mcp.example.com/mcp/desk"}}}`,
		"codex":       "[mcp_servers.desk]\nbearer_token_env_var = \"TOKEN\"\nurl = \"https://mcp.example.com/mcp/desk\"",
		"copilot-cli": `{"mcpServers":{"desk":{"headers":{"Authorization":"Bearer ${TOKEN}"},"tools":["*"],"type":"http","url":"https://mcp.example.com/mcp/desk"}}}`,
		"continue-cli": "mcpServers:\n  - name: \"desk\"\n    requestOptions:\n      headers:\n        Authorization: \"Bearer ${{ secrets.TOKEN }}\"\n" +
			"    type: \"streamable-http\"\n    url: \"https://mcp.example.com/mcp/desk\"",
		"mistral-vibe": "[[mcp_servers]]\nname = \"desk\"\napi_key_env = \"TOKEN\"\ntransport = \"streamable-http\"\nurl = \"https://mcp.example.com/mcp/desk\"",
		"cursor":       `{"mcpServers":{"desk":{"headers":{"Authorization":"Bearer ${env:TOKEN}"},"url":"https://mcp.example.com/mcp/desk"}}}`,
		"gemini-cli":   `{"mcpServers":{"desk":{"headers":{"Authorization":"Bearer ${TOKEN}"},"httpUrl":"https://mcp.example.com/mcp/desk"}}}`,
		"opencode":     `{"mcp":{"desk":{"enabled":true,"headers":{"Authorization":"Bearer {env:TOKEN}"},"type":"remote","url":"https://mcp.example.com/mcp/desk"}}}`,
		"qwen-code":    `{"mcpServers":{"desk":{"headers":{"Authorization":"Bearer ${TOKEN}"},"httpUrl":"https://mcp.example.com/mcp/desk"}}}`,
		"vscode":       `{"servers":{"desk":{"headers":{"Authorization":"Bearer ${env:TOKEN}"},"type":"http","url":"https://mcp.example.com/mcp/desk"}}}`,
		"windsurf":     `{"mcpServers":{"desk":{"headers":{"Authorization":"Bearer ${env:TOKEN}"},"serverUrl":"https://mcp.example.com/mcp/desk"}}}`,
	}
	for _, h := range hosts {
		out, stderr, err := run(t, h.name, "--url", "https://mcp.example.com/mcp/desk", "--name", "desk", "--token-env", "TOKEN")
		if w := want[h.name]; w == "" {
			if err == nil || out != "" {
				t.Errorf("%s takes a URL and a token from the environment: %v %s", h.name, err, out)
			}
			continue
		} else if got := canonical(t, out); err != nil || got != w {
			t.Errorf("%s: %v\n%s\nwant\n%s", h.name, err, got, w)
		}
		if !strings.Contains(stderr, h.user(home{dir: dir, env: os.Getenv})) {
			t.Errorf("%s does not say which file: %s", h.name, stderr)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Error("files without --write:", err, files)
	}
}

// canonical returns JSON in its compact form, and other texts without white space around them.
func canonical(t *testing.T, text string) string {
	t.Helper()
	var compact bytes.Buffer
	if !strings.HasPrefix(text, "{") {
		return strings.TrimSpace(text)
	}
	if err := json.Compact(&compact, []byte(text)); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return compact.String()
}

// TestWrites writes the entry of every host to a new file, to the same file again, with another
// value, and to a file with another entry.
func TestWrites(t *testing.T) {
	for _, h := range hosts {
		for _, local := range []bool{false, true} {
			if h.remote == nil && !local {
				continue
			}
			dir := empty(t)
			args := []string{h.name, "--write", "--url", "https://one.example.com/mcp"}
			other := []string{h.name, "--write", "--url", "https://two.example.com/mcp"}
			if local {
				args = []string{h.name, "--write", "--stdio", "--", "--backend", "a=127.0.0.1:1"}
				other = []string{h.name, "--write", "--stdio", "--", "--backend", "b=127.0.0.1:1"}
			}
			expect := func(want string, args ...string) {
				t.Helper()
				out, _, err := run(t, args...)
				if text := out + errText(err); !strings.Contains(text, want) {
					t.Fatalf("%v: want %q in %s", args, want, text)
				}
			}
			if h.wantsFile != "" {
				expect(h.wantsFile, args...)
				file := h.user(home{dir: dir, env: os.Getenv})
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("name: mine\nmodels: []\n"), 0o600)); err != nil {
					t.Fatal(err)
				}
				expect("has the entry mcpedge now", args...)
			} else {
				expect("is new", args...)
			}
			expect("has this entry already", args...)
			expect("give another --name, or --replace", other...)
			expect("has the entry mcpedge now", append([]string{"--replace"}, other...)...)
			expect("has the entry second now", append([]string{"--name", "second"}, args...)...)
			expect("has this entry already", other...)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestKeepsTheRest compares whole files, including comments, indentation and ends of lines.
func TestKeepsTheRest(t *testing.T) {
	tests := []struct{ name, host, before, after string }{
		{
			"comments and commas", "vscode",
			"{\n\t// mine\n\t\"servers\": {\n\t\t\"a\": {\"url\": \"x\"}, // first\n\t\t// last\n\t},\n\t\"inputs\": [],\n}\n",
			"{\n\t// mine\n\t\"servers\": {\n\t\t\"a\": {\"url\": \"x\"}, // first\n\t\t// last\n\t\t\"mcpedge\": {\n\t\t\t\"type\": \"http\",\n\t\t\t\"url\": \"http://127.0.0.1:8080/mcp\"\n\t\t},\n\t},\n\t\"inputs\": [],\n}\n",
		},
		{
			"plain JSON", "cursor",
			"{\n    \"mcpServers\": {\n        \"a\": {\n            \"url\": \"x\"\n        }\n    }\n}",
			"{\n    \"mcpServers\": {\n        \"a\": {\n            \"url\": \"x\"\n        },\n        \"mcpedge\": {\n            \"url\": \"http://127.0.0.1:8080/mcp\"\n        }\n    }\n}",
		},
		{
			"no section", "gemini-cli",
			"{\n  \"theme\": \"dark\" // at night\n}\n",
			"{\n  \"theme\": \"dark\", // at night\n  \"mcpServers\": {\n    \"mcpedge\": {\n      \"httpUrl\": \"http://127.0.0.1:8080/mcp\"\n    }\n  }\n}\n",
		},
		{
			"one line", "cursor",
			`{"mcpServers":{},"more":1}`,
			"{\"mcpServers\":{\n    \"mcpedge\": {\n      \"url\": \"http://127.0.0.1:8080/mcp\"\n    }\n  },\"more\":1}",
		},
		{
			"CRLF", "cursor",
			"{\r\n  \"mcpServers\": {}\r\n}\r\n",
			"{\r\n  \"mcpServers\": {\r\n    \"mcpedge\": {\r\n      \"url\": \"http://127.0.0.1:8080/mcp\"\r\n    }\r\n  }\r\n}\r\n",
		},
		{
			"TOML", "codex",
			"# mine\nmodel = \"x\" # fast\n\n[mcp_servers.a]\nurl = \"y\"\n",
			"# mine\nmodel = \"x\" # fast\n\n[mcp_servers.a]\nurl = \"y\"\n\n[mcp_servers.mcpedge]\nurl = \"http://127.0.0.1:8080/mcp\"\n",
		},
		{
			"TOML with CRLF", "codex",
			"model = \"x\"\r\n",
			"model = \"x\"\r\n\r\n[mcp_servers.mcpedge]\r\nurl = \"http://127.0.0.1:8080/mcp\"\r\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := empty(t)
			file := filepath.Join(dir, "file")
			if err := os.WriteFile(file, []byte(tt.before), 0o640); err != nil {
				t.Fatal(err)
			}
			if _, _, err := run(t, tt.host, "--write", "--file", file); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, string(got)); diff != "" {
				t.Error(diff)
			}
			copies, err := filepath.Glob(file + ".*.bak")
			if err != nil || len(copies) != 1 {
				t.Fatal(err, copies)
			}
			for _, f := range []string{file, copies[0]} {
				if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o640 {
					t.Error(f, err, info.Mode())
				}
			}
			if was, err := os.ReadFile(copies[0]); err != nil || string(was) != tt.before {
				t.Errorf("%v: the copy is %q", err, was)
			}
		})
	}
}

// TestRefusesFiles checks that files which cannot be extended are not changed, and that the error
// has advice.
func TestRefusesFiles(t *testing.T) {
	tests := []struct{ name, host, before, want string }{
		{"no JSON", "cursor", "{", "left as it is"},
		{"a list", "cursor", "[]", "left as it is"},
		{"null", "cursor", "null", "left as it is"},
		{"the section twice", "cursor", `{"mcpServers": {}, "mcpServers": {"a": {}}}`, "2 times"},
		{"section of another type", "cursor", `{"mcpServers": 7}`, "add this by hand"},
		{"quoted table", "codex", "[mcp_servers.\"mcpedge\"]\nurl = \"x\"\n", "add this by hand"},
		{"dotted keys", "codex", "mcp_servers.mcpedge.url = \"x\"\n", "add this by hand"},
		{"one table of all", "codex", "[mcp_servers]\nmcpedge = {url = \"x\"}\n", "add this by hand"},
		{"inline table", "codex", "mcp_servers = {a = {url = \"x\"}}\n", "add this by hand"},
		{"same entry inline", "codex", "mcp_servers = {mcpedge = {url = \"x\"}}\n", "add this by hand"},
		{"list in one line", "continue-cli", "mcpServers: [{name: a, url: x}]\n", "add this by hand"},
		{"no list but a mapping", "continue-cli", "mcpServers: {a: {url: x}}\n", "add this by hand"},
		{"no YAML mapping", "continue-cli", "- a\n", "add this by hand"},
		{"TOML list as a value", "mistral-vibe", "mcp_servers = []\n", "add this by hand"},
		{"header in a text", "codex", "a = \"\"\"\n[mcp_servers.mcpedge]\n\"\"\"\n[mcp_servers.mcpedge]\nurl = \"x\"\n", "add this by hand"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(empty(t), "file")
			if err := os.WriteFile(file, []byte(tt.before), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := run(t, tt.host, "--write", "--replace", "--file", file)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("want %q and the file in %v", tt.want, err)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != tt.before {
				t.Errorf("%v: the file is now %q", err, got)
			}
			if copies, _ := filepath.Glob(file + "*"); len(copies) != 1 {
				t.Error("left behind:", copies)
			}
		})
	}
}

// TestFolders checks that a host's environment variable selects the folder.
func TestFolders(t *testing.T) {
	for _, tt := range []struct{ host, variable, file string }{
		{"claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"},
		{"codex", "CODEX_HOME", "config.toml"},
		{"copilot-cli", "COPILOT_HOME", "mcp-config.json"},
		{"gemini-cli", "GEMINI_CLI_HOME", ".gemini/settings.json"},
		{"opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"},
		{"qwen-code", "QWEN_HOME", "settings.json"},
		{"mistral-vibe", "VIBE_HOME", "config.toml"},
		{"zed", "XDG_CONFIG_HOME", "zed/settings.json"},
	} {
		t.Run(tt.host, func(t *testing.T) {
			empty(t)
			dir := t.TempDir()
			t.Setenv(tt.variable, dir)
			if _, _, err := run(t, tt.host, "--write"); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(tt.file))); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFollowsLinks checks that the target of a symbolic link is written, and that the link remains.
func TestFollowsLinks(t *testing.T) {
	dir := empty(t)
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	if err := errors.Join(os.WriteFile(real, []byte("{}"), 0o600), os.Symlink(real, link)); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if _, _, err := run(t, "cursor", "--write", "--file", link); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone:", err)
	}
	if text, err := os.ReadFile(real); err != nil || !bytes.Contains(text, []byte("mcpedge")) {
		t.Error(err, string(text))
	}
}

// TestRefusesWhatIsNotItsOwn checks that a dangling link and a read-only file are not changed.
func TestRefusesWhatIsNotItsOwn(t *testing.T) {
	dir := empty(t)
	link, fixed := filepath.Join(dir, "link.json"), filepath.Join(dir, "fixed.json")
	if err := errors.Join(os.Symlink(filepath.Join(dir, "none", "real.json"), link), os.WriteFile(fixed, []byte("{}"), 0o444)); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	for file, want := range map[string]string{link: "cannot be followed", fixed: "read-only"} {
		if _, _, err := run(t, "cursor", "--write", "--file", file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q in %v", file, want, err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone:", err)
	}
}

// TestWarnsOfPlainHTTP checks the warning about a token that is sent over the network without
// encryption.
func TestWarnsOfPlainHTTP(t *testing.T) {
	empty(t)
	for url, want := range map[string]bool{"http://10.0.0.1/mcp": true, "http://edge/mcp": true, "https://edge/mcp": false, "http://127.0.0.1:1/mcp": false, "http://[::1]:1/mcp": false, "http://localhost/mcp": false} {
		if _, stderr, err := run(t, "codex", "--url", url, "--token-env", "T"); err != nil || strings.Contains(stderr, "Warning") != want {
			t.Errorf("%s: %v, warned %t", url, err, !want)
		}
	}
}

// TestChangedMeanwhile checks that a file which a host has changed since it was read is not
// overwritten.
func TestChangedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, before, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.replace(before, []byte(`{"b":1}`), false, time.Now()); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Error("want an error about the change:", err)
	}
	if text, _ := os.ReadFile(path); string(text) != `{"a":1}` {
		t.Errorf("the file is %s", text)
	}
}

// TestFilesOfStdioAreAbsolute checks that files are absolute, because a host may start the program
// in another directory.
func TestFilesOfStdioAreAbsolute(t *testing.T) {
	empty(t)
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("edge.yaml", []byte("backends:\n- {name: crm, target: 'crm:443'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, "codex", "--stdio"); err != nil {
		t.Error("without flags:", err)
	}
	for _, args := range []string{"--config edge.yaml", "--config=edge.yaml", "--log-level warn -config edge.yaml"} {
		out, _, err := run(t, append([]string{"codex", "--stdio", "--"}, strings.Fields(args)...)...)
		if err != nil || !strings.Contains(out, filepath.Join(dir, "edge.yaml")) {
			t.Errorf("%s: %v, printed:\n%s", args, err, out)
		}
	}
}

// TestMistakes checks that errors about a command line have advice.
func TestMistakes(t *testing.T) {
	empty(t)
	for _, tt := range []struct{ args, want string }{
		{"", "write mcpedge install HOST"},
		{"codex cursor", "write mcpedge install HOST"},
		{"codx", "did you mean codex"},
		{"emacs", "it has claude-code"},
		{"codex --name a.b", "letters, digits"},
		{"codex --token-env sk-1234", "not the token"},
		{"codex --url mcp.example.com", "give an http or https URL"},
		{"codex --url https://me:pw@mcp.example.com/mcp", "credentials belong to --token-env"},
		{"codex --stdio --url http://a/mcp", "neither"},
		{"codex -- --backend a=b", "give --stdio"},
		{"codex --stdio -- --bakend a=b", "--backend may be meant"},
		{"codex --stdio -- --config nowhere.yaml", "nowhere.yaml"},
		{"windsurf --project", "leave --project out"},
		{"codex --project --file x", "give one"},
		{"codex --replace", "--write"},
		{"claude-desktop", "Connectors"},
		{"zed --token-env T", "no environment variables"},
		{"codex --wirte", "--write"},
		{"codex --client-id a --token-env T", "give one"},
		{"codex --client-id é", "ASCII"},
		{"codex --callback-port 8000", "give both"},
		{"claude-code --client-id a --callback-port 80", "from 1024 to 65535"},
		{"codex --stdio --client-id a", "neither"},
		{"windsurf --client-id a", "takes no client id"},
		{"claude-desktop --client-id a", "Connectors"},
	} {
		_, _, err := run(t, strings.Fields(tt.args)...)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: want %q in %v", tt.args, tt.want, err)
		}
		if err != nil && strings.Contains(err.Error(), "pw@") {
			t.Errorf("%s: prints a password: %v", tt.args, err)
		}
	}
	if _, stderr, err := run(t, "--help"); !errors.Is(err, flag.ErrHelp) || !strings.Contains(stderr, "claude-code") || !strings.Contains(stderr, "-token-env") {
		t.Error(err, stderr)
	}
}

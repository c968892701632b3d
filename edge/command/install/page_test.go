package install

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the entries of all hosts into docs/hosts.md")

// TestPage compares the entries in docs/hosts.md with the output of the command.
func TestPage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the page has the paths of Linux")
	}
	file, err := filepath.Abs("../../../docs/hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile("(?s)<!-- begin: entries, .*? -->\n(.*?)<!-- end -->").FindSubmatchIndex(text)
	if at == nil {
		t.Fatal("docs/hosts.md has no section for the entries")
	}
	dir := empty(t)
	var want strings.Builder
	for _, h := range hosts {
		want.WriteString(entryPage(t, h, dir))
	}
	if got := string(text[at[2]:at[3]]); got == want.String() {
		return
	}
	if !*update {
		t.Fatal("docs/hosts.md has other entries than mcpedge install prints: -update writes them")
	}
	if err := os.WriteFile(file, []byte(string(text[:at[2]])+want.String()+string(text[at[3]:])), 0o644); err != nil { // #nosec G703 -- of the repository
		t.Fatal(err)
	}
}

// entryPage returns the part of the page about a host.
func entryPage(t *testing.T, h host, dir string) string {
	t.Helper()
	var b strings.Builder
	label := "from its documentation, not tried"
	if h.tried {
		label = "tried"
	}
	fmt.Fprintf(&b, "### %s\n\n", h.title)
	files := "`" + strings.Replace(h.user(home{dir: dir, env: os.Getenv}), dir, "~", 1) + "`"
	if h.project != "" {
		files += ", of a project `" + h.project + "`"
	}
	fmt.Fprintf(&b, "File: %s (%s). To see that it is connected: %s.\n\n", files, label, h.checkHelp)
	block := func(intro string, args ...string) {
		out, _, err := run(t, append([]string{h.name}, args...)...)
		if err != nil {
			reason := strings.TrimPrefix(err.Error(), "install: ")
			fmt.Fprintf(&b, "%s: not by the file: %s.\n\n", intro, reason)
			return
		}
		language := map[format]string{jsonFile: "json", tomlFile: "toml", tomlList: "toml", yamlList: "yaml"}[h.format]
		if program, err := os.Executable(); err == nil {
			out = strings.ReplaceAll(out, program, "/usr/local/bin/mcpedge")
		}
		fmt.Fprintf(&b, "%s:\n\n```%s\n%s```\n\n", intro, language, out)
	}
	login := "HTTP"
	if h.login != "" {
		login += ", and with OAuth (to log in: " + strings.ReplaceAll(h.login, "NAME", "mcpedge") + ")"
	}
	url := "https://mcp.example.com/mcp"
	block(login, "--url", url)
	if h.remote != nil {
		block("With a key, `--token-env MCP_TOKEN`", "--url", url, "--token-env", "MCP_TOKEN")
	}
	if h.client != nil {
		block("With a client id, `--client-id ID`", "--url", url, "--client-id", "ID")
	}
	block("`--stdio`", "--stdio", "--", "--backend", "flights=127.0.0.1:50051")
	return b.String()
}

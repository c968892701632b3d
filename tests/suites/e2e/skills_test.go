package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpedge/mcpedge/services/resources/server"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// TestSkillsOfAFolder: the bundled resources service serves the skills of a folder, each file as it says, and tells of changes.
func TestSkillsOfAFolder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("acme/refunds/SKILL.md", "---\nname: refunds\ndescription: Pays back\nlicense: MIT\n---\nSee examples.\n")
	write("acme/refunds/examples/email.md", "Dear customer")
	s, err := server.New(server.Options{Skills: dir})
	if err != nil {
		t.Fatal(err)
	}
	e := startEdge(t, only(startService(t, s)))
	c := newStateless(t, e.URL)

	if got := dig(c.request("server/discover", nil).want(http.StatusOK).result(), "capabilities", "extensions", "io.modelcontextprotocol/skills", "directoryRead"); got != true {
		t.Errorf("directoryRead is %v", got)
	}
	const uri = "skill://acme/refunds/SKILL.md"
	list := c.request("skills/list", nil).want(http.StatusOK).result()
	if dig(list, "skills", 0, "uri") != uri || dig(list, "skills", 0, "frontmatter", "license") != "MIT" || list["resultType"] != "complete" ||
		list["ttlMs"] == nil || list["cacheScope"] == nil {
		t.Errorf("skills/list gave %v", list)
	}
	get := func() map[string]any {
		return c.request("skills/get", map[string]any{"uri": uri}).want(http.StatusOK).result()
	}
	files, _ := dig(get(), "skill", "resources").([]any)
	if len(files) != 2 {
		t.Fatalf("skills/get gave %v", get())
	}
	for _, f := range files {
		read, _ := dig(c.request("resources/read", map[string]any{"uri": dig(f, "uri")}).want(http.StatusOK).result(), "contents", 0, "text").(string)
		sum := sha256.Sum256([]byte(read))
		if dig(f, "digest") != "sha256:"+hex.EncodeToString(sum[:]) || dig(f, "size") != float64(len(read)) {
			t.Errorf("%v is %q", f, read)
		}
	}
	children := c.request("resources/directory/read", map[string]any{"uri": "skill://acme/refunds"}).want(http.StatusOK).result()
	if got := names(children["resources"], "uri"); len(got) != 2 || got[0] != uri || got[1] != "skill://acme/refunds/examples" || children["ttlMs"] != nil {
		t.Errorf("the directory has %v", children)
	}
	for method, uri := range map[string]string{
		"skills/get": "skill://acme/none/SKILL.md", "resources/directory/read": uri, "resources/read": "skill://acme/refunds/none",
	} {
		c.request(method, map[string]any{"uri": uri}).want(http.StatusOK).final().wantError(t, -32602)
	}

	write("acme/refunds/examples/more.md", "More")
	await.Until(t, "the skill to have another file", func() bool { files, _ := dig(get(), "skill", "resources").([]any); return len(files) == 3 })
	await.Until(t, "the list to have it, too", func() bool {
		files, _ := dig(c.request("skills/list", nil).result(), "skills", 0, "resources").([]any)
		return len(files) == 3
	})

	response, err := http.Get("http://" + e.Admin + "/v1/skills")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var rest map[string]any
	if err := json.NewDecoder(response.Body).Decode(&rest); err != nil || dig(rest, "skills", 0, "uri") != uri {
		t.Errorf("/v1/skills gave %v, %v", rest, err)
	}

	for _, version := range stateful {
		s := newSession(t, e.URL, version)
		if dig(s.hello, "capabilities", "extensions") != nil {
			t.Errorf("%s: %v", version, s.hello["capabilities"])
		}
		s.request("skills/list", `{}`).final().wantError(t, -32601)
	}
}

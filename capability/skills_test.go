package capability_test

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

const refunds = "---\nname: refunds\ndescription: Pays back\nmetadata:\n  version: \"1.0\"\n---\n# How\n"

func skillFiles() fstest.MapFS {
	return fstest.MapFS{
		"README.md":                           text("of no skill"),
		"acme/refunds/SKILL.md":               text(refunds),
		"acme/refunds/examples/a b.md":        text("dear"),
		"acme/refunds/.secret":                text("hidden"),
		"acme/refunds/.git/config":            text("hidden"),
		"acme/refunds/nested/SKILL.md":        text("---\r\nname: nested\r\ndescription: Within\r\n---\r\n"),
		"greet/SKILL.md":                      text("---\nname: greet\ndescription: Greets\n---\n"),
		"greet/assets/wave.png":               text("\x89PNG"),
		"acme/refunds/nested/deep/er/last.md": text(""),
	}
}

func TestSkills(t *testing.T) {
	files := skillFiles()
	skills, err := capability.NewSkills(files, "skill://", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := capability.New("skills", "1")
	s.Provide("skill://", skills)
	c := capabilitytest.Start(t, s)
	about, err := c.Backend.Describe(t.Context(), &mcpedgev1.DescribeRequest{})
	if err != nil || !about.GetResources().GetDirectories() {
		t.Errorf("Describe: %v, %v", about, err)
	}
	list, err := c.Resources.ListSkills(t.Context(), &mcpedgev1.ListSkillsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range list.GetSkills() {
		got = append(got, x.GetUri())
		for _, f := range x.GetFiles() {
			name := strings.ReplaceAll(strings.TrimPrefix(f.GetUri(), "skill://"), "%20", " ")
			sum := sha256.Sum256(files[name].Data)
			if hex.EncodeToString(f.GetSha256()) != hex.EncodeToString(sum[:]) || f.GetSize() != int64(len(files[name].Data)) {
				t.Errorf("%s: %v", name, f)
			}
			got = append(got, "  "+f.GetUri())
		}
	}
	const want = `skill://acme/refunds/SKILL.md
  skill://acme/refunds/SKILL.md
  skill://acme/refunds/examples/a%20b.md
  skill://acme/refunds/nested/SKILL.md
  skill://acme/refunds/nested/deep/er/last.md
skill://acme/refunds/nested/SKILL.md
  skill://acme/refunds/nested/SKILL.md
  skill://acme/refunds/nested/deep/er/last.md
skill://greet/SKILL.md
  skill://greet/SKILL.md
  skill://greet/assets/wave.png`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if front := list.GetSkills()[0].GetFrontmatterJson(); front != `{"description":"Pays back","metadata":{"version":"1.0"},"name":"refunds"}` {
		t.Errorf("front matter %s", front)
	}

	files["greet/SKILL.md"] = text("---\nname: greet\ndescription: Greets well\n---\n")
	one, err := c.Resources.GetSkill(t.Context(), &mcpedgev1.GetSkillRequest{Uri: "skill://greet/SKILL.md"})
	if err != nil || !strings.Contains(one.GetSkill().GetFrontmatterJson(), "Greets well") {
		t.Errorf("got %v, %v", one, err)
	}
	for _, uri := range []string{"skill://greet", "skill://greet/assets/wave.png", "skill://none/SKILL.md", "skill://SKILL.md", "other://x/SKILL.md", "skill://acme/../greet/SKILL.md"} {
		if _, err := c.Resources.GetSkill(t.Context(), &mcpedgev1.GetSkillRequest{Uri: uri}); status.Code(err) != codes.NotFound {
			t.Errorf("%s: %v", uri, err)
		}
	}
	read, err := c.ReadResource(t.Context(), "skill://acme/refunds/SKILL.md")
	if err != nil || read.Result.GetContents()[0].GetText() != refunds {
		t.Errorf("read %v, %v", read, err)
	}
	for _, uri := range []string{"skill://README.md", "skill://acme/refunds/.secret", "skill://acme/refunds"} {
		if out, err := c.ReadResource(t.Context(), uri); err != nil || out.Failure.GetReason() != capability.NotFound {
			t.Errorf("%s: %v, %v", uri, out, err)
		}
	}
}

func TestSkillDirectories(t *testing.T) {
	skills, err := capability.NewSkills(skillFiles(), "skill://", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := capability.New("skills", "1")
	s.Provide("skill://", skills)
	c := capabilitytest.Start(t, s)
	for uri, want := range map[string]string{
		"skill://acme/refunds":             "refunds text/markdown,examples inode/directory,nested inode/directory",
		"skill://acme/refunds/examples":    "a b.md text/markdown",
		"skill://acme/refunds/nested/deep": "er inode/directory",
		"skill://greet":                    "greet text/markdown,assets inode/directory",
	} {
		out, err := c.Resources.ListResourceDirectory(t.Context(), &mcpedgev1.ListResourceDirectoryRequest{Uri: uri})
		var got []string
		for _, r := range out.GetResources() {
			got = append(got, r.GetName()+" "+r.GetMimeType())
			if !strings.HasPrefix(r.GetUri(), uri+"/") {
				t.Errorf("%s has %s", uri, r.GetUri())
			}
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%s: %v, %v", uri, got, err)
		}
	}
	for _, uri := range []string{"skill://acme", "skill://greet/SKILL.md", "skill://greet/none", "skill://acme/refunds/.git", "skill://", "skill://greet/", "x://"} {
		if _, err := c.Resources.ListResourceDirectory(t.Context(), &mcpedgev1.ListResourceDirectoryRequest{Uri: uri}); status.Code(err) != codes.NotFound {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestNoSkills(t *testing.T) {
	c := capabilitytest.Start(t, capability.New("none", "1"))
	if _, err := c.Resources.ListSkills(t.Context(), &mcpedgev1.ListSkillsRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v", err)
	}
	for name, bad := range map[string]string{
		"no front matter": "# How\n", "another name": "---\nname: b\ndescription: d\n---\n", "no description": "---\nname: a\n---\n",
		"no object": "---\n- a\n---\n", "not closed": "---\nname: a\ndescription: d\n",
	} {
		if _, err := capability.NewSkills(fstest.MapFS{"a/SKILL.md": text(bad)}, "skill://", nil); err == nil || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := capability.NewSkills(skillFiles(), "skill", nil); err == nil {
		t.Error("a prefix without a slash")
	}
}

// Names that no file can have are not found, whatever error the system returns.
func TestNamesThatNoSkillCanHave(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "greet"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "greet", "SKILL.md"), skillFiles()["greet/SKILL.md"].Data, 0o600); err != nil {
		t.Fatal(err)
	}
	skills, err := capability.NewSkills(os.DirFS(dir), "skill://", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := capability.New("skills", "1")
	s.Provide("skill://", skills)
	c := capabilitytest.Start(t, s)
	for _, name := range []string{"SKILL.md%00", "SKILL.md/x", strings.Repeat("x", 300)} {
		stream, err := c.Resources.ReadResource(t.Context(), &mcpedgev1.ReadResourceRequest{Uri: "skill://greet/" + name})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := stream.Recv(); err != nil || r.GetFailure().GetReason() != mcpedgev1.FailureReason_FAILURE_REASON_NOT_FOUND {
			t.Errorf("%.20s: %v, %v, want NOT_FOUND", name, r, err)
		}
	}
}

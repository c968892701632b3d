// Package docs holds what the documentation says against what is there.
package docs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/mcpedge/mcpedge/edge/config"
)

const root = "../../.."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pages are the documents a person reads.
func pages(t *testing.T) []string {
	t.Helper()
	out := []string{"README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "deploy/chart/README.md"}
	more, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(more) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	for _, p := range more {
		out = append(out, filepath.Join("docs", filepath.Base(p)))
	}
	for _, pattern := range []string{"docs/backends/*.md", "examples/*/README.md", "examples/reflect/*/README.md"} {
		more, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(more) == 0 {
			t.Fatalf("no pages %s: %v", pattern, err)
		}
		for _, p := range more {
			out = append(out, strings.TrimPrefix(filepath.ToSlash(p), root+"/"))
		}
	}
	return out
}

// The tool that the README shows is a program that is built and run by tests, of at most 15 lines.
func TestReadmeShowsTheExample(t *testing.T) {
	example := strings.TrimSpace(read(t, "capability/example/greeter/main.go"))
	if n := strings.Count(example, "\n") + 1; n > 15 {
		t.Errorf("the example has %d lines", n)
	}
	if !strings.Contains(read(t, "README.md"), "```go\n"+example+"\n```") {
		t.Error("README.md does not show capability/example/greeter/main.go as it is")
	}
}

var settings = regexp.MustCompile("(?s)```yaml\n(# edge\\.yaml\n.*?)```")

// The files of settings that pages show are good ones, but for the files that they name.
func TestSettingsAreGood(t *testing.T) {
	shown := 0
	for _, page := range pages(t) {
		for _, m := range settings.FindAllStringSubmatch(read(t, page), -1) {
			shown++
			file := filepath.Join(t.TempDir(), "edge.yaml")
			if err := os.WriteFile(file, []byte(m[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := config.Load("serve", []string{"--config", file}, func(string) (string, bool) { return "", false }, io.Discard)
			if err != nil {
				t.Errorf("%s: %v", page, err)
			} else if _, err := cfg.CompilePolicy(); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	if shown < 2 {
		t.Errorf("%d files of settings were found", shown)
	}
}

var anyYAML = regexp.MustCompile("(?s)\n```yaml\n(.*?)```")

// Each block of YAML on a page is YAML, also where it shows a part of a file.
func TestBlocksAreYAML(t *testing.T) {
	shown := 0
	for _, page := range pages(t) {
		for _, m := range anyYAML.FindAllStringSubmatch(read(t, page), -1) {
			shown++
			for decoder := yaml.NewDecoder(strings.NewReader(m[1])); ; {
				var document any
				if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Errorf("%s: %v in\n%s", page, err, m[1])
					break
				}
			}
		}
	}
	if shown < 30 {
		t.Errorf("%d blocks were found", shown)
	}
}

var (
	link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	// code is what has no links: f[T](x) is a call in Go.
	code = regexp.MustCompile("(?ms)^ *```.*?^ *```$|`[^`\n]*`")
)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(read(t, page), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to := filepath.Join(filepath.Dir(page), m[1])
			info, err := os.Stat(filepath.Join(root, to))
			if err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			} else if info.IsDir() && strings.HasPrefix(page, "docs"+string(filepath.Separator)) && strings.HasPrefix(to, "docs"+string(filepath.Separator)) {
				t.Errorf("%s links to the folder %s, which the site of docs/ does not have: link to a page", page, m[1])
			}
		}
	}
}

var target = regexp.MustCompile("`make ([a-z-]+)")

// Targets that pages name are in the Makefile.
func TestMakeTargetsExist(t *testing.T) {
	makefile := read(t, "Makefile")
	for _, page := range pages(t) {
		for _, m := range target.FindAllStringSubmatch(read(t, page), -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s names `make %s`, which the Makefile lacks", page, m[1])
			}
		}
	}
}

var stages = regexp.MustCompile(`make stages ONLY='?([a-z*,-]+)`)

// Stages of CI that pages name are in the table of tools/ci, those of a pattern by their beginning.
func TestStagesExist(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "tools", "ci", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no program in tools/ci: %v", err)
	}
	var table strings.Builder
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			table.WriteString(read(t, strings.TrimPrefix(filepath.ToSlash(file), root+"/")))
		}
	}
	named := 0
	for _, page := range pages(t) {
		for _, m := range stages.FindAllStringSubmatch(read(t, page), -1) {
			for name := range strings.SplitSeq(m[1], ",") {
				if name == "*" {
					continue
				}
				named++
				want := `name: "` + name + `"`
				if beginning, ok := strings.CutSuffix(name, "*"); ok {
					want = `name: "` + beginning
				}
				if !strings.Contains(table.String(), want) {
					t.Errorf("%s names the stage %s, which tools/ci lacks", page, name)
				}
			}
		}
	}
	if named < 10 {
		t.Errorf("%d stages were found in pages", named)
	}
}

// AGENTS.md draws the life of a call as the package does that is it.
func TestDiagramOfACall(t *testing.T) {
	_, comment, ok := strings.Cut(read(t, "edge/call/doc.go"), "// # A call\n//\n")
	if !ok {
		t.Fatal("the package comment of edge/call has no section: A call")
	}
	var diagram []string
	for line := range strings.Lines(comment) {
		drawn, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			break
		}
		diagram = append(diagram, drawn)
	}
	if len(diagram) < 10 {
		t.Fatalf("the diagram of edge/call has %d lines", len(diagram))
	}
	if !strings.Contains(read(t, "AGENTS.md"), "```\n"+strings.Join(diagram, "")+"```\n") {
		t.Error("AGENTS.md does not have the diagram of the package comment of edge/call as it is")
	}
}

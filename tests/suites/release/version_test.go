package release

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	root   = "../../.."
	module = "github.com/mcpedge/mcpedge"
	// linked is what the names of the variables that the linker sets begin with.
	linked = module + "/edge/app."
	date   = "2026-11-23T05:13:22Z"
)

// sources are the folders and files that a build of the edge needs.
var sources = []string{"go.mod", "go.sum", "LICENSE", "capability", "edge", "gen", "internal", "proto", "services"}

func TestVersion(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	dir := t.TempDir()
	copySources(t, filepath.Join(dir, "archive"))
	commit := repository(t, filepath.Join(dir, "clone"))
	pseudo := "v0.0.0-" + strings.NewReplacer("-", "", "T", "", ":", "", "Z", "").Replace(date) + "-" + commit[:12]

	t.Run("built without the repository", func(t *testing.T) {
		program := build(t, filepath.Join(dir, "archive"))
		expect(t, program, "version", "devel", "unknown", "unknown")
		expect(t, program, "--version", "devel", "unknown", "unknown")
	})
	t.Run("told by the linker", func(t *testing.T) {
		set := "-ldflags=-X=" + linked + "version=v1.2.3 -X=" + linked + "commit=" + commit + " -X=" + linked + "date=" + date
		expect(t, build(t, filepath.Join(dir, "archive"), set), "version", "v1.2.3", commit, date)
	})
	t.Run("built in a clone", func(t *testing.T) {
		expect(t, build(t, filepath.Join(dir, "clone")), "version", pseudo, commit, date)
	})
	t.Run("built in a clone, at a tag", func(t *testing.T) {
		git(t, filepath.Join(dir, "clone"), "tag", "v1.2.3")
		expect(t, build(t, filepath.Join(dir, "clone")), "version", "v1.2.3", commit, date)
	})
	t.Run("built in a clone with changes", func(t *testing.T) {
		write(t, filepath.Join(dir, "clone", "LICENSE"), "changed")
		expect(t, build(t, filepath.Join(dir, "clone")), "version", "v1.2.3+dirty", commit+"-dirty", date)
	})
}

// expect runs a command of a program that names its version.
func expect(t *testing.T, program, command, version, commit, date string) {
	t.Helper()
	out, err := exec.Command(program, command).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := fmt.Sprintf("mcpedge %s\ncommit  %s\ndate    %s\n", version, commit, date); string(out) != want {
		t.Errorf("mcpedge %s says %q, want %q", command, out, want)
	}
}

// build builds the edge in a folder, as the Dockerfile does but for the repository, so that what one build compiled serves the others.
func build(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "mcpedge")
	runApart(t, dir, nil, "go", append(append([]string{"build", "-trimpath", "-buildvcs=auto", "-o", program}, flags...), "./edge")...)
	return program
}

// repository makes a repository with one commit of the sources and returns its hash.
func repository(t *testing.T, dir string) string {
	t.Helper()
	copySources(t, dir)
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message", "sources")
	return strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))
}

// git runs a command of git that depends on nobody's settings.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return runApart(t, dir, []string{
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date,
	}, "git", args...)
}

// runApart runs a program in a folder, apart from any repository and workspace around it.
func runApart(t *testing.T, dir string, env []string, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, "GOWORK=off", "CGO_ENABLED=0"), env...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v: %s%s", program, strings.Join(args, " "), err, out, &errs)
	}
	return string(out)
}

func copySources(t *testing.T, to string) {
	t.Helper()
	for _, source := range sources {
		err := walk(filepath.Join(root, source), func(path, rel string) error {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			write(t, filepath.Join(to, source, rel), string(text))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// walk calls visit for every file, with its path below from.
func walk(from string, visit func(path, rel string) error) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return visit(path, filepath.ToSlash(rel))
	})
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

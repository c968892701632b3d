package compose

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

var built struct {
	once sync.Once
	dir  string
	err  error
}

// programs builds what the Dockerfile builds, as it does, from the files that .dockerignore lets through,
// and returns the directory with the programs.
func programs(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		d := parseDockerfile(t, read(t, "deploy/Dockerfile"))
		if built.dir, built.err = os.MkdirTemp("", "mcpedge-compose-"); built.err != nil {
			return
		}
		src := filepath.Join(built.dir, "src")
		if built.err = copyContext(src, strings.Split(read(t, ".dockerignore"), "\n")); built.err != nil {
			return
		}
		for _, b := range d.builds {
			output := strings.Replace(b.output, "/out/", built.dir+"/out/", 1)
			args := append(append(slices.Clone(b.args), "-o", output), b.packages...)
			cmd := exec.Command("go", args...)
			cmd.Dir = src
			cmd.Env = append(append(outside(), "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off"), d.env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				built.err = fmt.Errorf("deploy/Dockerfile: go %s: %w\n%s", strings.Join(args, " "), err, out)
				return
			}
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "out")
}

// copyContext copies what Docker would send to the builder.
func copyContext(to string, patterns []string) error {
	return filepath.WalkDir(root, func(p string, entry fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(root, p)
		if err != nil || relErr != nil || rel == "." {
			return err
		}
		if ignored(patterns, filepath.ToSlash(rel)) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		target := filepath.Join(to, rel)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
}

// ignored judges a path by the patterns of a .dockerignore; the last that matches it or a directory
// above it decides.
func ignored(patterns []string, name string) (out bool) {
	for _, p := range patterns {
		if p = strings.TrimSpace(p); p == "" || p[0] == '#' {
			continue
		}
		p, keep := strings.CutPrefix(p, "!")
		p, anywhere := strings.CutPrefix(p, "**/")
		for n := name; n != "."; n = path.Dir(n) {
			candidate := n
			if anywhere {
				candidate = path.Base(n)
			}
			if ok, _ := path.Match(p, candidate); ok {
				out = !keep
			}
		}
	}
	return out
}

func TestDockerignoreLeavesOutTheRest(t *testing.T) {
	patterns := strings.Split(read(t, ".dockerignore"), "\n")
	for name, want := range map[string]bool{
		"go.mod": false, "edge/main.go": false, "edge/state/redis/lua/lib.lua": false, "services/tools/main.go": false,
		".git": true, ".env": true, "bin": true, "bin/mcpedge": true, "tests": true, "docker-compose.yml": true,
		"edge/config/load_test.go": true, "edge/frame/testdata": true, "edge/frame/testdata/fuzz": true,
	} {
		if got := ignored(patterns, name); got != want {
			t.Errorf("%s ignored: %v, want %v", name, got, want)
		}
	}
}

// The images hold static programs, run without root, and start what they contain.
func TestImages(t *testing.T) {
	d := parseDockerfile(t, read(t, "deploy/Dockerfile"))
	dir := programs(t)
	for _, b := range d.builds {
		for _, p := range b.packages {
			if _, err := os.Stat(filepath.Join(root, p, "main.go")); err != nil {
				t.Errorf("deploy/Dockerfile builds %s: %v", p, err)
			}
		}
	}
	for _, name := range []string{"edge", "services"} {
		s := d.stage(name)
		if s == nil {
			t.Fatalf("deploy/Dockerfile lacks the stage %s", name)
		}
		if !strings.HasSuffix(s.from, ":nonroot") || s.user != "" {
			t.Errorf("%s: from %s as %q: want an image that is not run by root", name, s.from, s.user)
		}
		contents := d.programs(s)
		if len(s.entrypoint) > 0 && !slices.Contains(contents, s.entrypoint[0]) {
			t.Errorf("%s starts %s, has %v", name, s.entrypoint[0], contents)
		}
		for _, p := range contents {
			static(t, filepath.Join(dir, p))
		}
	}
	if last := d.stages[len(d.stages)-1]; last.name != "edge" {
		t.Errorf("docker build without --target makes %s, want edge", last.name)
	}
	version := strings.TrimPrefix(d.stage("build").from, "golang:")
	if !strings.Contains(read(t, "go.mod"), "\ngo "+version+".") {
		t.Errorf("deploy/Dockerfile builds with Go %s, go.mod asks for another", version)
	}
}

// static fails the test if a program needs a dynamic linker, which the images lack.
func static(t *testing.T, program string) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s is not static", filepath.Base(program))
		}
	}
}

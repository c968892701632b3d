//go:build release && linux

package release

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// dist is what a dry run of a release has left.
type dist struct {
	version string // without v
	files   map[string]string
	names   []string // of the files, in order
	outcome map[string][]string
}

// readDist finds the artefacts: those of goreleaser that are uploaded, and those that were made beside it.
func readDist(t *testing.T) *dist {
	t.Helper()
	d := &dist{files: map[string]string{}, outcome: map[string][]string{}}
	var metadata struct{ Version string }
	readJSON(t, filepath.Join(root, "dist", "metadata.json"), &metadata)
	d.version = metadata.Version
	var artifacts []struct{ Name, Path, Type string }
	readJSON(t, filepath.Join(root, "dist", "artifacts.json"), &artifacts)
	for _, a := range artifacts {
		switch a.Type {
		case "Archive", "Linux Package", "SBOM", "Checksum", "Homebrew Cask":
			d.add(t, filepath.Join(root, a.Path))
		}
	}
	more, err := filepath.Glob(filepath.Join(root, "bin", "release", "*"))
	if err != nil || len(more) == 0 {
		t.Fatalf("nothing is in bin/release (%v): run make release", err)
	}
	for _, file := range more {
		d.add(t, file)
	}
	slices.Sort(d.names)
	return d
}

func (d *dist) add(t *testing.T, file string) {
	t.Helper()
	whole, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(file)
	if d.files[name] == "" {
		d.files[name] = whole
		d.names = append(d.names, name)
	}
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run make release", err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// one is the only artefact whose name has a beginning and an end.
func (d *dist) one(t *testing.T, prefix, suffix string) (name, file string) {
	t.Helper()
	var found []string
	for _, name := range d.names {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the artefacts %s…%s are %v, want one, of %v", prefix, suffix, found, d.names)
	}
	return found[0], d.files[found[0]]
}

// archive is the one of a platform.
func (d *dist) archive(t *testing.T, os, arch string) (name, file string) {
	t.Helper()
	suffix := ".tar.gz"
	if os == "windows" {
		suffix = ".zip"
	}
	return d.one(t, "mcpedge_"+d.version+"_"+os+"_"+arch, suffix)
}

// here is this machine's processor, away the other one that is released, and machines what rpm and Python call them.
var (
	here     = runtime.GOARCH
	away     = map[string]string{"amd64": "arm64", "arm64": "amd64"}[here]
	machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}
)

// say notes what came of an artefact.
func (d *dist) say(name, format string, values ...any) {
	d.outcome[name] = append(d.outcome[name], fmt.Sprintf(format, values...))
}

// table shows the artefacts, and writes them to the file that RELEASE_TABLE names.
func (d *dist) table(t *testing.T) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%-84s %9s  %s\n", "artefact of "+d.version, "MB", "tried here")
	for _, name := range d.names {
		info, err := os.Stat(d.files[name])
		if err != nil {
			t.Fatal(err)
		}
		outcome := strings.Join(d.outcome[name], "; ")
		if outcome == "" {
			outcome = "–"
		}
		fmt.Fprintf(&b, "%-84s %9.2f  %s\n", name, float64(info.Size())/1e6, outcome)
	}
	t.Log("\n" + b.String())
	if file := os.Getenv("RELEASE_TABLE"); file != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// checksums: each artefact but the cask, which has its own, is listed with what it has.
func (d *dist) checksums(t *testing.T) {
	name, file := d.one(t, "checksums", ".txt")
	text, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	var listed []string
	for lines := bufio.NewScanner(text); lines.Scan(); {
		sum, of, _ := strings.Cut(lines.Text(), "  ")
		listed = append(listed, of)
		raw, err := os.ReadFile(d.files[of])
		if err != nil {
			t.Errorf("checksums.txt lists %s: %v", of, err)
			continue
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(raw)); got != sum {
			t.Errorf("%s has the sum %s, and checksums.txt says %s", of, got, sum)
		}
	}
	for _, artefact := range d.names {
		if artefact != name && !strings.HasSuffix(artefact, ".rb") && !slices.Contains(listed, artefact) {
			t.Errorf("checksums.txt does not list %s", artefact)
		}
	}
	d.say(name, "%d sums hold", len(listed))
}

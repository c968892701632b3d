//go:build versions

package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// release is one version, built.
type release struct {
	version string
	// edge and backend are programs; the latter is services/everything.
	edge, backend string
}

// releases builds the latest release and this version. It skips the test if there is no release.
func releases(t *testing.T) (before, now release) {
	t.Helper()
	tag := latest()
	if tag == "" {
		t.Skip("there is no release yet (no tag v*) to which this version could be rolled")
	}
	return buildRelease(t, checkout(t, tag), tag), buildRelease(t, root, "v0.0.0-now")
}

// latest is the tag of the latest release before this commit; empty: there is none.
func latest() string {
	out, err := exec.Command("git", "-C", root, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// checkout unpacks the sources of a tag.
func checkout(t *testing.T, tag string) string {
	t.Helper()
	dir := t.TempDir()
	archive := filepath.Join(t.TempDir(), "sources.tar")
	run(t, root, nil, "git", "archive", "--output", archive, tag)
	run(t, dir, nil, "tar", "-xf", archive)
	return dir
}

// buildRelease builds the edge and the backend, which are to name a version.
func buildRelease(t *testing.T, sources, version string) release {
	t.Helper()
	dir := t.TempDir()
	r := release{version: version, edge: filepath.Join(dir, "edge"), backend: filepath.Join(dir, "everything")}
	run(t, sources, nil, "go", "build", "-buildvcs=false", "-ldflags=-X="+linked+"version="+version, "-o", dir+string(os.PathSeparator), "./edge", "./services/everything")
	if out := run(t, dir, nil, r.edge, "version"); !strings.HasPrefix(out, "mcpedge "+version+"\n") {
		t.Fatalf("built as %s, mcpedge version says %q", version, out)
	}
	return r
}

//go:build release && linux

package release

import (
	"path/filepath"
	"strings"
	"testing"
)

// libraries: each is installed into an empty project by its language's own means, and a tool that it serves is called through the released edge.
// What tries them is what tries them in sdk/LANG/test.sh.
func (d *dist) libraries(t *testing.T) {
	_, file := d.archive(t, "linux", here)
	edge := program(t, file)
	t.Run("Python", func(t *testing.T) { d.pythonLibrary(t, edge) })
	t.Run("TypeScript", func(t *testing.T) { d.typescriptLibrary(t, edge) })
	t.Run("Rust", func(t *testing.T) { d.rustLibrary(t, edge) })
	t.Run("Java", func(t *testing.T) { d.javaLibrary(t, edge) })
}

func (d *dist) pythonLibrary(t *testing.T, edge string) {
	for _, suffix := range []string{".whl", ".tar.gz"} {
		name, file := d.one(t, "mcpedge_capability-", suffix)
		d.need(t, name, "python3")
		dir := t.TempDir()
		run(t, dir, nil, "python3", "-m", "venv", "venv")
		run(t, dir, nil, "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", file)
		run(t, filepath.Join(root, "sdk", "python"), nil, filepath.Join(dir, "venv", "bin", "python"), "wheel_test.py", edge)
		d.say(name, "pip install, its tool answered")
	}
}

func (d *dist) typescriptLibrary(t *testing.T, edge string) {
	name, file := d.one(t, "npm-mcpedge-capability-", ".tgz")
	d.need(t, name, "node", "npm")
	dir := t.TempDir()
	run(t, dir, nil, "cp", file, dir)
	run(t, filepath.Join(root, "sdk", "typescript"), []string{"MCPEDGE_PROGRAM=" + edge}, "node", "test/packed.mjs", dir)
	d.say(name, "npm install, its tool answered")
}

func (d *dist) rustLibrary(t *testing.T, edge string) {
	name, file := d.one(t, "mcpedge-capability-", ".crate")
	_, macros := d.one(t, "macros-mcpedge-capability-macros-", ".crate")
	d.need(t, name, "cargo", "curl")
	run(t, "", []string{"CARGO_TARGET_DIR=" + t.TempDir()}, filepath.Join(root, "sdk", "rust", "packed.sh"), file, macros, edge)
	d.say(name, "cargo build, its tool answered")
}

func (d *dist) javaLibrary(t *testing.T, edge string) {
	name, file := d.one(t, "maven-mcpedge-capability-", ".zip")
	d.need(t, name, "java", "mvn", "python3")
	version := strings.TrimSuffix(strings.TrimPrefix(name, "maven-mcpedge-capability-"), ".zip")
	repository := t.TempDir()
	run(t, "", nil, "python3", "-m", "zipfile", "-e", file, repository)
	for _, suffix := range []string{".jar", ".pom", "-sources.jar", "-javadoc.jar"} {
		of := filepath.Join(repository, "io", "mcpedge", "mcpedge-capability", version, "mcpedge-capability-"+version+suffix)
		run(t, "", nil, "sh", "-c", `test "$(sha1sum <"$1" | cut -d' ' -f1)" = "$(cat "$1.sha1")"`, "sh", of)
	}
	run(t, filepath.Join(root, "sdk", "java"), nil, "java", "packed/Packed.java", version, repository, t.TempDir(), edge)
	d.say(name, "by Maven from its repository, its tool answered")
}

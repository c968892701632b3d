//go:build release && linux

package release

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program unpacks an archive and returns the program in it.
func program(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	if strings.HasSuffix(archive, ".zip") {
		run(t, dir, nil, "python3", "-m", "zipfile", "-e", archive, dir)
		return filepath.Join(dir, "mcpedge.exe")
	}
	run(t, dir, nil, "tar", "-xf", archive)
	return filepath.Join(dir, "mcpedge")
}

// archives: this machine's is unpacked and serves.
func (d *dist) archives(t *testing.T) {
	name, file := d.archive(t, "linux", here)
	edge := program(t, file)
	d.versioned(t, edge)
	serving{command: []string{edge}, caller: []string{edge}}.answers(t)
	for _, also := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(edge), also)); err != nil {
			t.Error(err)
		}
	}
	d.say(name, "unpacked, answered")
}

// foreign: the archives of other platforms have programs of them, which cannot be started here.
func (d *dist) foreign(t *testing.T) {
	for _, p := range []struct{ os, arch, want string }{
		{"linux", "amd64", elf.EM_X86_64.String()}, {"linux", "arm64", elf.EM_AARCH64.String()},
		{"darwin", "amd64", macho.CpuAmd64.String()}, {"darwin", "arm64", macho.CpuArm64.String()},
		{"windows", "amd64", fmt.Sprint(pe.IMAGE_FILE_MACHINE_AMD64)}, {"windows", "arm64", fmt.Sprint(pe.IMAGE_FILE_MACHINE_ARM64)},
	} {
		if p.os == "linux" && p.arch == here {
			continue
		}
		name, file := d.archive(t, p.os, p.arch)
		got, err := machine(p.os, program(t, file))
		if err != nil || got != p.want {
			t.Errorf("%s has a program for %s, %v; want %s", name, got, err, p.want)
			continue
		}
		d.say(name, "unpacked, for its platform; not started here")
	}
}

// machine is the processor that a program is for.
func machine(os, program string) (string, error) {
	var file io.Closer
	var found string
	var err error
	switch os {
	case "darwin":
		var f *macho.File
		if f, err = macho.Open(program); err == nil {
			file, found = f, f.Cpu.String()
		}
	case "windows":
		var f *pe.File
		if f, err = pe.Open(program); err == nil {
			file, found = f, fmt.Sprint(f.Machine)
		}
	default:
		var f *elf.File
		if f, err = elf.Open(program); err == nil {
			file, found = f, f.Machine.String()
		}
	}
	if err != nil {
		return "", err
	}
	return found, file.Close()
}

// cask: it names the archives of macOS with their sums. Homebrew is not here.
func (d *dist) cask(t *testing.T) {
	name, file := d.one(t, "mcpedge", ".rb")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, checksums := d.one(t, "checksums", ".txt")
	sums, err := os.ReadFile(checksums)
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		archive, _ := d.archive(t, "darwin", arch)
		for line := range strings.Lines(string(sums)) {
			if sum, of, _ := strings.Cut(strings.TrimSpace(line), "  "); of == archive && !strings.Contains(string(text), sum) {
				t.Errorf("the cask has no sum %s of %s:\n%s", sum, archive, text)
			}
		}
	}
	d.say(name, "its sums hold; not installed here (macOS)")
}

// sboms: each archive has one, which lists what the program is built from.
func (d *dist) sboms(t *testing.T) {
	found := 0
	for _, name := range d.names {
		if !strings.HasSuffix(name, ".sbom.json") {
			continue
		}
		found++
		var sbom struct {
			Packages []struct{ Name, VersionInfo string }
		}
		readJSON(t, d.files[name], &sbom)
		grpc := false
		for _, p := range sbom.Packages {
			grpc = grpc || p.Name == "google.golang.org/grpc" && p.VersionInfo != ""
		}
		if !grpc {
			t.Errorf("%s does not list google.golang.org/grpc among its %d packages", name, len(sbom.Packages))
		}
		d.say(name, "SPDX, %d packages", len(sbom.Packages))
	}
	if found != 6 {
		t.Errorf("there are %d SBOMs, want one of each of 6 archives", found)
	}
}

// contract: the archive is a module that buf builds, with the services.
func (d *dist) contract(t *testing.T) {
	name, file := d.one(t, "mcpedge-contract-", ".tar.gz")
	out := run(t, root, nil, "go", "tool", "-modfile=tools/go.mod", "buf", "build", file, "--output", "-#format=json", "--exclude-imports")
	var image struct {
		File []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(out), &image); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range image.File {
		names = append(names, f.Name)
	}
	if !strings.Contains(strings.Join(names, " "), "mcpedge/v1/tools.proto") {
		t.Errorf("the module has %v, want mcpedge/v1/tools.proto among them", names)
	}
	d.say(name, "built by buf, %d files", len(names))
}

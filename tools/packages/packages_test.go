package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// makePackages creates the packages of a program and returns their directory.
func makePackages(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	for _, p := range platforms {
		if err := run(&options{version: version, out: out, os: p.os, arch: p.arch, program: program}); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(&options{version: version, out: out, launcher: true}); err != nil {
		t.Fatal(err)
	}
	return out
}

// unpack returns the sizes of the files of an npm package, and its manifest.
func unpack(t *testing.T, file string) (map[string]int64, manifest) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	modes, m := map[string]int64{}, manifest{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return modes, m
		}
		if err != nil {
			t.Fatal(err)
		}
		modes[h.Name] = h.Mode
		if h.Name == "package/package.json" {
			if err := json.NewDecoder(r).Decode(&m); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The launcher depends on the packages of all platforms, in its own version, and no package runs a
// script during installation.
func TestNPM(t *testing.T) {
	out := makePackages(t, "1.2.3-rc.1")
	modes, root := unpack(t, filepath.Join(out, "npm-mcpedge-1.2.3-rc.1.tgz"))
	if modes["package/bin/mcpedge.js"] != 0o755 || root.Bin["mcpedge"] != "bin/mcpedge.js" || len(root.Optional) != len(platforms) {
		t.Errorf("%v, %+v", modes, root)
	}
	for _, p := range platforms {
		modes, m := unpack(t, filepath.Join(out, npmFile(p.npmName(), "1.2.3-rc.1")))
		if modes["package/bin/"+p.program()] != 0o755 || modes["package/LICENSE"] == 0 || m.OS[0] != p.npmOS || m.CPU[0] != p.npmArch {
			t.Errorf("%s: %v, %+v", m.Name, modes, m)
		}
		if root.Optional[m.Name] != m.Version {
			t.Errorf("the launcher wants %s %q, and it is %q", m.Name, root.Optional[m.Name], m.Version)
		}
	}
}

// The record of a wheel lists each of its files, and the program is executable.
func TestWheel(t *testing.T) {
	out := makePackages(t, "1.2.3-dev.4")
	files, err := filepath.Glob(filepath.Join(out, "mcpedge-1.2.3.dev4-py3-none-*.whl"))
	if err != nil || len(files) != len(platforms) {
		t.Fatalf("the wheels are %v, %v", files, err)
	}
	for _, file := range files {
		r, err := zip.OpenReader(file)
		if err != nil {
			t.Fatal(err)
		}
		record := ""
		for _, f := range r.File {
			if strings.HasSuffix(f.Name, "/RECORD") {
				part, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(part)
				if err != nil {
					t.Fatal(err)
				}
				record = string(text)
			}
			if strings.Contains(f.Name, ".data/scripts/") && f.Mode().Perm() != 0o755 {
				t.Errorf("%s: %s has mode %v", file, f.Name, f.Mode())
			}
		}
		for _, f := range r.File {
			if !strings.Contains(record, f.Name+",") {
				t.Errorf("%s: the record has no %s:\n%s", file, f.Name, record)
			}
		}
		r.Close()
	}
}

// Equal inputs give equal packages, byte by byte.
func TestReproducible(t *testing.T) {
	a, b := makePackages(t, "1.2.3"), makePackages(t, "1.2.3")
	files, err := os.ReadDir(a)
	if err != nil || len(files) != 2*len(platforms)+1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		x, _ := os.ReadFile(filepath.Join(a, f.Name()))
		y, _ := os.ReadFile(filepath.Join(b, f.Name()))
		if len(x) == 0 || !bytes.Equal(x, y) {
			t.Errorf("%s differs between two runs", f.Name())
		}
	}
}

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3": "1.2.3", "1.2.3-alpha.1": "1.2.3a1", "1.2.3-beta.2": "1.2.3b2", "1.2.3-rc.10": "1.2.3rc10", "1.2.3-dev.0": "1.2.3.dev0",
		"v1.2.3": "", "1.2": "", "1.2.3-next": "", "1.2.3-rc": "",
	} {
		got, err := pythonVersion(version)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s is %q, %v; want %q", version, got, err, want)
		}
	}
}

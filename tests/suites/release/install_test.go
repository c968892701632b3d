//go:build installed

package release

import (
	"archive/zip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstalledVersion is TestVersion for go install, which compiles all packages of the module anew.
func TestInstalledVersion(t *testing.T) {
	dir := t.TempDir()
	copySources(t, dir)
	expect(t, install(t, dir, "v1.2.3"), "version", "v1.2.3", "unknown", "unknown")
}

// install installs a version of the module from a proxy that has it, made of the sources in a folder.
func install(t *testing.T, from, version string) string {
	t.Helper()
	proxy, bin := t.TempDir(), t.TempDir()
	at := filepath.Join(proxy, filepath.FromSlash(module), "@v", version)
	info, err := json.Marshal(map[string]string{"Version": version, "Time": date})
	if err != nil {
		t.Fatal(err)
	}
	write(t, at+".info", string(info))
	write(t, filepath.Join(filepath.Dir(at), "list"), "")
	write(t, filepath.Join(proxy, filepath.FromSlash(module), "@latest"), string(info))
	goMod, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, at+".mod", string(goMod))
	pack(t, from, at+".zip", module+"@"+version)
	// What it needs of others is in the module cache. That is not to have a made-up version of this one, so the build gets its own.
	others := strings.TrimSpace(runApart(t, from, nil, "go", "env", "GOMODCACHE"))
	runApart(t, t.TempDir(), []string{
		"GOFLAGS=-modcacherw", "GOBIN=" + bin, "GOMODCACHE=" + t.TempDir(), "GOSUMDB=off",
		"GOPROXY=file://" + filepath.ToSlash(proxy) + ",file://" + filepath.ToSlash(filepath.Join(others, "cache", "download")),
	}, "go", "install", "-trimpath", module+"/edge@"+version)
	return filepath.Join(bin, "edge")
}

// pack makes the zip of a module of the files in a folder.
func pack(t *testing.T, from, file, prefix string) {
	t.Helper()
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w := zip.NewWriter(out)
	err = walk(from, func(path, rel string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		entry, err := w.Create(prefix + "/" + rel)
		if err == nil {
			_, err = entry.Write(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

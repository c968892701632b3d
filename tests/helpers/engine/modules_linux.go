package engine

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// DownloadModules fills the machine's module cache with the modules of the repository, from the
// GOPROXY of the environment.
func DownloadModules() error {
	cmd := exec.Command("go", "mod", "download")
	cmd.Dir = "../../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod download: %w: %s", err, out)
	}
	return nil
}

// modules serves the machine's module cache to builds and returns the GOPROXY for them.
// DownloadModules fills the cache.
func (e *Engine) modules(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(e.Gateway(t), "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(filepath.Join(goEnv(t, "GOMODCACHE"), "cache", "download")))}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}

// buildCache makes builds that mount a cache at a directory use this machine's build cache there. A
// first build makes the engine create the directory, on which the machine's cache is then mounted.
// base is an image with a shell.
func (e *Engine) buildCache(t testing.TB, base, at string) {
	t.Helper()
	const mark = "the-cache-of-the-builds"
	cmd := e.Command(t.Context(), "build", "--file", "-", e.empty(t))
	cmd.Stdin = strings.NewReader(fmt.Sprintf("FROM %s\nRUN --mount=type=cache,target=%s : >%[2]s/%s\n", base, at, mark))
	if _, err := e.output(cmd); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(e.Dir, "data", "*", "*", "diff", mark))
	if err != nil || len(found) != 1 {
		t.Fatalf("the engine's cache for %s is at %v, want one folder, error %v", at, found, err)
	}
	cache := goEnv(t, "GOCACHE")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(cache, filepath.Dir(found[0]), "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
}

// empty returns an empty directory, for builds without files.
func (e *Engine) empty(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(e.Dir, "empty")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func goEnv(t testing.TB, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

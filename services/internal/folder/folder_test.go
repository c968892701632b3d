package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(await.Leaks(m)) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// guarded creates a directory, a secret file outside of it, and paths that seem to lead to the
// file.
func guarded(t *testing.T) (dir string) {
	base := t.TempDir()
	dir = filepath.Join(base, "dir")
	write(t, filepath.Join(base, "secret.txt"), "secret")
	write(t, filepath.Join(dir, "a.txt"), "A")
	write(t, filepath.Join(dir, "sub", "b.txt"), "B")
	write(t, filepath.Join(dir, ".hidden"), "hidden")
	write(t, filepath.Join(dir, ".git", "config"), "hidden")
	write(t, filepath.Join(dir, "sub", ".env"), "hidden")
	link(t, "a.txt", filepath.Join(dir, "inside.txt"))
	link(t, "../secret.txt", filepath.Join(dir, "outside.txt"))
	link(t, filepath.Join(base, "secret.txt"), filepath.Join(dir, "absolute.txt"))
	link(t, "..", filepath.Join(dir, "up"))
	link(t, "nowhere", filepath.Join(dir, "dangling"))
	link(t, "loop", filepath.Join(dir, "loop"))
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFilesStayInside(t *testing.T) {
	f, err := New(guarded(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Files()
	if want := []string{"a.txt", "inside.txt", "sub/b.txt"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Files() = %q, %v; want %q", got, err, want)
	}
	for name, want := range map[string]string{"a.txt": "A", "inside.txt": "A", "sub/b.txt": "B"} {
		if data, err := f.Read(name); err != nil || string(data) != want {
			t.Errorf("Read(%q) = %q, %v", name, data, err)
		}
	}
	for _, name := range []string{
		"", ".", "..", "../secret.txt", "sub/../../secret.txt", "/etc/passwd", "./a.txt", "sub//b.txt", "sub/", "sub",
		"outside.txt", "absolute.txt", "up/secret.txt", "dangling", "loop", "pipe", "missing",
		".hidden", ".git/config", "sub/.env", "a.txt/", "a.txt\x00", "..\\secret.txt",
	} {
		if data, err := f.Read(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Read(%q) = %q, %v; want fs.ErrNotExist", name, data, err)
		}
	}
}

func TestFlatLeavesSubdirectoriesOut(t *testing.T) {
	f, err := New(guarded(t), Options{Flat: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Files(); err != nil || !slices.Equal(got, []string{"a.txt", "inside.txt"}) {
		t.Errorf("Files() = %q, %v", got, err)
	}
}

func TestBounds(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		write(t, filepath.Join(dir, name), strings.Repeat(name, 11))
	}
	if _, err := New(dir, Options{MaxFiles: 2}); !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "more than 2") {
		t.Errorf("three files in two: %v", err)
	}
	f, err := New(dir, Options{MaxFiles: 3, MaxBytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read("a"); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "has 11 bytes, above the limit of 10") {
		t.Errorf("eleven bytes in ten: %v", err)
	}
	if _, err := New(filepath.Join(dir, "missing"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	if _, err := New(filepath.Join(dir, "a"), Options{}); err == nil {
		t.Error("a file was taken for a directory")
	}
}

func TestTypeOf(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"a.md", "", "text/markdown"},
		{"A.PNG", "", "image/png"},
		{"a.proto", "", "text/x-protobuf"},
		{"README", "hello", "text/plain"},
		{"x", "\x89PNG\r\n\x1a\n", "image/png"},
		{"x", "RIFF\x00\x00\x00\x00WAVEfmt ", "audio/wav"},
		{"x", "RIFF\x00\x00\x00\x00WEBP", "image/webp"},
		{"x", "a\x00b", "application/octet-stream"},
		{"x", "\xff\xfe", "application/octet-stream"},
	} {
		if got := TypeOf(test.name, []byte(test.data)); got != test.want {
			t.Errorf("TypeOf(%q, %q) = %q, want %q", test.name, test.data, got, test.want)
		}
	}
}

//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package audit

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// refused fails the test unless the error says that another process writes the file, with advice.
func refused(t *testing.T, path string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "{replica}") {
		t.Errorf("%v: want an error that names %s and says to use {replica}", err, path)
	}
}

func opened(t *testing.T, path, replica string) *File {
	t.Helper()
	f, err := NewFile(path, replica)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close(context.Background()) })
	return f
}

// Two writers cannot open the same file, even by different names. Once the first is closed, another
// can.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "link.jsonl")
	first := opened(t, path, "a")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		_, err := NewFile(name, "b")
		refused(t, name, err)
	}
	if err := CheckFile(path); err != nil {
		t.Errorf("mcpedge check beside a running edge: %v", err)
	}
	write(t, first, "x")
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, opened(t, link, "b"), "y")
	if got := targetsIn(t, path); got != "x y" {
		t.Error(got)
	}
}

// A file that another process writes is not changed: its incomplete last line stays.
func TestLockBeforeMending(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opened(t, path, "a")
	if err := os.WriteFile(path, []byte(`{"time":"20`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := NewFile(path, "b")
	refused(t, path, err)
	if raw, err := os.ReadFile(path); err != nil || string(raw) != `{"time":"20` {
		t.Errorf("%q, %v", raw, err)
	}
}

// After a rotation the new file is locked and the moved one is unlocked. While another writer has
// the new file, Write accepts nothing.
func TestLockAfterRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := opened(t, path, "a")
	write(t, f, "x")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	other := opened(t, path, "b")
	for range 2 {
		n, err := f.Write(t.Context(), named("y"))
		if n != 0 {
			t.Fatalf("%d were written", n)
		}
		refused(t, path, err)
	}
	if err := other.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, f, "y")
	_, err := NewFile(path, "b")
	refused(t, path, err)
	write(t, opened(t, path+".1", "b"), "z")
	if got := targetsIn(t, path+".1") + ", " + targetsIn(t, path); got != "x z, y" {
		t.Error(got)
	}
}

// If the file system has no locks, or the call was interrupted, the file is used without a lock.
func TestLockIsAdvisory(t *testing.T) {
	for _, c := range []struct {
		errs []error
		held bool
	}{
		{[]error{nil}, false},
		{[]error{syscall.ENOTSUP}, false},
		{[]error{syscall.ENOSYS}, false},
		{[]error{syscall.ENOLCK}, false},
		{[]error{syscall.EINVAL}, false},
		{[]error{syscall.EINTR, syscall.EINTR, nil}, false},
		{[]error{syscall.EINTR, syscall.EWOULDBLOCK}, true},
	} {
		n := 0
		held := lockWith(func(int, int) error { n++; return c.errs[n-1] }, 0)
		if held != c.held || n != len(c.errs) {
			t.Errorf("%v: held %v after %d calls", c.errs, held, n)
		}
	}
}

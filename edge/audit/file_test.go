package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// targetsIn returns the targets of the records in a file, and fails for a line that is not JSON.
func targetsIn(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range bytes.Lines(raw) {
		var r struct{ Target string }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		out = append(out, r.Target)
	}
	return strings.Join(out, " ")
}

func named(targets ...string) (out []Record) {
	for _, x := range targets {
		out = append(out, Record{Target: x})
	}
	return out
}

func write(t *testing.T, s Sink, targets ...string) {
	t.Helper()
	if n, err := s.Write(t.Context(), named(targets...)); err != nil || n != len(targets) {
		t.Fatalf("%d of %d records were written: %v", n, len(targets), err)
	}
}

// A file that was moved away, or removed, is created again, readable by its owner only.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f, err := NewFile(path, "r1")
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, "a", "b")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, f, "c")
	write(t, f, "d")
	if got := targetsIn(t, path+".1") + ", " + targetsIn(t, path); got != "a b, c d" {
		t.Error(got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, f, "e")
	if err := f.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if f, err = NewFile(path, "r1"); err != nil {
		t.Fatal(err)
	}
	write(t, f, "f")
	if got := targetsIn(t, path); got != "e f" {
		t.Errorf("a file that was there has %s, want e f", got)
	}
	_ = f.Close(context.Background())
}

// While the file cannot be created, Write accepts nothing. All records are written once it can.
func TestDirectoryIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "audit.jsonl")
	f, err := NewFile(path, "")
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, "a")
	if err := os.Rename(dir, dir+".1"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := f.Write(t.Context(), named("b")); n != 0 || !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%d were written: %v", n, err)
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, f, "b")
	if got := targetsIn(t, path); got != "b" {
		t.Error(got)
	}
	_ = f.Close(context.Background())
}

// A line that is incomplete because its writer was killed does not corrupt the next line.
func TestCutLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte(`{"time":"20`), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := NewFile(path, "")
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, "a")
	raw, err := os.ReadFile(path)
	lines := strings.Split(string(raw), "\n")
	if err != nil || len(lines) != 3 || !json.Valid([]byte(lines[1])) {
		t.Errorf("%v %q", err, lines)
	}
	_ = f.Close(context.Background())
}

// narrow is a stream that accepts a number of bytes, and then fails as if it were full.
type narrow struct {
	bytes.Buffer
	most int
}

var errNoRoom = errors.New("no space left on device")

func (n *narrow) Write(p []byte) (int, error) {
	if len(p) <= n.most {
		return n.Buffer.Write(p)
	}
	written, _ := n.Buffer.Write(p[:n.most])
	return written, errNoRoom
}

// A write that a full disk has interrupted is continued: each record is in the file once, as a
// whole line.
func TestFullDisk(t *testing.T) {
	for most := range 200 {
		out := &narrow{most: most + 1}
		s := NewLines(out, "r1")
		records := named("a", "b", "c")
		for len(records) > 0 {
			n, err := s.Write(t.Context(), records)
			if err != nil && !errors.Is(err, errNoRoom) {
				t.Fatal(err)
			}
			records = records[n:]
		}
		path := filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := targetsIn(t, path); got != "a b c" {
			t.Fatalf("%d bytes at a time: %s", most+1, got)
		}
	}
}

func TestCheckFile(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		there:                           "",
		filepath.Join(dir, "new"):       "",
		filepath.Join(dir, "no", "dir"): "the folder " + filepath.Join(dir, "no") + " is not there: make it",
		dir:                             "is not a regular file",
		os.DevNull:                      "is not a regular file",
	} {
		err := CheckFile(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		if f, err := NewFile(path, ""); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: NewFile says %v", path, err)
		} else if err == nil {
			_ = f.Close(context.Background())
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "no")); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was made")
	}
}

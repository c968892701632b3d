package config

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/catalog/lock"
	"github.com/mcpedge/mcpedge/edge/catalog/snapshot"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// locking returns the content of a lock with tools of the backend a, which have these descriptions.
func locking(t *testing.T, tools map[string]string) string {
	t.Helper()
	s := &snapshot.Snapshot{}
	for name, description := range tools {
		s.Definitions = append(s.Definitions, lock.Of("a", &pb.Tool{Name: name, Description: description}))
	}
	var out bytes.Buffer
	if err := s.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// inDir writes files into a new directory, and returns the name of the file of settings in it.
func inDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "edge.yaml")
}

const locked = "catalog-lock: {file: catalog.json, on-difference: block}\n"

// Settings with a lock that is missing or no lock are refused at a start, by serve and by check, with the line; the commands that make it
// do not read it.
func TestLockIsValidated(t *testing.T) {
	for name, c := range map[string]struct{ settings, lock, want string }{
		"right":               {locked, locking(t, map[string]string{"x": "X"}), ""},
		"none":                {"catalog-lock: {}\n", "-", ""},
		"without what to do":  {"catalog-lock: {file: catalog.json}\n", locking(t, nil), ""},
		"no name":             {"catalog-lock: {on-difference: warn}\n", "-", ":2: catalog-lock: file: it is missing: name a file of mcpedge catalog snapshot"},
		"another word":        {"catalog-lock: {file: catalog.json, on-difference: hide}\n", "-", `:2: catalog-lock: on-difference: "hide": use warn or block`},
		"another key":         {"catalog-lock: {file: catalog.json, mode: warn}\n", "-", "on-difference may be meant"},
		"no file":             {locked, "-", "catalog.json: no such file or directory: make the file with mcpedge catalog snapshot"},
		"an empty file":       {locked, "", "it is not a snapshot of a catalog: EOF"},
		"half a file":         {locked, locking(t, map[string]string{"x": "X"})[:40], "it is not a snapshot of a catalog"},
		"two snapshots":       {locked, locking(t, nil) + locking(t, nil), "it is not a snapshot of a catalog: other data follows it"},
		"of an older release": {locked, `{"tools":[]}`, "it has no definitions of tools, because an earlier release has written it: make a new one"},
	} {
		files := map[string]string{"edge.yaml": "backends: [{name: a, target: 'h:1'}]\n" + c.settings}
		if c.lock != "-" {
			files["catalog.json"] = c.lock
		}
		args := []string{"--config", inDir(t, files)}
		for _, command := range []string{serve, check, stdio} {
			_, err := Load(command, args, env(nil), io.Discard)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "edge.yaml")) {
				t.Errorf("%s: %s: %v, want %q", name, command, err, c.want)
			}
		}
		if cfg, err := Load("catalog snapshot", args, env(nil), io.Discard); c.lock != "-" && (err != nil || cfg.Overlay().Lock() != nil) {
			t.Errorf("%s: catalog snapshot: %v, %v", name, cfg.Overlay(), err)
		}
	}
}

// A generation has the lock as it was read: another content is another generation, one that cannot be used changes nothing, and the lock
// does not vanish with its key.
func TestLockOfGenerations(t *testing.T) {
	text := "backends: [{name: a, target: 'h:1'}]\n" + locked
	name := inDir(t, map[string]string{"edge.yaml": text, "catalog.json": locking(t, map[string]string{"x": "X"})})
	cfg, err := Load(serve, []string{"--config", name}, env(nil), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(&cfg)
	first, err := r.First()
	if err != nil {
		t.Fatal(err)
	}
	differs := func(g *Generation, description string) string {
		return strings.Join(g.Overlay.Lock().Differences("a", &pb.Tool{Name: "x", Description: description}), " ")
	}
	if got := differs(first, "X") + differs(first, "Y"); got != "texts" || !first.Overlay.Lock().Blocks() {
		t.Errorf("the first lock finds %q", got)
	}
	read := func(settings, lock string) (*Generation, Included, error) {
		if err := os.WriteFile(filepath.Join(filepath.Dir(name), "catalog.json"), []byte(lock), 0o600); err != nil {
			t.Fatal(err)
		}
		in := r.Included([]byte(settings))
		g, err := r.Read([]byte(settings), in, first)
		return g, in, err
	}
	same, in, err := read("# a comment\n"+text, locking(t, map[string]string{"x": "X"}))
	if err != nil || same.Digest != first.Digest || in.Digest() != r.TakenIncluded().Digest() {
		t.Fatalf("the same lock: %v", err)
	}
	other, in, err := read(text, locking(t, map[string]string{"x": "Y"}))
	if err != nil || other.Digest == first.Digest || other.Overlay.Equal(first.Overlay) || differs(other, "Y") != "" || in.Digest() == r.TakenIncluded().Digest() {
		t.Errorf("another lock: %v", err)
	}
	warns, _, err := read(strings.Replace(text, "block", "warn", 1), locking(t, map[string]string{"x": "X"}))
	if err != nil || warns.Digest == first.Digest || warns.Overlay.Lock().Blocks() || warns.Overlay.Equal(first.Overlay) {
		t.Errorf("a lock that warns: %v", err)
	}
	if none, _, err := read(text[:len(text)-len(locked)]+"catalog-lock: {}\n", ""); err != nil || none.Overlay.Lock() != nil {
		t.Errorf("without a lock: %v", err)
	}
	for settings, want := range map[string]string{text: "it is not a snapshot of a catalog", text[:len(text)-len(locked)]: "there is no catalog-lock any more: put it back, or write catalog-lock: {} to have none"} {
		if g, _, err := read(settings, ""); g != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v, want %q", settings, err, want)
		}
	}
	if back, err := first.Renew(); err != nil || back.Overlay.Lock() != first.Overlay.Lock() {
		t.Errorf("rolled back: %v", err)
	}
}

// Settings that were made in code, whose lock was not read, have one without definitions.
func TestUnreadLock(t *testing.T) {
	cfg := Default()
	cfg.CatalogLock = &CatalogLock{File: "catalog.json", OnDifference: LockBlock}
	if l := cfg.Overlay().Lock(); !l.Blocks() || len(l.Differences("a", &pb.Tool{Name: "x"})) == 0 {
		t.Error("an unread lock lets tools pass")
	}
}

// The file of a lock is read again if it may have changed: if another file is at its path, also behind a link as in a ConfigMap, if its size
// or time is another one, if its last change is recent, and once a minute in any case.
func TestLockIsReadAgain(t *testing.T) {
	const a, b = "first", "other" // of one size
	old := time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		// before makes the file in a directory, after changes it, with the same size.
		before, after func(dir string) error
		same          bool
	}{
		"unchanged":              {written(a, old), func(string) error { return nil }, true},
		"with its time restored": {written(a, old), written(b, old), true},
		"another time":           {written(a, old), written(b, old.Add(time.Second)), false},
		"an earlier time":        {written(a, old), written(b, old.Add(-time.Second)), false},
		"changed just now":       {written(a, time.Now()), written(b, time.Now()), false},
		"in the future":          {written(a, time.Now().Add(time.Hour)), written(b, time.Now().Add(time.Hour)), false},
		"replaced": {written(a, old), func(dir string) error {
			return errors.Join(written(b, old)(filepath.Join(dir, "next")), os.Rename(filepath.Join(dir, "next", "lock"), filepath.Join(dir, "lock")))
		}, false},
		"a ConfigMap": {
			func(dir string) error {
				return errors.Join(written(a, old)(filepath.Join(dir, "..1")), os.Symlink("..1", filepath.Join(dir, "..data")),
					os.Symlink(filepath.Join("..data", "lock"), filepath.Join(dir, "lock")))
			},
			func(dir string) error {
				return errors.Join(written(b, old)(filepath.Join(dir, "..2")), os.Symlink("..2", filepath.Join(dir, "..tmp")),
					os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")), os.RemoveAll(filepath.Join(dir, "..1")))
			}, false,
		},
	} {
		dir := t.TempDir()
		if err := c.before(dir); err != nil {
			t.Fatal(err)
		}
		var l lockReading
		if got := l.read(filepath.Join(dir, "lock")); got.Text != a {
			t.Fatalf("%s: %+v", name, got)
		}
		if err := c.after(dir); err != nil {
			t.Fatal(err)
		}
		got := l.read(filepath.Join(dir, "lock"))
		if want := map[bool]string{true: a, false: b}[c.same]; got.Text != want || got.sum != sumOf([]byte(want)) || got.Err != "" {
			t.Errorf("%s: %+v, want %q", name, got, want)
		}
		if l.at = l.at.Add(-lockAgain); name == "with its time restored" && l.read(filepath.Join(dir, "lock")).Text != b {
			t.Errorf("%s: it is not read after a minute", name)
		}
		if got := l.read(filepath.Join(dir, "gone")); got.Text != "" || got.Err == "" {
			t.Errorf("%s: another name: %+v", name, got)
		}
		if got := l.read(filepath.Join(dir, "lock")); got.Err != "" || got.Text == "" {
			t.Errorf("%s: after an error: %+v", name, got)
		}
	}
}

// written returns a function that writes a text into the file of a lock in a directory, with a time of change.
func written(text string, at time.Time) func(dir string) error {
	return func(dir string) error {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		f := filepath.Join(dir, "lock")
		return errors.Join(os.WriteFile(f, []byte(text), 0o600), os.Chtimes(f, at, at))
	}
}

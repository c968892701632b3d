package config

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		"an empty file":       {locked, "", "it is no snapshot of a catalog: EOF"},
		"half a file":         {locked, locking(t, map[string]string{"x": "X"})[:40], "it is no snapshot of a catalog"},
		"two snapshots":       {locked, locking(t, nil) + locking(t, nil), "it is no snapshot of a catalog: something follows it"},
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
	for settings, want := range map[string]string{text: "it is no snapshot of a catalog", text[:len(text)-len(locked)]: "there is no catalog-lock any more: put it back, or write catalog-lock: {} to have none"} {
		if g, _, err := read(settings, ""); g != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v, want %q", settings, err, want)
		}
	}
	if back, err := first.Again(); err != nil || back.Overlay.Lock() != first.Overlay.Lock() {
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

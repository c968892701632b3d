package config

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// audited loads settings with an audit file, whose name is written in quotation marks. It also
// returns the directory of the settings.
func audited(t *testing.T, file string, args ...string) (c Config, dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "edge.yaml")
	if err := os.WriteFile(path, []byte("log: {level: info}\naudit:\n  file: \""+file+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err = Load(serve, append([]string{"--config", path}, args...), env(nil), io.Discard)
	return c, dir, err
}

// Each replica has an audit file of its own, with one file of settings.
func TestAuditFileOfReplica(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, want string
		args       []string
	}{
		{"audit-{replica}.jsonl", "audit-a.jsonl", []string{"--replica", "a"}},
		{"audit-{replica}.jsonl", "audit-" + host + ".jsonl", nil},
		{"{replica}/{replica}.jsonl", "b:1/b:1.jsonl", []string{"--replica", "b:1"}},
		{"audit.jsonl", "audit.jsonl", []string{"--replica", "a/b"}},
	} {
		got, dir, err := audited(t, c.file, c.args...)
		if err != nil {
			t.Errorf("%s %v: %v", c.file, c.args, err)
			continue
		}
		if name := got.AuditFile(); name != filepath.Join(dir, c.want) {
			t.Errorf("%s %v is %s, want %s", c.file, c.args, name, c.want)
		}
		if reread, err := ReadFile(got.File); err != nil || len(Differences(&got, &reread)) > len(c.args)/2 {
			t.Errorf("%s %v: read again, %v differ, %v", c.file, c.args, Differences(&got, &reread), err)
		}
	}
	if c, _, err := audited(t, AuditStdout); err != nil || c.AuditFile() != AuditStdout {
		t.Errorf("%q, %v", c.AuditFile(), err)
	}
	if c := Default(); c.AuditFile() != "" {
		t.Errorf("without the setting: %q", c.AuditFile())
	}
}

// A name that cannot be created is reported with its key and line.
func TestAuditFileIsValidated(t *testing.T) {
	for _, c := range []struct{ file, want, replica string }{
		{"audit-{host}.jsonl", "edge.yaml:3: audit.file: {host} is unknown: {replica} alone is replaced, by the name of the replica", "a"},
		{"audit-{replica}-{}.jsonl", "edge.yaml:3: audit.file: {} is unknown", "a"},
		{"audit-${HOSTNAME}.jsonl", "edge.yaml:3: audit.file: {HOSTNAME} is unknown", "a"},
		{"audit-{Replica}.jsonl", "edge.yaml:3: audit.file: {Replica} is unknown", "a"},
		{"audit-{replica.jsonl", "edge.yaml:3: audit.file: {replica.jsonl is unknown", "a"},
		{"audit-replica}.jsonl", "edge.yaml:3: audit.file: } is unknown", "a"},
		{"audit-{replica}.jsonl", `edge.yaml:3: audit.file: the name of the replica, "a/b", cannot be part of the name of a file: give replica another`, "a/b"},
		{"{replica}", `edge.yaml:3: audit.file: the name of the replica, ".."`, ".."},
	} {
		if _, _, err := audited(t, c.file, "--replica", c.replica); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, replica %s: %v; want %s", c.file, c.replica, err, c.want)
		}
	}
}

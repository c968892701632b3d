package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/command"
)

// TestErrorsAreLoggedAsJSON checks an edge with log.format json that cannot start: it logs the
// error as one line of JSON with the name of the replica, and prints nothing else.
func TestErrorsAreLoggedAsJSON(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a file":    {"{log: {format: json}, server: {replica: r1, signing-key: absent}, listen: {address: '127.0.0.1:0'}, admin: {address: '127.0.0.1:0'}, demo: true}\n", "server.signing-key: "},
		"a value":   {"{log: {format: json}, server: {replica: r1}, demo: true, lists: {schemas: strict}}\n", "lists.schemas: "},
		"a backend": {"{log: {format: json}, server: {replica: r1}}\n", "there is no backend"},
		"listen":    {"{log: {format: json}, server: {replica: r1}, listen: {address: '192.0.2.1:1', allow-anonymous: true}, admin: {address: '127.0.0.1:0'}, demo: true}\n", "listen.address: "},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "edge.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		stderr, err := os.Create(filepath.Join(dir, "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		was := os.Stderr
		os.Stderr = stderr
		err = run(t.Context(), []string{"--config", file})
		os.Stderr = was
		_ = stderr.Close()
		if reported := (*command.Reported)(nil); !errors.As(err, &reported) {
			t.Errorf("%s: %v would be printed", name, err)
		}
		raw, _ := os.ReadFile(stderr.Name())
		found := 0
		for line := range strings.Lines(string(raw)) {
			var entry struct{ Level, Error, Replica string }
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Errorf("%s: %q is not JSON", name, line)
			}
			if entry.Level == "ERROR" && strings.Contains(entry.Error, c.want) && entry.Replica == "r1" {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s: %d lines say %q:\n%s", name, found, c.want, raw)
		}
	}
}

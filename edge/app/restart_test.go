package app

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// Without a part that is reread, each other mistake in the file of settings is logged once, a missing
// file too, and so is that it can be read again.
func TestMistakesWithoutPolicyAreLogged(t *testing.T) {
	var log bytes.Buffer
	file := filepath.Join(t.TempDir(), "edge.yaml")
	const good = "demo: true\n"
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(good)
	a := &App{log: slog.New(slog.NewTextHandler(&log, nil)), cfg: config.Config{File: file}}
	r := a.newRestart()
	logged := func(want string) {
		t.Helper()
		log.Reset()
		for range 4 {
			r.refresh(false)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), want) {
			t.Errorf("want one line with %q:\n%s", want, &log)
		}
	}
	write("first: 1\n")
	logged("first")
	write("second: 1\n")
	logged("second")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	logged("no such file")
	write(good)
	logged("can be read again")
}

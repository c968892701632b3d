//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// TestLifecycleIsLogged: the log says what is served from which file, which changes of that take a restart, that SIGHUP was followed, which
// ends nothing, and when the drain begins and the process has stopped.
func TestLifecycleIsLogged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edge.yaml")
	write := func(more string) {
		t.Helper()
		const base = "{listen: '127.0.0.1:0', admin: '127.0.0.1:0', demo: true, log: {format: json}, policy: {default: allow}"
		if err := os.WriteFile(file, []byte(base+more+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	lines := logged(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"--config", file}) }()
	find := func(message string) map[string]any {
		t.Helper()
		for {
			var entry map[string]any
			line := await.Receive(t, message, lines)
			if json.Unmarshal([]byte(line), &entry) == nil && entry["msg"] == message {
				return entry
			}
		}
	}

	began := find("serving")
	for key, want := range map[string]string{"config": file, "backends": "tools, resources, prompts", "endpoint": "http://127.0.0.1:", "admin": "127.0.0.1:", "version": ""} {
		if got, ok := began[key].(string); !ok || !strings.HasPrefix(got, want) {
			t.Errorf("serving: %s is %v, want %q", key, began[key], want)
		}
	}

	const waits = "the file of settings has changed: restart the edge to put these keys in force"
	write(", limits: {page-size: 7, rounds: 3}, quotas: [{per: tool, rate: 1/s}]")
	if keys := find(waits)["keys"]; keys != "limits.rounds, limits.page-size, quotas" {
		t.Errorf("keys that take a restart: %v", keys)
	}
	write("")
	find("the file of settings is again as it was at the start: nothing waits for a restart")

	write(", server: {title: Other}")
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if keys := find(waits)["keys"]; keys != "server.title" {
		t.Errorf("keys that take a restart: %v", keys)
	}
	if read := find("asked to read the settings again: the file was read"); read["config"] != file {
		t.Errorf("%v", read)
	}

	stop()
	if draining := find("draining"); draining["grace"] != 30.0 {
		t.Errorf("%v", draining)
	}
	find("stopped")
	if err := await.Receive(t, "the end", ended); err != nil {
		t.Error(err)
	}
}

// logged has the lines come that this process prints to stderr, until the test ends.
func logged(t *testing.T) <-chan string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	was := os.Stderr
	os.Stderr = w
	lines := make(chan string, 1024)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		os.Stderr = was
		_ = w.Close()
		<-read
		_ = r.Close()
	})
	return lines
}

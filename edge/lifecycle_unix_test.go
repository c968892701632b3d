//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// TestLifecycleIsLogged checks the log of an edge: the settings file that is in force at the start,
// the keys whose change takes a restart, the result of SIGHUP, the beginning of a drain, and the
// end of the process.
func TestLifecycleIsLogged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edge.yaml")
	const base = "{listen: {address: '127.0.0.1:0'}, admin: {address: '127.0.0.1:0'}, demo: true, log: {format: json}, policy: {default: allow}"
	write := func(more string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(base+more+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	log, stop := started(t, file)
	seen := 0
	// find awaits the next log line whose message is message.
	find := func(message string) (entry map[string]any) {
		t.Helper()
		await.Until(t, message, func() bool {
			for {
				line, _, whole := strings.Cut(log()[seen:], "\n")
				if !whole {
					return false
				}
				seen += len(line) + 1
				if entry = nil; json.Unmarshal([]byte(line), &entry) == nil && entry["msg"] == message {
					return true
				}
			}
		})
		return entry
	}

	began := find("serving")
	for key, want := range map[string]string{"config": file, "backends": "tools, resources, prompts", "endpoint": "http://127.0.0.1:", "admin": "127.0.0.1:", "version": ""} {
		if got, ok := began[key].(string); !ok || !strings.HasPrefix(got, want) {
			t.Errorf("serving: %s is %v, want %q", key, began[key], want)
		}
	}

	const waits, none = "a key of the file of settings has changed: restart the edge to put it in force", "no key of the file of settings waits for a restart any more"
	waiting := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			if entry := find(waits); entry["key"] != key || entry["config"] != file || entry["place"] != file+":1" {
				t.Errorf("%v waits for a restart, at %v; want %s", entry["key"], entry["place"], key)
			}
		}
	}
	write(", lists: {page-size: 7}, calls: {rounds: 3}, quotas: [{per: tool, rate: 1/s}]")
	waiting("calls.rounds", "lists.page-size", "quotas")
	write("")
	find(none)

	write(", server: {title: Other}")
	reread := func() {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	waiting("server.title")
	reread()
	if read := find("asked to read the settings again: the file was read, and these keys take a restart"); read["config"] != file || read["keys"] != "server.title" {
		t.Errorf("%v", read)
	}

	const broken, refused = "the file of settings cannot be used: what was read before stays in force", "asked to read the settings again: the file cannot be used, and what was read before stays in force"
	write(", nonsense: 1")
	find(broken)
	reread()
	if text, _ := find(refused)["error"].(string); !strings.Contains(text, "nonsense") {
		t.Error(text)
	}

	write("")
	find(none)
	reread()
	find("asked to read the settings again: the file was read and is in force")

	// A second mistake in the file is logged, too, and so is a file that can be used again.
	for _, name := range []string{"first", "second"} {
		write(", " + name + ": 1")
		if text, _ := find(broken)["error"].(string); !strings.Contains(text, name) {
			t.Errorf("%s: %s", name, text)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if text, _ := find(broken)["error"].(string); !strings.Contains(text, "no such file") {
		t.Error(text)
	}
	write(", shutdown: {delay: 7s}")
	waiting("shutdown.delay")
	const usable = "the file of settings can be used again, and is in force"
	find(usable)

	// A file that lacks its policy is refused, even if no other key differs.
	from := seen
	const policy = ", policy: {default: allow}"
	if err := os.WriteFile(file, []byte(strings.Replace(base, policy, "", 1)+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	find(broken)
	reread()
	find(refused)
	if strings.Contains(log()[from:], none) {
		t.Errorf("no key is said to wait:\n%s", log()[from:])
	}
	write("")
	find(none)
	find(usable)

	// A change that is put in force is logged with its generation.
	write(", catalog: {default: hide}")
	if other := find("changed settings are in force"); other["generation"] != 2.0 || other["changed"] != "catalog" || len(other["digest"].(string)) != 12 {
		t.Errorf("%v", other)
	}

	stop()
	if draining := find("draining"); draining["grace"] != 30.0 {
		t.Errorf("%v", draining)
	}
	find("stopped")
}

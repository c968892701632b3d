package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSourcesAreNamed: an error about a value names its source: the line of the file, the variable
// or the flag.
func TestSourcesAreNamed(t *testing.T) {
	const text = "log: {format: json}\nredis: {seal-keys: []}\nbackends:\n- {name: one, target: 'h:1'}\n"
	for _, c := range []struct {
		args []string
		env  map[string]string
		want string
	}{
		{env: map[string]string{"MCPEDGE_LOG_LEVEL": "verbose"}, want: `MCPEDGE_LOG_LEVEL: log.level: "verbose": `},
		{args: []string{"--log-level", "verbose"}, want: `--log-level: log.level: "verbose": `},
		{args: []string{"--log-level=verbose"}, env: map[string]string{"MCPEDGE_LOG_LEVEL": "info"}, want: `--log-level: log.level: "verbose": `},
		{env: map[string]string{"MCPEDGE_BACKENDS": "lab=http://h:1"}, want: `MCPEDGE_BACKENDS: backends[0]`},
		{args: []string{"--backend", "lab=http://h:1"}, want: `--backend: backends[0]`},
		{env: map[string]string{"MCPEDGE_REDIS_SEAL_KEYS": "abc"}, want: `MCPEDGE_REDIS_SEAL_KEYS: redis.seal-keys[0] is not 32 bytes in base64`},
		{env: map[string]string{"MCPEDGE_REDIS_URL": "localhost"}, want: `MCPEDGE_REDIS_URL: redis.url: `},
		{env: map[string]string{"MCPEDGE_LISTEN_PUBLIC_URL": "x"}, want: `MCPEDGE_LISTEN_PUBLIC_URL: listen.public-url: "x"`},
		{env: map[string]string{"MCPEDGE_LISTEN_TRUSTED_PROXIES": "x"}, want: `MCPEDGE_LISTEN_TRUSTED_PROXIES: listen.trusted-proxies[0]: "x"`},
		{env: map[string]string{"MCPEDGE_REDIS_LEASE": "1ms"}, want: `MCPEDGE_REDIS_LEASE: redis.lease: 1ms`},
		{env: map[string]string{"MCPEDGE_CALLS_ROUNDS": "-1"}, want: `MCPEDGE_CALLS_ROUNDS: -1`},
	} {
		for _, file := range []string{"", file(t, text)} {
			args := c.args
			if file != "" {
				args = append([]string{"--config", file}, args...)
			}
			_, err := Load(serve, args, env(c.env), io.Discard)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%q %q with the file %q: %v, want %s", c.args, c.env, file, err, c.want)
			}
		}
	}
}

// TestLocate: an error about a setting gets the place of its key, even if it names a backend
// instead.
func TestLocate(t *testing.T) {
	path := file(t, "listen: {tls: {cert: c, key: k}}\nbackends:\n- name: one\n  target: h:1\n- name: two\n  target: h:1\n  tls:\n    ca: none.pem\n")
	c, err := Load(serve, []string{"--config", path, "--replica", "r"}, env(nil), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"listen.tls.cert: none":            path + ":1: listen.tls.cert: none",
		"backends[1] two: tls.ca: none":    path + ":8: ",
		"backends.two.tls.ca: none":        path + ":8: ",
		`backend "two": target: no target`: path + ":6: ",
		`backend "two" has none`:           path + ":5: ",
		"server.replica: taken":            "--replica: server.replica: taken",
		"audit.file: none":                 "audit.file: none",
		"something else: none":             "something else: none",
	} {
		cause := errors.New(text)
		err := c.Locate(fmt.Errorf("%w", cause))
		if !errors.Is(err, cause) || !strings.HasPrefix(strings.TrimPrefix(err.Error(), "config "), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	several := errors.Join(errors.New("something else: none"), errors.Join(errors.New(`backend "two": target: no target`), errors.New("listen.tls.cert: none")))
	got := strings.ReplaceAll(c.Locate(several).Error(), path, "FILE")
	if want := "config FILE:1: listen.tls.cert: none\nconfig FILE:6: backend \"two\": target: no target\nsomething else: none"; got != want {
		t.Errorf("several errors:\n%s\nwant them in the order of the file:\n%s", got, want)
	}
	if err := c.Locate(nil); err != nil {
		t.Error(err)
	}
	if place := c.Locator()("server.replica: x"); place != "--replica" {
		t.Errorf("a note is at %q", place)
	}
}

// TestMistakesOfThePolicyAreLocated: each of several, not the first alone.
func TestMistakesOfThePolicyAreLocated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edge.yaml")
	text := "backends:\n- {name: crm, target: 'crm:443'}\npolicy:\n  default: deny\n  rules:\n  - {name: a, when: 'nothing(', then: deny}\n" +
		"  - {name: b, when: 'foo == 1', then: deny}\n  - {name: c, when: 'true', then: allow, mode: odd}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load("serve", []string{"--config", file}, func(string) (string, bool) { return "", false }, io.Discard)
	for _, want := range []string{":6: policy: rules[0] a: when: ", ":7: policy: rules[1] b: when: ", ":8: policy: rules[2] c: "} {
		if err == nil || !strings.Contains(err.Error(), "config "+file+want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
}

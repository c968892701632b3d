package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An error about a file shows no value that may be a secret, whichever line is wrong.
func TestErrorsShowNoSecrets(t *testing.T) {
	const secret = "hunter2"
	for name, text := range map[string]string{
		"an unknown key below":        "redis: {url: rediss://edge:hunter2@db:6379}\nlisen: 127.0.0.1:8080\n",
		"an unknown key above":        "lisen: 127.0.0.1:8080\nredis: {url: rediss://edge:hunter2@db:6379}\n",
		"the key itself is unknown":   "rediss: rediss://edge:hunter2@db:6379\n",
		"a password with an @":        "redis: {url: http://edge:hunter2@x@db:6379}\n",
		"a list of keys":              "redis:\n  seal-keys:\n    - hunter2\ncalls: {rounds: x}\n",
		"a list in a list":            "redis: {seal-keys: [[hunter2]]}\n",
		"a list in one line":          "redis:\n  seal-keys: [hunter2,\n    hunter2]\n",
		"a text over lines":           "redis:\n  url: >-\n    rediss://edge:\n    hunter2@db\nlisten: {sse: maybe}\n",
		"an open quote":               "redis: {url: \"rediss://edge:hunter2@db}\nlisten: {sse: true}\n",
		"a mapping instead of a text": "redis: {url: {at: rediss://edge:hunter2@db}}\n",
		"a mapping in a list of keys": "redis:\n  seal-keys:\n    a: hunter2\n",
		"a list where none may be":    "listen:\n  sse:\n    - hunter2\n",
		"a tab":                       "redis: rediss://edge:hunter2@db\n\tsse: true\n",
		"a bad target":                "backends:\n  - {name: a, target: \"https://edge:hunter2@crm.example\"}\n",
		"a bad issuer":                "listen: {public-url: https://mcp.example.com}\nauth:\n  issuers:\n    - issuer: https://edge:hunter2@id.example\n",
		"a bad public URL":            "listen: {public-url: https://edge:hunter2@mcp.example.com}\n",
		"a bad JWKS":                  "listen: {public-url: https://mcp.example.com}\nauth:\n  issuers:\n    - {issuer: https://id.example, jwks: \"https://edge:hunter2@id.example/keys?token=hunter2\"}\n",
		"a policy server":             "policy:\n  external: {target: \"https://edge:hunter2@pdp\"}\n",
	} {
		file := filepath.Join(t.TempDir(), "edge.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load("check", []string{"--config", file}, env(nil), new(strings.Builder))
		if err == nil {
			t.Errorf("%s: it is no error", name)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, args := range [][]string{{"--redis", "htp://edge:hunter2@db"}, {"--backend", "a=https://edge:hunter2@crm"}, {"--public-url", "x://edge:hunter2@y"}} {
		if _, err := Load("serve", args, env(nil), new(strings.Builder)); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"dial redis://:pass@db:6379 failed": "dial redis://***@db:6379 failed",
		"a https://u:p@h/a and b":           "a https://***@h/a and b",
		"https://h/a?token=x&b=1":           "https://h/a?token=***&b=1",
		"https://mcp.example.com/mcp":       "https://mcp.example.com/mcp",
		"redis://h?sentinel_password=x&b=1": "redis://h?sentinel_password=***&b=1",
		"mail a@b.example":                  "mail a@b.example",
	} {
		if got := Redact(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Keys that differ are named as the file names them.
func TestDifferences(t *testing.T) {
	name := filepath.Join(t.TempDir(), "edge.yaml")
	read := func(text string) *Config {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return &c
	}
	for _, x := range []struct {
		a, b string
		want []string
	}{
		{"", "", nil},
		{"", "lists: {page-size: 1000}\n", nil}, // the default
		{"listen: {address: 127.0.0.1:1}\n", "listen: {address: 127.0.0.1:2}\nlists: {page-size: 3}\ncalls: {rounds: 4}\n", []string{"listen.address", "calls.rounds", "lists.page-size"}},
		{"backends: [{name: a, target: 'a:1'}]\n", "backends: [{name: a, target: 'a:2'}]\n", []string{"backends"}},
		{"policy: {default: deny}\n", "", []string{"policy"}},
		{"policy: {default: deny}\n", "policy: {default: allow}\n", []string{"policy.default"}},
		{"listen: {tls: {cert: a, key: b}}\n", "listen: {tls: {cert: a, key: c}}\n", []string{"listen.tls.key"}},
	} {
		if got := Differences(read(x.a), read(x.b)); !slices.Equal(got, x.want) {
			t.Errorf("%q and %q: %q, want %q", x.a, x.b, got, x.want)
		}
	}
}

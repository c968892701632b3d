package config

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A value of the wrong type is reported in YAML's terms, with its line and without Go's types and
// fields.
func TestTypesAreToldInYAML(t *testing.T) {
	for text, want := range map[string]string{
		"listen: [1]":                      "[1:9] listen: it is a list where a text is wanted",
		"grace: 5":                         "c.yaml:1: grace: a duration needs its unit: 5s, 5ms or 5m rather than 5",
		"demo: maybe":                      "[1:7] demo: it is a text where true or false is wanted",
		"backends: 7":                      "[1:11] backends: it is a whole number where a list is wanted",
		"backends: [7]":                    "[1:12] backends[0]: it is a whole number where a section with keys of its own is wanted",
		"auth: 7":                          "[1:7] auth: it is a whole number where a section with keys of its own is wanted",
		"policy: {rules: [{when: [1]}]}":   "[1:25] policy.rules[0].when: it is a list where a text is wanted",
		"limits: {page-size: {a: 1}}":      "where a whole number is wanted",
		"\nadmin: {a: b}":                  "[2:",
		"backends: [{name: a, target: 5}]": "",
		"backends:\n\t- name: a":           "[2:1] the line begins with a tab: indent it with spaces",
		"backends: []\npolicy\n":           "[2:1] the line is no key with a value: write a colon after the key",
	} {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(serve, []string{"--config", path}, func(string) (string, bool) { return "", false }, io.Discard)
		if err == nil {
			if want != "" {
				t.Errorf("%s is taken", text)
			}
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		for _, word := range []string{"Go ", "interface", "Config.", "uint", "float64", "time.", "unmarshal", "struct", "mapping", "sequence"} {
			if strings.Contains(err.Error(), word) {
				t.Errorf("%s: the error has %q: %v", text, word, err)
			}
		}
	}
}

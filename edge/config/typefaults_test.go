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
		"listen: {address: [1]}":                       "c.yaml:1: listen.address: it is a list where a text is wanted",
		"shutdown: {grace: 5}":                         "c.yaml:1: shutdown.grace: a duration needs its unit: 5s, 5ms or 5m rather than 5",
		"demo: maybe":                                  "c.yaml:1: demo: it is a text where true or false is wanted",
		"backends: 7":                                  "c.yaml:1: backends: it is a whole number where a list is wanted",
		"backends: [7]":                                "c.yaml:1: backends[0]: it is a whole number where a section with keys of its own is wanted",
		"auth: 7":                                      "c.yaml:1: auth: it is a whole number where a section with keys of its own is wanted",
		"policy: {rules: [{when: [1]}]}":               "c.yaml:1: policy.rules[0].when: it is a list where a text is wanted",
		"lists: {page-size: {a: 1}}":                   "where a whole number is wanted",
		"\nroot: {a: b}":                               "c.yaml:2: root: it is",
		"backends: [{name: a, target: 5}]":             "",
		"backends: [{name: a, metadata: {zone: eu}}]":  "c.yaml:1: backends[0].metadata.zone: it is a text where a section with keys of its own is wanted: write zone: {value: …}",
		"catalog: {tools: [{arguments: {zone: eu}}]}":  "c.yaml:1: catalog.tools[0].arguments.zone: it is a text where a section with keys of its own is wanted: write zone: {value: …}",
		"catalog: {tools: [{max-result: 2000}]}":       "c.yaml:1: catalog.tools[0].max-result: it is a whole number where a section with keys of its own is wanted: write max-result: {tokens: 2000}",
		"\nsets: {apis: {inlcude: {backends: [big]}}}": `c.yaml:2: unknown field "inlcude": include, under sets.apis, may be meant`,
		"backends:\n\t- name: a":                       "c.yaml:2: the line begins with a tab: indent it with spaces",
		"backends: []\npolicy\n":                       "c.yaml:2: the line has no value for a key: write a colon after the key",
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
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error has several lines: %v", text, err)
		}
		for _, word := range []string{"Go ", "interface", "Config.", "uint", "float64", "time.", "unmarshal", "struct", "mapping", "sequence"} {
			if strings.Contains(err.Error(), word) {
				t.Errorf("%s: the error has %q: %v", text, word, err)
			}
		}
	}
}

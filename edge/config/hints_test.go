package config

import (
	"flag"
	"io"
	"strings"
	"testing"
)

// Every flag whose name is not a key of the file is reported with the key that it sets.
func TestFlagsAsKeys(t *testing.T) {
	var c Config
	keys := map[string]bool{}
	for _, p := range places() {
		keys[p.key] = true
	}
	flags(serve, &c, new(string)).VisitAll(func(f *flag.Flag) {
		path, found := flagPaths()[f.Name]
		if !found && f.Name != "config" {
			t.Errorf("--%s sets no key of the file", f.Name)
		}
		if !found || keys[f.Name] && renamed[f.Name] == "" {
			return
		}
		_, err := Load(serve, []string{"--config", file(t, f.Name+": x\n")}, env(nil), io.Discard)
		if key := path[strings.LastIndexByte(path, '.')+1:]; err == nil || !strings.Contains(err.Error(), "{"+key+": …}") && !strings.Contains(err.Error(), f.Name+" is now "+path) {
			t.Errorf("%s, of %s: %v", f.Name, path, err)
		}
	})
}

// One mistake does not hide another: all unknown keys are reported, beside invalid values.
func TestUnknownKeysAreAllTold(t *testing.T) {
	const log, needs = `edge.yaml:3: unknown field "log-level": log-level is a flag`, `unknown field "needs"`
	for text, want := range map[string][]string{
		"grase: 1s\nlisten: {sse: true}\nlog-level: debug\npolicy:\n  scopes: [{needs: [a]}]\n":            {`edge.yaml:1: unknown field "grase": grace, under shutdown`, log, needs},
		"shutdown: {grace: 1}\nlisten: {sse: true}\nlog-level: debug\npolicy:\n  scopes: [{needs: [a]}]\n": {"edge.yaml:1: shutdown.grace: a duration needs its unit", log, "edge.yaml:5: " + needs + ": need, under policy.scopes, may be meant"},
	} {
		_, err := Load(serve, []string{"--config", file(t, text)}, env(nil), io.Discard)
		for _, w := range want {
			if err == nil || strings.Count(err.Error(), w) != 1 {
				t.Errorf("%q: %v\nwant %s", text, err, w)
			}
		}
	}
}

// A hint about quotation marks is given if they make the text readable, and reveals no secret.
func TestQuotationMarks(t *testing.T) {
	for text, want := range map[string]bool{
		"shutdown: {grace: [1s}\nlisten: {hosts: [a:b]}\n":   false,
		"listen: {hosts: [a:b}\n":                            false,
		"server: {name: 'a}\n":                               false,
		"policy: {hierarchy: {a:b: [c], d:e: [f]}}\n":        true,
		"redis: {redis://:sesame@h:1: [a]}\n":                true,
		"server: {title: a} # a:b: c\n  name: d\n":           false,
		"policy: {hierarchy: {\"a:b\": [c], d:e: [f]}}\n":    true,
		"policy: {hierarchy: {a:b: [c]}, default: \"deny}\n": false,
	} {
		_, err := Load(serve, []string{"--config", file(t, text)}, env(nil), io.Discard)
		if err == nil || strings.Contains(err.Error(), "needs quotation marks") != want || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q: %v, want a hint: %v", text, err, want)
		}
	}
	_, err := ParseAPIKeys([]byte("- {name: ci, scopes: {mcp:read: [a]}}\n"))
	if err == nil || !strings.HasSuffix(err.Error(), "a text with a colon needs quotation marks here") {
		t.Errorf("a key: %v", err)
	}
	_, err = Load(serve, []string{"--config", file(t, "policy:\n  hierarchy: {\n    sesame:open: [a]}\n")}, env(nil), io.Discard)
	if err == nil || !strings.HasSuffix(err.Error(), "a text with a colon needs quotation marks here") {
		t.Errorf("a line that is not shown: %v", err)
	}
}

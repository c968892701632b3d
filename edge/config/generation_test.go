package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// started returns the reader of an edge that starts with a file, the generation of the start, and
// the file's name.
func started(t *testing.T, text string, args ...string) (*Reader, *Generation, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "edge.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(serve, append([]string{"--config", file}, args...), func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(&cfg)
	first, err := r.First()
	if err != nil {
		t.Fatal(err)
	}
	if string(r.Taken()) != text {
		t.Errorf("the file at the start is %q", r.Taken())
	}
	return r, first, file
}

// namesOf returns the names of the backends of a generation.
func namesOf(g *Generation) (names []string) {
	for _, b := range g.Config.Backends {
		names = append(names, b.Name)
	}
	return names
}

const (
	two    = "backends: [{name: a, target: 'h:1'}, {name: b, target: 'h:2'}]\n"
	hiding = "catalog: {tools: [{backend: a, tool: x, hide: true}]}\n"
	rules  = "policy: {default: allow}\n"
	rates  = "quotas: [{per: tool, rate: 1/h}]\n"
)

// A generation has all its parts as the file has them, and those that the file does not govern as
// at the start.
func TestGenerationIsRead(t *testing.T) {
	r, first, _ := started(t, two+hiding+rules+rates)
	again, err := r.Read([]byte("# a comment\n"+two+hiding+rules+rates), nil, first)
	if err != nil || again.Digest != first.Digest || len(again.Waiting) > 0 {
		t.Fatalf("the same settings: %+v, %v, want the digest %s", again, err, first.Digest)
	}
	next, err := r.Read([]byte(`
backends: [{name: c, target: 'h:3'}, {name: a, target: 'h:9', timeout: 3s}]
catalog: {default: hide}
policy: {default: deny}
quotas: [{per: principal, rate: 5/s}, {per: tool, rate: 1/h}]
`), nil, first)
	if err != nil {
		t.Fatal(err)
	}
	if got := namesOf(next); !slices.Equal(got, []string{"c", "a"}) {
		t.Errorf("the backends are %q", got)
	}
	if next.Digest == first.Digest || next.Policy.ID() == first.Policy.ID() || next.Overlay.Equal(first.Overlay) || len(next.Quotas) != 2 {
		t.Errorf("a part is as it was: %+v", next)
	}
	was, is := &first.Config.Backends[0], &next.Config.Backends[1]
	if was.Revision(&first.Config) == is.Revision(&next.Config) {
		t.Error("a changed backend has the revision that it had")
	}
	if back, err := r.Read([]byte(two+hiding+rules+rates), nil, next); err != nil || back.Digest != first.Digest {
		t.Errorf("the settings of the start: %v", err)
	}
}

// Every replica has the same digest, wherever its files are; another content of a referenced file
// makes no other generation, another name does.
func TestDigestOfReplicas(t *testing.T) {
	text := func(ca string) string {
		return "backends: [{name: a, target: 'h:1', tls: {ca: " + ca + "}, metadata: {x-b: {value: '1'}, x-a: {value: '2'}}}]\n" +
			"catalog: {tools: [{backend: a, tool: x, arguments: {n: {value: {k: [1, true]}}}}]}\n"
	}
	_, one, _ := started(t, text("ca.crt"))
	_, two, _ := started(t, text("./ca.crt"))
	_, other, _ := started(t, text("other.crt"))
	if one.Digest != two.Digest || one.Digest == other.Digest {
		t.Errorf("the digests are %s, %s and, with another file, %s", one.Digest, two.Digest, other.Digest)
	}
}

// No part of a file is used that an edge could not start with, or in which a part is missing: it
// may be half written.
func TestGenerationOrNothing(t *testing.T) {
	whole := two + hiding + rules + rates
	r, first, file := started(t, whole)
	for text, want := range map[string]string{
		"":                     "there are no backends any more: put them back, or write backends: []",
		two + hiding + rates:   "there is no policy any more",
		two + hiding + rules:   "there are no quotas any more",
		two + rules + rates:    "there is no catalog any more: put it back, or write catalog: {}",
		hiding + rules + rates: "there are no backends any more",
		"backends: []\ncatalog: {}\n" + rules + rates:                                     "there is no backend: name some",
		two + hiding + rules + "quotas: []\n":                                             "there are no quotas any more",
		two + hiding + rules + "quotas: [{per: none, rate: 1/h}]\n":                       file + ":4: quotas[0]",
		two + hiding + rates + "policy: {default: hidden}\n":                              file + ":4: policy: default",
		two + rules + rates + "catalog: {tools: [{backend: c, tool: x}]}\n":               file + `:4: catalog.tools[0]: backend: "c" is not a backend`,
		hiding + rules + rates + "backends: [{name: a, target: 'http://h'}]\n":            file + ":4: backends[0] a: target",
		hiding + rules + rates + "backends: [{name: a}, {name: a}]\n":                     "used twice",
		hiding + rules + rates + "backends: [{name: a, target: 'h:1', identity: signed}]": "server.signing-key",
		whole + "redis: {lease: 1ms}\n":                                                   file + ":5: redis.lease",
		whole + "nonsense: 1\n":                                                           "nonsense",
		whole[:len(whole)-3]:                                                              file,
		"backends: [\n":                                                                   file,
	} {
		if g, err := r.Read([]byte(text), nil, first); g != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What a running edge cannot use before a restart is refused with all that belongs to it.
func TestGenerationThatNeedsARestart(t *testing.T) {
	r, first, file := started(t, two)
	_, err := r.Read([]byte("server: {signing-key: key.pem}\nbackends: [{name: a, target: 'h:1', identity: signed}]\n"), nil, first)
	if err == nil || !strings.HasPrefix(err.Error(), "restart the edge to use this file") || !strings.Contains(err.Error(), file+":2: backends[0] a: identity") {
		t.Error(err)
	}
}

// Keys that take a restart are named with their lines, and keep nothing else from being used.
func TestKeysThatWait(t *testing.T) {
	r, first, file := started(t, two+"shutdown: {grace: 20s}\n", "--log-level", "warn")
	g, err := r.Read([]byte("backends: [{name: a, target: 'h:1'}]\n"+hiding+rules+rates+"calls: {rounds: 3}\nlog: {level: error}\n"), nil, first)
	if err != nil {
		t.Fatal(err)
	}
	want := []Waiting{{"calls.rounds", file + ":5"}, {"shutdown.grace", ""}, {"quotas", file + ":4"}, {"policy", file + ":3"}}
	if !slices.Equal(g.Waiting, want) {
		t.Errorf("%v wait, want %v", g.Waiting, want)
	}
	if g.Policy != nil || len(g.Quotas) > 0 || g.Overlay == nil || len(g.Config.Backends) != 1 || g.Config.Shutdown.Grace != first.Config.Shutdown.Grace || g.Config.Calls.Rounds != first.Config.Calls.Rounds {
		t.Errorf("%+v", g)
	}
}

// Backends that are not in the file stay, after those of the file: flags name them, or the process
// has started them. An empty list is written so.
func TestBackendsBesideTheFile(t *testing.T) {
	r, first, _ := started(t, two, "--backend", "flag=h:7")
	if got := namesOf(first); !slices.Equal(got, []string{"flag"}) {
		t.Fatalf("at the start there are %q", got)
	}
	if g, err := r.Read([]byte("backends: [{name: c, target: 'h:3'}]\n"), nil, first); err != nil || g.Digest != first.Digest || !slices.Equal(namesOf(g), []string{"flag"}) {
		t.Errorf("a flag wins over the file: %v", err)
	}

	cfg := first.Config
	cfg.origins = nil
	cfg.Backends = []Backend{{Name: "started", Target: "h:8"}}
	cfg.File = filepath.Join(t.TempDir(), "edge.yaml")
	if err := os.WriteFile(cfg.File, []byte(two), 0o600); err != nil {
		t.Fatal(err)
	}
	r = NewReader(&cfg)
	first, err := r.First()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{two: {"a", "b", "started"}, "backends: []\n": {"started"}} {
		g, err := r.Read([]byte(text), nil, first)
		if err != nil || !slices.Equal(namesOf(g), want) {
			t.Errorf("%q: %+v, %v, want %q", text, g, err, want)
		}
	}
}

// The errors of a reading have no passwords of URLs.
func TestErrorsOfReadingsAreRedacted(t *testing.T) {
	r, first, _ := started(t, two)
	_, err := r.Read([]byte(two+"redis: {url: redis://user:hunter2@h:1:2/x}\n"), nil, first)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

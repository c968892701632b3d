package config

import (
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// formerSettings are the keys, or the flags, of the version before the sections.
func formerSettings(t *testing.T, kind string) (out []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/former.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), kind+" "); is {
			out = append(out, name)
		}
	}
	if len(out) < 80 {
		t.Fatalf("the list has %d", len(out))
	}
	return out
}

// Each former key is a key of today, or an error with its line that names the key of today or the
// constant.
func TestFormerKeys(t *testing.T) {
	for _, key := range formerSettings(t, "key") {
		above, name, nested := strings.Cut(key, ".")
		text := "demo: true\n" + key + ": 7\n"
		if nested {
			text = "demo: true\n" + above + ":\n  " + name + ": 7\n"
		}
		now, constant := renamed[key], fixedKeys[key]
		want := now
		switch {
		case now != "" || constant == "":
		case key == "limits":
			want = "limits is no longer a section"
		default:
			want = "it is always " + constant
		}
		if want == "" {
			if !slices.ContainsFunc(places(), func(p place) bool { return strings.TrimPrefix(p.under+"."+p.key, ".") == key }) {
				t.Errorf("%s is neither a key nor a former one", key)
			}
			continue
		}
		if strings.HasPrefix(key, "backends.") || strings.Count(key, ".") > 1 {
			if got := replacementOf(key); !strings.Contains(got, want) {
				t.Errorf("%s: %q", key, got)
			}
			continue
		}
		_, err := ReadFile(file(t, text))
		line := ":2: "
		if nested {
			line = ":3: "
		}
		if err == nil || !strings.Contains(err.Error(), line) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s and %s", key, err, line, want)
		}
	}
}

// What has moved leads to a setting of today, and what has not is in no table.
func TestFormerTables(t *testing.T) {
	keys := map[string]bool{}
	for _, p := range places() {
		keys[strings.TrimPrefix(p.under+"."+p.key, ".")] = true
	}
	for was, now := range renamed {
		if !keys[now] {
			t.Errorf("%s is now %s, which is no key", was, now)
		}
		if _, isSection := sections[was]; keys[was] && !isSection {
			t.Errorf("%s is a key of today", was)
		}
	}
	for was := range fixedKeys {
		if keys[was] {
			t.Errorf("%s is a key of today", was)
		}
	}
	former := formerSettings(t, "key")
	for _, was := range slices.Concat(slices.Sorted(maps.Keys(renamed)), slices.Sorted(maps.Keys(fixedKeys))) {
		if !slices.Contains(former, was) {
			t.Errorf("%s was no key", was)
		}
	}
}

// formerTable matches the table of former keys in the changelog.
var formerTable = regexp.MustCompile(`<!-- former keys -->\n((?:\|.*\n)*)`)

// The table of the changelog is made from the tables of this package.
func TestFormerKeysAreInTheChangelog(t *testing.T) {
	const name = "../../CHANGELOG.md"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := "| before | now |\n|---|---|\n"
	for _, was := range slices.Sorted(maps.Keys(renamed)) {
		want += fmt.Sprintf("| `%s` | `%s`%s |\n", was, renamed[was], currentValue(renamed[was]))
	}
	for _, was := range slices.Sorted(maps.Keys(fixedKeys)) {
		if was != "limits" { // a section
			want += fmt.Sprintf("| `%s` | no setting: it is always %s |\n", was, fixedKeys[was])
		}
	}
	found := formerTable.FindStringSubmatch(string(page))
	switch {
	case found == nil:
		t.Fatal("CHANGELOG.md has no table <!-- former keys -->")
	case found[1] == want:
	case *update:
		text := formerTable.ReplaceAllLiteralString(string(page), "<!-- former keys -->\n"+want)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("the table of former keys in CHANGELOG.md is not that of edge/config: go test ./edge/config -run FormerKeys -update writes it")
	}
}

// A section with the name of a former key is read as a section.
func TestSectionsOfFormerNames(t *testing.T) {
	c, err := ReadFile(file(t, "listen: {address: 127.0.0.1:1}\nadmin: {address: 127.0.0.1:2}\nredis: {prefix: a}\nsessions: {required: false}\n"))
	if err != nil || c.Listen.Address != "127.0.0.1:1" || c.Admin.Address != "127.0.0.1:2" || c.Redis.Prefix != "a" || c.Sessions.Required {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{
		"redis: &r {url: 'redis://h:1'}\n", "redis: &r\n  url: redis://h:1\n", "redis:\n  <<: &r {url: 'redis://h:1'}\n",
	} {
		if c, err = ReadFile(file(t, text)); err != nil || c.Redis.URL != "redis://h:1" {
			t.Errorf("%s: %q, %v", text, c.Redis.URL, err)
		}
	}
	for text, want := range map[string]string{
		"limits: &l {rounds: 3}\n":              ":1: limits.rounds is now calls.rounds",
		"tls: !!map {cert: a}\n":                ":1: tls.cert is now listen.tls.cert",
		"redis: &r redis://h:1\n":               ":1: redis is now redis.url",
		"server: {name: &r a}\nhosts: *r\n":     ":2: hosts is now listen.hosts",
		"server: &r {name: a}\nadmin-tls: *r\n": ":2: admin-tls is now admin.tls",
	} {
		if c, err = ReadFile(file(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", text, c.Redis, err, want)
		}
	}
	_, err = ReadFile(file(t, "backends:\n- {name: a, target: 'h:1', resolve: 1s}\nkubernetes:\n  backends:\n  - {name: a/b, max-stream-messages: 3}\n"))
	if err == nil || !strings.Contains(err.Error(), ":2: backends.resolve is no longer a setting: it is always 10s") ||
		!strings.Contains(err.Error(), ":5: kubernetes.backends.max-stream-messages is no longer a setting") {
		t.Error(err)
	}
}

// Each former flag is a flag of today, or an error that names the key and its variable; each former
// variable is one of today, or an error that names its successor.
func TestFormerFlagsAndVariables(t *testing.T) {
	known := variables()
	for _, name := range formerSettings(t, "flag") {
		if name == "config" || name == "set" {
			continue
		}
		key, constant := keyOfFormerFlag(name)
		if key == "" && constant == "" {
			t.Errorf("--%s has no successor", name)
			continue
		}
		if keyOfFlag(name) == "" {
			_, err := Load(serve, []string{"--" + name + "=1"}, env(nil), io.Discard)
			if err == nil || !strings.Contains(err.Error(), "--"+name+" is no ") || !strings.Contains(err.Error(), key+constant) || key != "" && !strings.Contains(err.Error(), Variable(key)) {
				t.Errorf("--%s: %v", name, err)
			}
		}
		if known[Variable(name)] {
			if Variable(key) != Variable(name) {
				t.Errorf("%s was %s, and is %s now", Variable(name), name, key)
			}
			continue
		}
		_, err := Load(serve, nil, env(map[string]string{Variable(name): "1"}), io.Discard)
		if err == nil || !strings.Contains(err.Error(), Variable(name)+" is ") || key != "" && !strings.HasSuffix(err.Error(), " is now "+Variable(key)+currentValue(key)) {
			t.Errorf("%s: %v", Variable(name), err)
		}
	}
}

// Each setting has a variable of its own, which sets it.
func TestVariables(t *testing.T) {
	taken := map[string]string{}
	for _, s := range settings() {
		name := Variable(s.key)
		if other := taken[name]; other != "" {
			t.Errorf("%s and %s have the variable %s", other, s.key, name)
		}
		taken[name] = s.key
	}
	c, err := Load(check, nil, env(map[string]string{
		"MCPEDGE_CALLS_STREAM_AFTER": "250ms", "MCPEDGE_LISTEN_HOSTS": "a, b", "MCPEDGE_AUDIT_FILE": "audit.jsonl", "MCPEDGE_AUTH_API_KEYS": "k",
		"MCPEDGE_BACKENDS": "x=h:1,y=h:2", "MCPEDGE_LISTEN_SSE": "false", "MCPEDGE_LISTEN_BODY": "1MiB", "MCPEDGE_KUBERNETES_PREFIX": "p_",
	}), io.Discard)
	if err != nil || c.Calls.StreamAfter.Milliseconds() != 250 || !slices.Equal(c.Listen.Hosts, []string{"a", "b"}) || c.Audit.File != "audit.jsonl" || c.Auth.APIKeys != "k" ||
		!reflect.DeepEqual(c.Backends[1], Backend{Name: "y", Target: "h:2"}) || c.Listen.SSE || c.Listen.Body != 1<<20 || *c.Kubernetes.Prefix != "p_" {
		t.Errorf("%+v, %v", c, err)
	}
}

// Keys of the file that are written as paths, or that are no settings any more in a section of today, have advice that can be followed; so have
// values of variables.
func TestAdviceCanBeFollowed(t *testing.T) {
	for text, want := range map[string]string{
		"tasks.ttl: 5m\n":              "write tasks: {ttl: …} in the file",
		"redis.url: redis://a\n":       "write redis: {url: …} in the file",
		"listen: {tls.cert: a}\n":      "write tls: {cert: …} in the file",
		"limits.task-ttl: 5m\n":        "limits.task-ttl is now tasks.ttl",
		"listen: {http2-streams: 1}\n": "http2-streams is no longer a setting: it is always 1000; take it out",
		"redis: {state-keys: [a]}\n":   "state-keys is now redis.seal-keys: write redis: {seal-keys: …} in the file",
		"streams: {log-ttl: 1m}\n":     "log-ttl is now streams.ttl: write streams: {ttl: …} in the file",
	} {
		_, err := Load(serve, []string{"--config", file(t, text)}, env(nil), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for name, c := range map[string]struct{ value, want string }{
		"MCPEDGE_SESSIONS":      {"optional", "is now MCPEDGE_SESSIONS_REQUIRED: write true for required, and false for optional"},
		"MCPEDGE_LISTEN_SSE":    {"yes", `"yes" is neither true nor false`},
		"MCPEDGE_CLIENTS_TASKS": {"1e3", `"1e3" is not a whole number`},
	} {
		_, err := Load(serve, nil, env(map[string]string{name: c.value}), io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, want %s", name, c.value, err, c.want)
		}
	}
	_, err := Load(serve, []string{"--tls", "x"}, env(nil), io.Discard)
	if err == nil || strings.Contains(err.Error(), "MCPEDGE_LISTEN_TLS in the environment") {
		t.Errorf("--tls: %v", err)
	}
}

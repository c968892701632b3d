package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/internal/pattern"
)

// A key of a discovered backend has the value of the first entry that matches and sets it, and last
// that of kubernetes itself. What the Service requests is no more than its kind.
func TestDiscoveredBackends(t *testing.T) {
	r, first, _ := started(t, `
server: {signing-key: `+signingKey(t)+`}
kubernetes:
  namespaces: [payments, tools]
  reflect: true
  metadata: {x-env: {value: test}}
  forward-headers: [x-request-id]
  backends:
    - {name: payments/audit-*, timeout: 5s, claims: []}
    - {name: payments/*, identity: signed, claims: [tenant], timeout: 30s, exclude: ["*/Delete*"], prefix: "pay_{service}_", uris: ["pay://"]}
    - {name: "*/*", timeout: 10s, max-concurrent: 7, metadata: {x-a: {value: a}}}
`)
	_ = r
	c := &first.Config
	audit, err := c.Discovered("payments/audit-log", KindReflect)
	if err != nil {
		t.Fatal(err)
	}
	if audit.Timeout != 5*time.Second || audit.Claims == nil || len(audit.Claims) > 0 || audit.Identity != IdentitySigned || audit.Prefix != "pay_audit-log_" ||
		audit.MaxConcurrent != 7 || len(audit.Metadata) != 1 || audit.Metadata["x-a"].Value != "a" || len(audit.ForwardHeaders) != 1 || audit.Name != "payments/audit-log" {
		t.Errorf("%+v", audit)
	}
	if other, err := c.Discovered("tools/calc", KindContract); err != nil || other.Timeout != 10*time.Second || other.Identity != "" || other.Prefix != "tools_" || len(other.URIs) > 0 {
		t.Errorf("%+v, %v", other, err)
	}
	if _, err := c.Discovered("payments/ledger", KindContract); err == nil || !strings.Contains(err.Error(), "include and exclude are for kind: reflect") {
		t.Errorf("methods of a service of the contract are excluded: %v", err)
	}
	if got := c.ForwardedClaims(); !slices.Contains(got, "tenant") {
		t.Errorf("principals keep %q", got)
	}
}

// What belongs to the kind or the identity of a wider entry does not apply where a narrower one sets another.
func TestNarrowEntriesReplaceKindsAndIdentities(t *testing.T) {
	secret := file(t, "secret")
	_, first, _ := started(t, `
listen: {public-url: https://edge.example.com}
auth: {issuers: [{issuer: "https://idp.example.com", exchange: {client-id: edge, client-secret-file: `+secret+`}}]}
kubernetes:
  backends:
    - {name: a/b, identity: principal}
    - {name: a/c, kind: contract}
    - {name: "*/*", identity: exchange, exchange: {audience: all}, kind: reflect, exclude: ["*/Delete*"]}
`)
	b, err := first.Config.Discovered("a/b", KindContract)
	if err != nil || b.Identity != IdentityPrincipal || b.Exchange != nil {
		t.Errorf("another identity: %+v, %v", b, err)
	}
	c, err := first.Config.Discovered("a/c", KindReflect)
	if err != nil || c.Kind != KindContract || c.Exchange == nil || len(c.Exclude) > 0 {
		t.Errorf("another kind: %+v, %v", c, err)
	}
	if d, err := first.Config.Discovered("a/d", KindReflect); err != nil || d.Exchange == nil || len(d.Exclude) != 1 {
		t.Errorf("neither: %+v, %v", d, err)
	}
}

// The kind of an entry replaces the one that a Service requests.
func TestKindOfDiscoveredBackends(t *testing.T) {
	_, first, _ := started(t, "kubernetes: {backends: [{name: a/*, kind: reflect}, {name: b/*, kind: contract}]}\n")
	for name, want := range map[string]string{"a/x": KindReflect, "b/x": KindContract} {
		for _, requested := range []string{KindContract, KindReflect} {
			if b, err := first.Config.Discovered(name, requested); err != nil || b.Kind != want {
				t.Errorf("%s, which requests %s: %+v, %v", name, requested, b, err)
			}
		}
	}
	if _, err := first.Config.Discovered("c/x", KindReflect); err == nil || !strings.Contains(err.Error(), "set kubernetes.reflect") {
		t.Errorf("reflect without a grant: %v", err)
	}
}

// Entries change without a restart, and other keys of kubernetes do not. A section that is gone changes
// nothing.
func TestServicesAreRead(t *testing.T) {
	r, first, _ := started(t, "kubernetes: {backends: [{name: a/*, timeout: 3s}]}\n")
	next, err := r.Read([]byte("kubernetes: {prefix: '', backends: [{name: a/*, timeout: 4s}]}\n"), nil, first)
	if err != nil {
		t.Fatal(err)
	}
	if next.Digest == first.Digest || next.Config.Kubernetes.Backends[0].Timeout != 4*time.Second || next.Config.Kubernetes.Prefix != nil {
		t.Errorf("%+v", next.Config.Kubernetes)
	}
	if len(next.Waiting) != 1 || next.Waiting[0].Key != "kubernetes.prefix" {
		t.Errorf("%+v wait for a restart", next.Waiting)
	}
	for _, text := range []string{"kubernetes: {}\n", "demo: true\n"} {
		if _, err := r.Read([]byte(text), nil, next); err == nil || !strings.Contains(err.Error(), "there is no kubernetes.backends any more: put it back, or write backends: [] under kubernetes") {
			t.Errorf("%q: %v", text, err)
		}
	}
	none, err := r.Read([]byte("kubernetes: {backends: []}\n"), nil, next)
	if err != nil || len(none.Config.Kubernetes.Backends) > 0 {
		t.Errorf("%+v, %v", none, err)
	}
}

// An entry for a namespace that is not watched is noted, and so are credentials without TLS.
func TestNotesOnServices(t *testing.T) {
	_, first, _ := started(t, `
server: {signing-key: `+signingKey(t)+`}
kubernetes:
  namespaces: [team-a]
  backends: [{name: "team-*/*", identity: signed}, {name: other/*, timeout: 3s}]
`)
	if got := first.Config.Ineffective(); len(got) != 1 || !strings.HasPrefix(got[0], "kubernetes.backends[1] other/*: name: it matches no Service") {
		t.Errorf("%q", got)
	}
	if got := first.Config.Exposed(); len(got) != 1 || !strings.HasPrefix(got[0], "kubernetes.backends[0] team-*/*: identity: signed") {
		t.Errorf("%q", got)
	}
}

// TLS of a wider entry applies to an entry that sends credentials.
func TestTLSOfWiderEntries(t *testing.T) {
	for entries, exposed := range map[string]bool{
		`{name: a/*, identity: signed}, {name: "*/*", tls: {}}`:     false,
		`{name: a/b-*, identity: signed}, {name: a/b*, tls: {}}`:    false,
		`{name: "a/*", identity: signed}, {name: a/b, tls: {}}`:     true,
		`{name: a/*-b, identity: signed}, {name: a/c*, tls: {}}`:    true,
		`{name: "*/*", tls: {}}, {name: a/b, identity: signed}`:     false,
		`{name: a/b, tls: {}}, {name: a/*, identity: signed}`:       true,
		`{name: a/*, identity: signed}, {name: "*/*", timeout: 3s}`: true,
		`{name: "*/a", identity: signed}, {name: "x*/*", tls: {}}`:  true,
	} {
		_, first, _ := started(t, "server: {signing-key: "+signingKey(t)+"}\nkubernetes: {backends: ["+entries+"]}\n")
		if got := first.Config.Exposed(); (len(got) > 0) != exposed {
			t.Errorf("%s: %q", entries, got)
		}
	}
}

// signingKey returns the name of a file for server.signing-key.
func signingKey(t *testing.T) string {
	t.Helper()
	return file(t, "")
}

// The settings of a Service cost no more memory with more entries that do not match, and there is a bound of entries, because they are
// compared with each other.
func TestManyEntriesOfServices(t *testing.T) {
	entries := func(n int) (out []Backend) {
		for i := range n {
			out = append(out, Backend{Name: fmt.Sprintf("a-%d-*/*-b", i), Timeout: time.Second})
		}
		return out
	}
	allocated := func(n int) float64 {
		k := &Kubernetes{Backends: entries(n)}
		return testing.AllocsPerRun(100, func() {
			if b := k.settingsOf("a-7-x/y-b"); b.Timeout != time.Second {
				t.Error("an entry does not match")
			}
		})
	}
	if few, many := allocated(10), allocated(1000); few != many {
		t.Errorf("%v allocations with 10 entries, %v with 1,000", few, many)
	}
	for n, want := range map[int]string{1000: "", 1001: "kubernetes.backends: there are 1001 entries: have at most 1000, with patterns for several Services"} {
		c := Default()
		c.Kubernetes = &Kubernetes{Backends: entries(n)}
		if err := errors.Join(c.validateServices()...); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d entries: %v", n, err)
		}
	}
}

// The names of entries match as those of other settings do.
func TestNamesOfEntriesMatch(t *testing.T) {
	for _, text := range []string{"a/b", "*/*", "a*/*b", "*a*/b", "a-*-c/*"} {
		for _, name := range []string{"a/b", "aa/bb", "a/c", "a-b-c/d", "a/b/c", "xax/b", "a/xbxc", "a"} {
			if got, want := matchesService(text, name), pattern.New(text).Match(name); got != want {
				t.Errorf("%q matches %q: %t", text, name, got)
			}
		}
	}
}

// What an entry sets is noted if an earlier entry sets it for all of its Services, and an empty prefix is refused with what to do instead.
func TestOverriddenEntries(t *testing.T) {
	_, first, _ := started(t, `
kubernetes:
  backends:
    - {name: pay/*, timeout: 3s, prefix: pay_}
    - {name: pay/api, timeout: 4s, prefix: api_}
    - {name: pay/old-*, timeout: 5s, schemas: full}
    - {name: "*/api", timeout: 6s}
`)
	got := first.Config.Ineffective()
	want := []string{"kubernetes.backends[1] pay/api: prefix, timeout: it has no effect: kubernetes.backends[0] pay/* comes first", "kubernetes.backends[2] pay/old-*: timeout: it has no effect"}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
	file := filepath.Join(t.TempDir(), "edge.yaml")
	if err := os.WriteFile(file, []byte("kubernetes: {backends: [{name: a/b, prefix: ''}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load("mcpedge", []string{"--config", file}, func(string) (string, bool) { return "", false }, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "name it among backends") {
		t.Errorf("an empty prefix: %v", err)
	}
}

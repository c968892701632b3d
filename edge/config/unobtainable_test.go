package config

import (
	"slices"
	"strings"
	"testing"
)

// Settings that require an authenticated caller are noted if there is no authentication.
func TestUnobtainable(t *testing.T) {
	const scopes, rules = "policy: scopes[0]: need: there is no auth, so no caller has the scope \"mcp:read\": the rule refuses every caller",
		"policy: rules[1] r: there is no auth, so every caller is anonymous and has no principal.claims, principal.scopes"
	const metadata = "backends[0] a: metadata.x-a: from: there is no auth, and an anonymous caller does not have it: every call of the backend is refused"
	const services = "kubernetes: metadata.x-a: from: there is no auth, and an anonymous caller does not have it: every call of the backends is refused"
	const keys = "backends[0] a: metadata.x-a: from: auth has no issuers, and no API key has all of the claims tenant: every call of the backend is refused"
	none := file(t, "[]")
	claiming := file(t, "- {name: a, sha256: "+sumOfAbc+", claims: {b: c}}")
	policy := &Policy{
		Default: "deny", Scopes: []PolicyScopes{{Need: Names{"mcp:read"}}, {Tools: Names{"t"}}},
		Rules: []PolicyRule{
			{Name: "a", When: "principal.anonymous || tool.name == 't'", Then: "allow"},
			{Name: "r", When: "'a' in principal.scopes && principal.claims.b == 'c'", Then: "allow"},
		},
	}
	const claimed = "principal.claims.b == 'c'"
	asking := &Policy{
		Default: "deny", Confirm: []PolicyConfirm{{Name: "c", When: claimed, Message: "Go?"}},
		Approve: []PolicyApprove{{Name: "a", When: claimed, Message: "Go?", Approvers: "principal.claims.other == 'c'"}},
	}
	for name, x := range map[string]struct {
		c    Config
		want []string
	}{
		"a policy":                      {Config{Policy: policy}, []string{scopes, rules}},
		"with keys":                     {Config{Policy: policy, Auth: &Auth{APIKeys: none}}, []string{"policy: rules[1] r: auth has no issuers, and no API key has all of the claims b"}},
		"with a key that has the claim": {Config{Policy: policy, Auth: &Auth{APIKeys: claiming}}, nil},
		"with issuers":                  {Config{Policy: policy, Auth: &Auth{APIKeys: "k", Issuers: []Issuer{{Issuer: "https://h"}}}}, nil},
		"without either":                {Config{}, nil},
		"metadata": {Config{Backends: []Backend{{Name: "a", Target: "h:1", Metadata: map[string]MetadataValue{
			"x-a": {From: "principal.subject"}, "x-b": {From: "principal.anonymous"}, "x-c": {Value: "v"},
		}}}}, []string{metadata}},
		"metadata of Services": {Config{Kubernetes: &Kubernetes{Metadata: map[string]MetadataValue{"x-a": {From: "principal.claims.tenant"}}}}, []string{services}},
		"metadata of a claim, where callers have keys": {Config{Auth: &Auth{APIKeys: none}, Backends: []Backend{{Name: "a", Target: "h:1", Metadata: map[string]MetadataValue{
			"x-a": {From: "principal.claims.tenant"}, "x-b": {From: "principal.subject"}, "x-c": {From: `has(principal.claims.t) ? principal.claims.t : "none"`},
		}}}}, []string{keys}},
		"a confirmation and an approval": {Config{Policy: asking, Auth: &Auth{APIKeys: none}}, []string{
			"policy: confirm[0] c: auth has no issuers, and no API key has all of the claims b", "policy: approve[0] a: auth has no issuers, and no API key has all of the claims b"}},
		"a confirmation without auth": {Config{Policy: &Policy{Default: "deny", Confirm: asking.Confirm}}, []string{
			"policy: confirm[0] c: there is no auth, so every caller is anonymous and has no principal.claims"}},
		"an approval with issuers": {Config{Policy: asking, Auth: &Auth{Issuers: []Issuer{{Issuer: "https://h"}}}}, nil},
	} {
		if notes := x.c.Ineffective(); !slices.Equal(notes, x.want) {
			t.Errorf("%s: %q\nwant %q", name, notes, x.want)
		}
	}
}

// An admin address without authentication is noted if the endpoint has authentication, unless the
// settings permit it.
func TestOpenAdmin(t *testing.T) {
	auth := &Auth{APIKeys: "k"}
	for name, x := range map[string]struct {
		c    Config
		want bool
	}{
		"no auth":        {Config{}, false},
		"auth":           {Config{Auth: auth}, true},
		"admin-auth":     {Config{Auth: auth, Admin: Admin{Auth: &AdminAuth{Scope: "a"}}}, false},
		"certificates":   {Config{Auth: auth, Admin: Admin{TLS: ListenerTLS{Cert: "c", Key: "k", ClientCA: "ca"}}}, false},
		"said to be so":  {Config{Auth: auth, Admin: Admin{AllowRemote: true}}, false},
		"a certificate":  {Config{Auth: auth, Admin: Admin{TLS: ListenerTLS{Cert: "c", Key: "k"}}}, true},
		"optional, also": {Config{Auth: &Auth{APIKeys: "k", Optional: true}}, true},
	} {
		x.c.Admin.Address = "127.0.0.1:9090"
		notes := x.c.OpenAdmin()
		if len(notes) > 0 != x.want || x.want && !strings.HasPrefix(notes[0], "admin.address: 127.0.0.1:9090 obeys every process of this machine: ") {
			t.Errorf("%s: %q", name, notes)
		}
	}
}

package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/command/commandtest"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// mcpedge check compares the scopes in the settings with the scopes of the metadata and of API
// keys.
func TestCheckTellsOfMistypedScopes(t *testing.T) {
	is := issuer.Serve(t)
	ca := authority.New(t, "ca")
	server, certs := ca.Server(t), t.TempDir()
	files := strings.NewReplacer("CERT", authority.File(t, filepath.Join(certs, "tls.crt"), server.Cert),
		"KEY", authority.File(t, filepath.Join(certs, "tls.key"), server.Key), "CA", authority.File(t, filepath.Join(certs, "ca.crt"), ca.PEM))
	backend := "backends: [{name: one, target: '" + commandtest.Tools(t, "m", 1) + "'}]\n"
	issuers := ", issuers: [{issuer: '" + is.URL + "'}]"
	const supported = ", metadata: {scopes-supported: [mcp:read, mcp:write]}"
	key := func(scopes string) string {
		return "[{name: ci, sha256: '" + strings.Repeat("0", 64) + "', scopes: [" + scopes + "]}]\n"
	}
	for name, c := range map[string]struct {
		auth, rest, keys string
		want             []string // every line about scopes
	}{
		"well": {issuers + supported, "admin: {auth: {scope: mcp:operate}}\npolicy: {default: allow, hierarchy: {'mcp:all': [mcp:write]}, scopes: [{tools: [x], need: [mcp:write]}, {need: [mcp:read]}], " +
			`rules: [{name: w, when: '"mcp:write" in principal.scopes', then: allow}]}` + "\n", "mcp:operate", nil},
		"need": {issuers + supported, "policy: {default: allow, scopes: [{need: [mcp:raed]}]}\n", "mcp:read", []string{
			`note    policy: scopes[0]: need: the scope "mcp:raed" is not in auth.metadata.scopes-supported, which lists the scopes for clients, and no API key has it: did you mean "mcp:read"? (FILE:2)`}},
		"a condition": {issuers + supported, `policy: {rules: [{name: w, when: '"mcp:wirte" in principal.scopes', then: allow}], default: deny}` + "\n", "", []string{
			`note    policy: rules[0] w: the scope "mcp:wirte" is not in auth.metadata.scopes-supported, which lists the scopes for clients, and no API key has it: did you mean "mcp:write"? (FILE:2)`}},
		"the admin address": {issuers + supported, "admin: {auth: {scope: mcp:opperate}}\n", "mcp:operate", []string{
			`note    admin.auth: scope: the scope "mcp:opperate" is not in auth.metadata.scopes-supported, which lists the scopes for clients, and no API key has it: did you mean "mcp:operate"? (FILE:2)`,
			`note    auth.api-keys: "ci" has the scope "mcp:operate", which no setting names: did you mean "mcp:opperate"?`}},
		"the admin address alone": {issuers + supported, "admin: {auth: {scope: operators}}\n", "", []string{
			`info    admin.auth: scope: the scope "operators" is not in auth.metadata.scopes-supported, which lists the scopes for clients, and no API key has it`}},
		"a key": {issuers + supported, "policy: {default: allow, scopes: [{need: [mcp:read]}]}\n", "mcp:raed, other, mcp:write", []string{
			`note    auth.api-keys: "ci" has the scope "mcp:raed", which no setting names: did you mean "mcp:read"?`,
			`info    auth.api-keys: "ci" has the scope "other", which no setting names`}},
		"confirmations, and approvals": {issuers + supported, `policy: {default: allow, confirm: [{name: c, when: '"mcp:wirte" in principal.scopes', message: Go?}], ` +
			`approve: [{name: a, when: '"mcp:raed" in principal.scopes', message: Go?, approvers: '"mcp:raed" in principal.scopes || "pay" in principal.scopes'}]}` +
			"\nadmin: {auth: {scope: mcp:read, approve-scope: mcp:wriet}}\n", "mcp:raed, pay", []string{
			`note    policy: confirm[0] c: the scope "mcp:wirte" is not in auth.metadata.scopes-supported, which lists the scopes for clients, and no API key has it: did you mean "mcp:write"? (FILE:2)`,
			`note    policy: approve[0] a: approvers: the scope "mcp:raed" is not in auth.metadata.scopes-supported, which lists the scopes for clients: did you mean "mcp:read"? (FILE:2)`,
			`info    policy: approve[0] a: approvers: the scope "pay" is not in auth.metadata.scopes-supported, which lists the scopes for clients`,
			`note    admin.auth: approve-scope: the scope "mcp:wriet" is not in auth.metadata.scopes-supported, which lists the scopes for clients: did you mean "mcp:write"? (FILE:3)`}},
		"the admin address, which a certificate opens, too": {issuers + supported, "admin: {auth: {scope: mcp:operate, client-cert: true}, tls: {cert: CERT, key: KEY, client-ca: CA}}\npolicy: {default: allow, scopes: [{need: [mcp:read]}]}\n", "mcp:operate, mcp:opperate", []string{
			`note    auth.api-keys: "ci" has the scope "mcp:opperate", which no setting names: did you mean "mcp:operate"?`}},
		"a key, and all scopes are looked at": {issuers + supported, `policy: {rules: [{name: w, when: 'principal.scopes.exists(s, s.startsWith("mcp:"))', then: allow}], default: deny}` + "\n", "mcp:raed", nil},
		"a key, and no scope is needed":       {issuers, "", "mcp:raed", nil},
		"what clients ask for is unknown":     {issuers, "policy: {default: allow, scopes: [{need: [mcp:raed]}]}\n", "mcp:read", []string{`note    auth.api-keys: "ci" has the scope "mcp:read", which no setting names: did you mean "mcp:raed"?`}},
		"keys alone": {"", `policy: {hierarchy: {'mcp:all': [mcp:read]}, scopes: [{need: [mcp:read]}], rules: [{name: w, when: '"mcp:wirte" in principal.scopes', then: allow}], default: deny}` + "\n", "mcp:all", []string{
			`note    policy: rules[0] w: no API key has the scope "mcp:wirte", and there is no issuer: the condition finds it in no caller (FILE:2)`}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "edge.yaml")
			for path, text := range map[string]string{filepath.Join(dir, "keys.yaml"): key(c.keys), file: "auth: {api-keys: keys.yaml" + c.auth + "}\n" + files.Replace(c.rest) + backend} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			if err := Run(t.Context(), []string{"--config", file}, &out, &out); err != nil {
				t.Errorf("%v\n%s", err, &out)
			}
			lines := 0
			for line := range strings.Lines(out.String()) {
				if strings.Contains(line, "the scope ") {
					lines++
				}
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), strings.ReplaceAll(want, "FILE", file)) {
					t.Errorf("%s is missing", want)
				}
			}
			if lines != len(c.want) || t.Failed() {
				t.Errorf("%d lines about scopes, want %d:\n%s", lines, len(c.want), &out)
			}
		})
	}
}

package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCheckTellsOfRoles: check notes the roles in conditions that no API key has, if keys are the
// only credentials. It also notes the roles of keys that no condition names.
func TestCheckTellsOfRoles(t *testing.T) {
	rule := func(when string) string {
		return "policy: {default: deny, rules: [{name: r, when: '" + when + "', then: allow}]}\n"
	}
	for name, c := range map[string]struct {
		roles, issuers, policy string
		want                   []string
	}{
		"well": {"reader", "", rule(`"reader" in principal.roles`), nil},
		"unheld": {"ops, reader", "", rule(`"raeder" in principal.roles || "ops" in principal.roles`), []string{
			`note    policy: rules[0] r: no API key has the role "raeder", and there is no issuer: the condition finds it in no caller: did you mean "reader"? (FILE:3)`,
			`note    auth.api-keys: "ci" has the role "reader", which no condition of the policy looks for: did you mean "raeder"? (FILE:1)`}},
		"unnamed": {"reader, night", "", rule(`"reader" in principal.roles`), []string{
			`info    auth.api-keys: "ci" has the role "night", which no condition of the policy looks for`}},
		"issuers": {"reader", ", issuers: [{issuer: 'https://h'}]", rule(`"admin" in principal.roles || "reader" in principal.roles`), nil},
		"of a confirmation": {"reader", "", `policy: {default: allow, confirm: [{name: c, when: '"raeder" in principal.roles', message: Go?}, {name: d, when: '"reader" in principal.roles', message: Go?}]}` + "\n", []string{
			`note    policy: confirm[0] c: no API key has the role "raeder", and there is no issuer: the condition finds it in no caller: did you mean "reader"? (FILE:3)`}},
		"of approvers": {"night, lead", ", issuers: [{issuer: 'https://h'}]", `policy: {default: allow, approve: [{name: a, when: 'true', message: Go?, approvers: '"leed" in principal.roles'}]}` +
			"\nadmin: {auth: {scope: s}}\n", []string{
			`info    auth.api-keys: "ci" has the role "night", which no condition of the policy looks for`,
			`note    auth.api-keys: "ci" has the role "lead", which no condition of the policy looks for: did you mean "leed"? (FILE:1)`}},
		"others": {"reader", "", rule(`principal.roles.size() > 0`), nil},
		"none":   {"reader", "", "policy: {default: allow}\n", nil},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "edge.yaml")
		keys := "[{name: ci, sha256: '" + strings.Repeat("0", 64) + "', roles: [" + c.roles + "]}]\n"
		for path, text := range map[string]string{
			filepath.Join(dir, "keys.yaml"): keys,
			file:                            "auth: {api-keys: keys.yaml" + c.issuers + "}\nbackends: [{name: one, target: 'h:1'}]\n" + c.policy,
		} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		if err := Run(t.Context(), []string{"--config", file, "--offline"}, &out, &out); err != nil {
			t.Errorf("%s: %v\n%s", name, err, &out)
		}
		var lines []string
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "the role ") {
				lines = append(lines, strings.ReplaceAll(strings.TrimSpace(line), file, "FILE"))
			}
		}
		slices.Sort(lines)
		slices.Sort(c.want)
		if !slices.Equal(lines, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(lines, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

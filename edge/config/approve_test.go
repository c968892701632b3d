package config

import (
	"strings"
	"testing"
)

// TestApprovalsNeed: approvals without any possible approver are errors that say what to add.
func TestApprovalsNeed(t *testing.T) {
	const (
		keys     = "auth: {api-keys: keys.yaml}\n"
		issuers  = "listen: {public-url: 'https://mcp.example.com/mcp'}\nauth: {issuers: [{issuer: 'https://idp.example.com'}]}\n"
		admin    = "admin: {auth: {scope: 'mcp:operate'}}\n"
		approval = "{name: a, when: 'tool.name == \"pay\"', message: Pay?}"
		policy   = "policy: {default: allow, approve: [" + approval + "]}\n"
		backend  = "backends: [{name: b, target: 'h:1'}]\n"
	)
	for text, want := range map[string]string{
		backend + policy:                   "add auth",
		backend + policy + keys + admin:    "add auth.issuers",
		backend + policy + issuers:         "there is no admin.auth",
		backend + policy + issuers + admin: "",
		backend + policy + issuers + "admin: {auth: {scope: x, approve-scope: x}}\n":            "give approvers one of their own",
		backend + strings.Replace(policy, "message: Pay?", "", 1) + issuers + admin:             "message",
		backend + strings.Replace(policy, approval, approval+","+approval, 1) + issuers + admin: "twice",
	} {
		c, misplaced, err := fileSettings("edge.yaml", []byte(text))
		if err == nil {
			err = misplaced
		}
		if err == nil {
			err = c.Validate()
		}
		if err == nil {
			_, err = c.CompilePolicy()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

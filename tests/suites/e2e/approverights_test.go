package e2e

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// TestApprovalAfterTheKey: a grant runs nothing once the API key with which the call was made is in the file no longer, even if another key has
// its name, or has expired by the file as it is now.
func TestApprovalAfterTheKey(t *testing.T) {
	t.Parallel() // it waits for most of its time
	entry := func(name, key, more string) string {
		return fmt.Sprintf("- {name: %s, sha256: %x, roles: [staff]%s}\n", name, sha256.Sum256([]byte(key)), more)
	}
	const key, reader = "key-of-ci", "key-of-cd"
	past := ", expires: " + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	for name, c := range map[string]struct {
		file, want string
		runs       int64
	}{
		"kept":     {entry("ci", key, "") + entry("new", "other", ""), "paid bob for ci, run 1", 1},
		"removed":  {"[]\n", `the API key "ci" with which it was made is no longer in the file of keys`, 0},
		"replaced": {entry("ci", "other", ""), `the API key "ci" with which it was made is no longer in the file of keys`, 0},
		"expired":  {entry("ci", key, past), `the API key "ci" with which it was made has expired`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "keys.yaml")
			write := func(text string) {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			records := filepath.Join(t.TempDir(), "audit.jsonl")
			write(entry("ci", key, "") + entry("witness", reader, ""))
			p, who := newPayer(), newPeople(t)
			e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove, auditTo(records), func(c *config.Config) { c.Auth.APIKeys = file })
			id, _ := askFor(t, e, v2026, key, "pay")
			write(c.file)
			await.Until(t, "the file to be read", func() bool {
				probe := newCaller(t, "http://"+e.Host+"/mcp")
				probe.as(reader)
				return probe.send(t, http.MethodPost, "{}").status == http.StatusUnauthorized
			})
			decide(t, e, who.lee, id, ":grant").want(http.StatusOK)
			await.Until(t, "the call to be decided on", func() bool {
				said := fileText(t, records)
				return strings.Contains(said, `"decision":"deny","by":"approval"`) || strings.Contains(said, `"approved":[`) && p.runs.Load() > 0
			})
			if n := p.runs.Load(); n != c.runs {
				t.Errorf("%d runs", n)
			}
			if c.runs > 0 {
				return
			}
			// Once its key is valid again, the creator reads why.
			write(entry("ci", key, ""))
			var got map[string]any
			await.Until(t, "the key to be valid", func() bool {
				caller := statelessAs(t, e, key)
				caller.capabilities = withTasks
				r := caller.request("tasks/get", map[string]any{"taskId": id})
				if r.status != http.StatusOK {
					return false
				}
				got = r.result()
				return got["status"] != "working"
			})
			if message := fmt.Sprint(dig(got, "error", "message")); !strings.Contains(message, c.want) || !strings.Contains(message, "call again with valid credentials") {
				t.Errorf("it ended with %q, want %q", message, c.want)
			}
		})
	}
}

// TestApproversAreRecorded: the audit has each attempt to decide on an approval, whether the principal may, and which call it is about.
func TestApproversAreRecorded(t *testing.T) {
	t.Parallel() // it waits for most of its time
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	p, who := newPayer(), newPeople(t)
	e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove, auditTo(path))
	id, w := askFor(t, e, v2026, who.ann, "pay")
	for name, token := range map[string]string{
		"own":      who.approver("ann"),
		"none":     who.approver("bob", map[string]any{"roles": []string{"staff"}}),
		"a client": who.approver("console", map[string]any{"sub": nil}),
	} {
		if got := decide(t, e, token, id, ":grant"); got.status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	decide(t, e, who.approver("bob", map[string]any{"roles": []string{"staff"}}), id, ":refuse").want(http.StatusForbidden)
	decide(t, e, who.lee, id, ":grant").want(http.StatusOK)
	w.end(e)
	decide(t, e, who.lee, id, ":grant").want(http.StatusBadRequest)
	e.End(t)
	var got []string
	for _, r := range records(t, path) {
		if !strings.HasPrefix(r.Method, "admin/approvals/") {
			continue
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s%s", r.Subject, strings.TrimPrefix(r.Method, "admin/approvals/"), r.Decision, r.Outcome)))
		about := strings.Join(r.Awaited.Names, " ") + " " + r.Awaited.Requester.Subject + " " + r.Awaited.Requester.Client + " " + r.Target + " " + r.Backend
		if ended := r.Awaited.Names == nil; !ended && about != "payments ann assistant pay fixture" {
			t.Errorf("%s: it is about %q", got[len(got)-1], about)
		} else if ended && len(got) <= 10 {
			t.Errorf("%s: it does not say what it is about", got[len(got)-1])
		}
	}
	slices.Sort(got[:min(8, len(got))]) // The attempts come in any order.
	want := []string{
		"ann grant deny", "ann grant permission_denied", "bob grant deny", "bob grant permission_denied", "bob refuse deny", "bob refuse permission_denied",
		"console grant deny", "console grant permission_denied", "lee grant allow", "lee grant ok", "lee grant allow", "lee grant failed_precondition",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the audit has %q, want %q", got, want)
	}
}

package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// TestAuditMode: rules and confirmations in audit mode change no answer, and are in the records of the request and in the metric.
func TestAuditMode(t *testing.T) {
	w, path := newWiper(), filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, w.Server)), auditTo(path), func(c *config.Config) {
		c.Policy = &config.Policy{
			Default: "allow",
			Rules:   []config.PolicyRule{{Name: "no wiping", When: `tool.name == "wipe" && arguments.path == "/"`, Then: "hide", Mode: "audit"}},
			Confirm: []config.PolicyConfirm{{Name: "asked", When: `tool.annotations.destructive`, Message: "Go?", Mode: "audit"}},
		}
	})
	for _, c := range []asker{clientOf(t, e, vNov, ""), clientOf(t, e, v2026, "")} {
		c.ask("tools/call", `{"name":"wipe","arguments":{"path":"/"}}`).final().result(t)
	}
	newStateless(t, e.URL).call("look", `{"path":"/"}`).want(http.StatusOK)
	awaitMetric(t, e, `mcpedge_policy_trial_total{mcpedge_policy_by="policy",mcpedge_policy_effect="hide",mcpedge_policy_rule="no wiping"`, 2)
	e.End(t)
	for _, r := range records(t, path) {
		if want := strings.HasPrefix(r.Target, "wipe"); want != (len(r.Would) == 2) {
			t.Errorf("the record %+v", r)
		}
	}
	w.ran(t, 3)
}

// TestPinsInAuditMode: pinned arguments in audit mode are shown and accepted, and what they would have done is in the records and in the
// metric.
func TestPinsInAuditMode(t *testing.T) {
	w, path := newWiper(), filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, w.Server)), auditTo(path), func(c *config.Config) {
		pin := func(tool, argument string) config.CatalogTool {
			return config.CatalogTool{Backend: c.Backends[0].Name, Tool: tool, Arguments: map[string]config.CatalogArgument{argument: {Value: "/tmp", Mode: "audit"}}}
		}
		c.Catalog = &config.Catalog{Tools: []config.CatalogTool{pin("wipe", "path"), pin("look", "gone")}}
	})
	for _, c := range []asker{clientOf(t, e, vNov, ""), clientOf(t, e, v2026, "")} {
		c.ask("tools/call", `{"name":"wipe","arguments":{"path":"/"}}`).final().result(t)
		c.ask("tools/call", `{"name":"look","arguments":{"path":"/"}}`).final().result(t)
	}
	awaitMetric(t, e, `mcpedge_policy_trial_total{mcpedge_policy_by="pin",mcpedge_policy_effect="deny",mcpedge_policy_rule="catalog.tools[0].arguments.path"`, 2)
	e.End(t)
	for _, r := range records(t, path) {
		effect := map[string]string{"wipe": "deny", "look": "hide"}[r.Target]
		if len(r.Would) != len(effect)/4 || effect != "" && r.Would[0].Effect != effect {
			t.Errorf("the record %+v", r)
		}
	}
	w.ran(t, 4)
}

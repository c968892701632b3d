package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestCallWhileLinesMove: calls that are resolved and decided by the policy of before are made, by their pinned arguments and with their
// results, although a comment in a team's file has meanwhile put the policy with other lines in force. Counts of refusals go on.
func TestCallWhileLinesMove(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	const file = `catalog: {tools: [{tool: find, name: crm_find_customer, arguments: {tenant: {value: acme}}}]}
policy: {rules: [{name: fails, when: 'tool.name == "crm_export" && arguments.n == 1', then: deny}]}
`
	pdp := authorizer.Serve(t)
	e := startTeams(t, fmt.Sprintf("policy: {default: allow, external: {target: %q, timeout: 10s}}\n", pdp.Addr), written(file))
	begun, release := held(pdp, "crm_find")
	defer release()
	versions := []string{vNov, v2026}
	refused := 0
	refuse := func() {
		refused++
		newStateless(t, e.URL).ask("tools/call", toolParams("crm_export", `{}`, "")).json().wantError(t, -31403)
	}
	answered := make(chan message, len(versions))
	for _, version := range versions {
		c := clientOf(t, e.Edge, version, "")
		go func() { answered <- c.ask("tools/call", toolParams("crm_find_customer", `{"query":"x"}`, "")).final() }()
		await.Receive(t, "the policy server to be asked", begun)
	}
	if refuse(); !strings.Contains(e.Log.String(), "crm.yaml:2: ") {
		t.Fatalf("the log does not name the line")
	}
	written("# a comment\n" + file)(e)
	await.Until(t, "the log to name the line where the rule is now", func() bool {
		refuse()
		return strings.Contains(e.Log.String(), "crm.yaml:3: ")
	})
	awaitMetric(t, e.Edge, "mcpedge_settings_generation", 1)
	release()
	for range versions {
		if m := await.Receive(t, "the call", answered); m.Error != nil || !strings.Contains(string(m.raw), "tenant acme") {
			t.Errorf("%s", m.raw)
		}
	}
	refuse()
	awaitMetric(t, e.Edge, `mcpedge_policy_failed_total{mcpedge_policy_rule="crm-team/fails"`, float64(refused))
}

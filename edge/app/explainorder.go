package app

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// reportOrder writes to out, as one line, the stages of a call of a tool that the settings enable,
// in their order: see dispatch, callBackendTool.
func reportOrder(cfg *config.Config, approved, confirmed bool, out io.Writer) {
	stages := []string{"names and what is hidden", "rules and scopes", "headers that mirror arguments"}
	var hooks []string
	for i := range cfg.Hooks {
		if h := &cfg.Hooks[i]; slices.Contains(h.On, "request") {
			hooks = append(hooks, strconv.Quote(h.Name))
		}
	}
	if len(hooks) > 0 {
		stages = append(stages, "hooks that match ("+strings.Join(hooks, ", ")+")")
	}
	stages = append(stages, "the schema of the tool")
	if externalOf(cfg) != nil {
		stages = append(stages, "the policy server")
	}
	if len(cfg.Quotas) > 0 {
		stages = append(stages, "quotas")
	}
	if approved {
		stages = append(stages, "approvals")
	}
	if confirmed {
		stages = append(stages, "confirmations")
	}
	if cfg.Audit != nil {
		stages = append(stages, "the audit")
	}
	_, _ = fmt.Fprintf(out, "order   %s: the first that refuses a call ends it\n", strings.Join(stages, ", "))
}

// confirmedByService returns the name of the confirmation that the tool's service itself requires.
// It is empty if there is none.
func confirmedByService(pool *backend.Pool, t *policy.Target) string {
	for _, b := range pool.Backends() {
		if b.Name() != t.Backend || t.Kind != policy.Tool {
			continue
		}
		own := strings.TrimPrefix(t.Name, b.Prefix())
		if _, confirmed := b.Confirmation(own); confirmed != nil {
			return fmt.Sprintf("; the user must confirm it: %q, which the service requires", b.Name()+"/"+own)
		}
	}
	return ""
}

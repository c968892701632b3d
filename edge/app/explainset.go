package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// explainedSet is the set of a question, and why the edge would refuse the caller there. The zero value
// is the root.
type explainedSet struct {
	set     *overlay.Set
	refusal string
}

// set returns the set of the question for a caller.
func (q *Question) set(cfg *config.Config, p *policy.Policy, who *mcp.Principal) (explainedSet, error) {
	if q.Set == "" {
		return explainedSet{}, nil
	}
	sets, err := cfg.OpenSets()
	if err != nil {
		return explainedSet{}, err
	}
	set := sets[q.Set]
	if set == nil {
		text := fmt.Sprintf("policy: --set: the settings have no set %q", q.Set)
		if meant := config.Nearest(q.Set, slices.Sorted(maps.Keys(sets))); meant != "" {
			text += fmt.Sprintf(": did you mean %q?", meant)
		}
		return explainedSet{}, fmt.Errorf("%s", text)
	}
	out := explainedSet{set: set.Set}
	missing, open, failure := mayUse(p, set, who)
	switch {
	case failure != nil:
		out.refusal = fmt.Sprintf("sets.%s.when could not be evaluated: the edge answers the caller with 404, and no rule decides: %v", q.Set, failure)
	case !open:
		out.refusal = fmt.Sprintf("sets.%s.when is not true for the caller: the edge answers with 404, and no rule decides", q.Set)
	case len(missing) > 0:
		out.refusal = fmt.Sprintf("the caller lacks the scopes %s of the set %q: the edge answers with 403, and no rule decides", strings.Join(missing, " "), q.Set)
	}
	return out, nil
}

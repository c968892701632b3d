package app

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// explainedSet is the set of a question, with the reason for which the edge would refuse the caller
// there. The zero value is the root, if the root serves everything.
type explainedSet struct {
	set     *overlay.Set
	refusal string
	// off is true if the endpoint serves nothing, whatever the credentials are.
	off bool
}

// set returns the set of the question for a caller.
func (q *Question) set(cfg *config.Config, p *policy.Policy, who *mcp.Principal) (explainedSet, error) {
	name, served := cfg.RootSet()
	switch {
	case q.Set != "":
		name = q.Set
	case !served:
		return explainedSet{off: true, refusal: "root is off: the edge answers at " + endpointPath + " with 404, and no rule decides: name a set with --set"}, nil
	case name == "":
		return explainedSet{}, nil
	}
	out, err := setOf(cfg, p, who, name)
	if err != nil {
		err = fmt.Errorf("policy: %w", err)
	}
	return out, err
}

// setOf returns the set of a name for a caller.
func setOf(cfg *config.Config, p *policy.Policy, who *mcp.Principal, name string) (explainedSet, error) {
	if cfg.Auth == nil {
		who = new(mcp.Principal) // The edge reads no token.
	}
	sets, err := cfg.OpenSets()
	if err != nil {
		return explainedSet{}, err
	}
	set := sets[name]
	if set == nil {
		text := fmt.Sprintf("--set: the settings have no set %q", name)
		if meant := config.Nearest(name, slices.Sorted(maps.Keys(sets))); meant != "" {
			text += fmt.Sprintf(": did you mean %q?", meant)
		}
		return explainedSet{}, fmt.Errorf("%s", text)
	}
	out := explainedSet{set: set.Set}
	missing, open, failure := mayUse(p, set, who)
	switch {
	case failure != nil:
		out.refusal = fmt.Sprintf("sets.%s.when could not be evaluated: the edge answers the caller with 404, and no rule decides: %v", name, failure)
	case !open:
		out.refusal = fmt.Sprintf("sets.%s.when is not true for the caller: the edge answers with 404, and no rule decides", name)
	case len(missing) > 0:
		status := http.StatusForbidden
		if cfg.Auth != nil && who.Anonymous() {
			status = http.StatusUnauthorized // It asks for credentials.
		}
		out.refusal = fmt.Sprintf("the caller lacks the scopes %s of the set %q: the edge answers with %d, and no rule decides", strings.Join(missing, " "), name, status)
	}
	return out, nil
}

// endpoint returns the path at which the caller of the question is.
func (q *Question) endpoint() string {
	if q.Set == "" {
		return endpointPath
	}
	return endpointPath + "/" + q.Set
}

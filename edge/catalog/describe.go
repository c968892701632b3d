package catalog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// Describe returns serverInfo, which is always the edge's own, the capabilities and the
// instructions. If a caller's private lists cannot be read, it describes the shared view and marks
// the result as not cacheable. set is the caller's set; empty means the root.
func (c *Catalog) Describe(ctx context.Context, rules *revision.Rules, set string, p mcp.Principal) mcp.Description {
	v, err := c.views.Of(ctx, set, p)
	if err != nil {
		v = c.views.in(c.views.Shared.Load(), set)
	}
	features := v.Features
	features.TasksList = !p.Anonymous()
	out := mcp.Description{
		ServerInfo:   c.serverOf(v).Info(rules),
		Capabilities: translate.Capabilities(rules, features),
		Instructions: v.instructions,
		Digest:       func() mcp.Digest { return v.visibleTo(&p).digest() },
	}
	if hint := v.hint(); err == nil && !v.Incomplete() {
		out.TTL, out.Public = int64(hint.TTL/time.Millisecond), hint.Public
	}
	return out
}

// ServerInfo returns the serverInfo of Describe, without a view of a caller.
func (c *Catalog) ServerInfo(rules *revision.Rules, set string) json.RawMessage {
	return c.serverOf(c.views.in(c.views.Shared.Load(), set)).Info(rules)
}

// hint returns the cache hint of a description: the narrowest hint of its lists.
func (v *View) hint() translate.CacheHint {
	var out translate.CacheHint
	first := true
	join := func(served bool, l *list) {
		switch {
		case !served:
		case first:
			out, first = l.hint, false
		default:
			out.TTL = min(out.TTL, l.hint.TTL)
			out.Public = out.Public && l.hint.Public
		}
	}
	join(v.Features.Tools, v.Tools.List)
	join(v.Features.Resources, v.Resources.List)
	join(v.Features.Resources, v.Resources.TemplateList)
	join(v.Features.Prompts, v.Prompts.List)
	join(v.Features.Skills, v.Resources.skillList)
	return out
}

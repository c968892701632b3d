package dispatch

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// Describe returns serverInfo, which is always the edge's own, the capabilities and the instructions. When a
// caller's own lists cannot be read, it describes what all callers share, and is not to be cached.
func (d *Dispatch) Describe(ctx context.Context, rules *revision.Rules, p mcp.Principal) mcp.Description {
	v, err := d.views.of(ctx, p)
	if err != nil {
		v = d.views.shared.Load()
	}
	features := v.features
	features.TasksList = !p.Anonymous()
	out := mcp.Description{
		ServerInfo:   d.server.Info(rules),
		Capabilities: translate.Capabilities(rules, features),
		Instructions: v.instructions,
		Digest:       v.seenBy(d.opts.Access, &p).digest,
	}
	if hint := v.hint(); err == nil && !v.incomplete() {
		out.TTL, out.Public = int64(hint.TTL/time.Millisecond), hint.Public
	}
	return out
}

// hint is the cache hint of a description: the narrowest of those of its lists.
func (v *view) hint() translate.CacheHint {
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
	join(v.features.Tools, v.tools.list)
	join(v.features.Resources, v.resources.list)
	join(v.features.Resources, v.resources.templateList)
	join(v.features.Prompts, v.prompts.list)
	join(v.features.Skills, v.resources.skillList)
	return out
}

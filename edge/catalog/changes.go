package catalog

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/changes"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/internal/uris"
)

const allKinds = backend.Tools | backend.Resources | backend.Prompts

// Changes opens a feed of changes for one subscriber. It waits until the backends report on the
// filter's URIs, or refused, so that nothing falls between; a feed without URIs costs neither a call
// nor a goroutine. It fails when ctx ends.
func (c *Catalog) Changes(ctx context.Context, p mcp.Principal, f mcp.Filter) (mcp.Feed, error) {
	return c.hub.Open(ctx, p, f)
}

// Settle waits until the view shows every change that the backends have reported so far. It fails
// when ctx ends.
func (c *Catalog) Settle(ctx context.Context) error { return c.hub.Settle(ctx) }

// Exchange has swap replace what Access decides by, and tells those subscribers whose lists are others then. Watches of
// resources that may not be watched any more end, and those begin that now may be. With outdated the principals of those who
// subscribed before do not have all that Access looks at from now on: they are told, now and every other time. One call at a
// time.
func (c *Catalog) Exchange(swap func(), outdated bool) {
	c.hub.Exchange(func(p mcp.Principal) mcp.Digest { return c.views.known(p).seenBy(c.opts.Visibility, &p).digest }, differences, swap, outdated)
}

// source lets the feeds of changes see the views.
type source struct {
	views  *views
	report *reporter
	access Visibility // nil: everything may be watched
}

// Refresh implements changes.Source.
func (s source) Refresh(reported backend.Kinds) (kinds backend.Kinds, replaced bool) {
	before, after := s.views.refresh()
	if after.private || before.private {
		kinds = reported // else a shared list changed only if its digest did
	}
	return kinds | differences(before.Digest, after.Digest), before != after
}

// View implements changes.Source.
func (s source) View(ctx context.Context, p mcp.Principal) (changes.View, error) {
	v, err := s.views.Of(ctx, p)
	if err != nil {
		return nil, err
	}
	return callerView{v, s.report, s.access, p}, nil
}

// Differ implements changes.Source.
func (s source) Differ(ctx context.Context, a, b mcp.Principal) (backend.Kinds, error) {
	var digests [2]mcp.Digest
	for i, p := range []mcp.Principal{a, b} {
		v, err := s.views.Of(ctx, p)
		if err != nil {
			return 0, err
		}
		digests[i] = v.seenBy(s.access, &p).digest
	}
	return differences(digests[0], digests[1]), nil
}

// Revoked implements changes.Revoker: the policy denies it, or the resource belongs to another backend, as far as that is known.
func (s source) Revoked(p mcp.Principal, uri string, owner changes.Owner) bool {
	now, known := s.views.known(p).locate(&mcp.Call{}, uri, s.report)
	if s.denies(p, uri, owner, &now, known) {
		return true
	}
	return known && now.watched(uri) != owner
}

// Hides implements changes.Hider.
func (s source) Hides(p mcp.Principal, uri string, owner changes.Owner) bool {
	if s.access == nil {
		return false
	}
	now, known := s.views.known(p).locate(&mcp.Call{}, uri, s.report)
	return s.denies(p, uri, owner, &now, known)
}

// denies reports whether the policy denies a caller to watch a resource, where it is located if that is known, else at its owner.
func (s source) denies(p mcp.Principal, uri string, owner changes.Owner, now *Located, known bool) bool {
	target := policy.Target{Kind: policy.Resource, Method: mcp.MethodSubscribe, Name: uris.Normal(uri), Backend: owner.Name()}
	if known {
		target = now.target(mcp.MethodSubscribe)
	}
	return s.access != nil && !s.access.May(&p, &target)
}

func differences(a, b mcp.Digest) (kinds backend.Kinds) {
	if a.Tools != b.Tools {
		kinds |= backend.Tools
	}
	if a.Resources != b.Resources {
		kinds |= backend.Resources
	}
	if a.Prompts != b.Prompts {
		kinds |= backend.Prompts
	}
	return kinds
}

// callerView is what the feeds see of one caller's view.
type callerView struct {
	*View
	report *reporter
	access Visibility
	who    mcp.Principal
}

// Reportable implements changes.View: kinds whose feature is served, or may be by a backend that is not known yet.
// The edge reports changes of any list, since backends come and go.
func (v callerView) Reportable(f mcp.Filter) (kinds backend.Kinds) {
	perhaps := v.Incomplete()
	if f.Tools && (v.Features.Tools || perhaps) {
		kinds |= backend.Tools
	}
	if f.Resources && (v.Features.Resources || perhaps) {
		kinds |= backend.Resources
	}
	if f.Prompts && (v.Features.Prompts || perhaps) {
		kinds |= backend.Prompts
	}
	return kinds
}

// Owner implements changes.View.
func (v callerView) Owner(uri string) changes.Owner {
	found, ok := v.locate(&mcp.Call{}, uri, v.report)
	if !ok || !canSubscribe(v.catalog(found.owner)) {
		return nil
	}
	target := found.target(mcp.MethodSubscribe)
	if v.access != nil && !v.access.May(&v.who, &target) {
		return nil
	}
	return found.watched(uri)
}

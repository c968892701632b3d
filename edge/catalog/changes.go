package catalog

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/changes"
	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/internal/uris"
)

const allKinds = backend.Tools | backend.Resources | backend.Prompts

// Changes opens a feed of changes for one subscriber in a set; empty means the root. It waits until
// the backends watch the filter's URIs or refuse them, so that no later change is missed. A feed
// without URIs costs no call and no goroutine. It fails when ctx ends.
func (c *Catalog) Changes(ctx context.Context, set string, p mcp.Principal, f mcp.Filter) (mcp.Feed, error) {
	return c.hub.Open(ctx, set, p, f)
}

// Settle waits until the view shows every change that the backends have reported so far. It fails
// when ctx ends.
func (c *Catalog) Settle(ctx context.Context) error { return c.hub.Settle(ctx) }

// Replace replaces the overlay and the sets, and calls swap, which may replace the result of
// Options.Visibility and the backends of the pool. All take effect together: a request uses either
// the old or the new settings. It notifies the subscribers whose lists differ afterwards, ends
// watches that are no longer allowed, and opens those that have become allowed.
//
// outdated means that the principals of open feeds lack data that the new rules read. These feeds
// are notified of every kind, now and at each later Replace.
func (c *Catalog) Replace(o *overlay.Overlay, sets overlay.Sets, swap func(), outdated bool) {
	c.hub.Replace(func() changes.Reach {
		before, after := c.views.replace(o, sets, swap)
		switch {
		case outdated:
			return changes.Outdated
		case after.private && (!before.overlay.Equal(o) || before.sets != after.sets): // Lists of single callers may differ.
			return changes.Every
		}
		return changes.Differing
	})
}

// Disable replaces the list of disabled objects, which may be nil. It takes effect before lists are
// compared. It notifies the subscribers whose lists differ afterwards, ends watches at disabled
// backends and in disabled sets, and opens those that are possible again.
func (c *Catalog) Disable(l *disabled.List) {
	c.hub.Replace(func() changes.Reach {
		if _, after := c.views.disable(l); after.private { // Lists of single callers may differ.
			return changes.Every
		}
		return changes.Differing
	})
}

// source implements changes.Source on the views.
type source struct {
	views  *views
	report *reporter
}

// Refresh implements changes.Source.
func (s source) Refresh(reported backend.Kinds) (kinds backend.Kinds, seen func(set string, p mcp.Principal) backend.Kinds, replaced bool) {
	before, after := s.views.refresh()
	if after.private || before.private {
		kinds = reported // a shared list changes only with its digest
	}
	if before == after || kinds == allKinds {
		return kinds, nil, before != after
	}
	if after.access == nil && len(*after.sets) == 0 && before.Resources.pinned == nil && after.Resources.pinned == nil || after.private || before.private {
		return kinds | changes.Differences(before.Digest(), after.Digest()), nil, true
	}
	if kinds = changes.Differences(before.content(), after.content()); kinds == 0 {
		return 0, nil, true
	}
	return kinds, func(set string, p mcp.Principal) backend.Kinds {
		return changes.Differences(s.views.in(before, set).visibleTo(&p).digest(), s.views.in(after, set).visibleTo(&p).digest())
	}, true
}

// Look implements changes.Source, with the cached private lists.
func (s source) Look(set string, p mcp.Principal) (digest func() mcp.Digest) {
	view := s.views.viewReader(set, p)
	return func() mcp.Digest { return view().visibleTo(&p).digest() }
}

// View implements changes.Source.
func (s source) View(ctx context.Context, set string, p mcp.Principal) (changes.View, error) {
	v, err := s.views.Of(ctx, set, p)
	if err != nil {
		return nil, err
	}
	return callerView{v, s.report, set, p}, nil
}

// Differ implements changes.Source.
func (s source) Differ(ctx context.Context, set string, a, b mcp.Principal) (backend.Kinds, error) {
	var digests [2]mcp.Digest
	for i, p := range []mcp.Principal{a, b} {
		v, err := s.views.Of(ctx, set, p)
		if err != nil {
			return 0, err
		}
		digests[i] = v.visibleTo(&p).digest()
	}
	return changes.Differences(digests[0], digests[1]), nil
}

// Revoked implements changes.Revoker. A watch is revoked if the overlay or the set conceals the resource, the
// policy denies it, its backend or the set is disabled, or another backend is known to own it.
func (s source) Revoked(set string, p mcp.Principal, uri string, owner changes.Owner) bool {
	v := s.views.known(set, p)
	now, known := v.locate(&mcp.Call{Principal: p}, uri, s.report)
	if s.denies(v, set, p, uri, owner, &now, known) {
		return true
	}
	return known && now.watched(uri) != owner
}

// Hides implements changes.Hider.
func (s source) Hides(set string, p mcp.Principal, uri string, owner changes.Owner) bool {
	v := s.views.known(set, p)
	now, known := v.locate(&mcp.Call{Principal: p}, uri, s.report)
	return s.denies(v, set, p, uri, owner, &now, known)
}

// denies reports whether the overlay, the set or the policy denies a caller the watch of a
// resource. If known is true, they evaluate the resource as it is located now, and otherwise at its
// owner.
func (s source) denies(v *View, set string, p mcp.Principal, uri string, owner changes.Owner, now *Located, known bool) bool {
	target := policy.Target{Kind: policy.Resource, Method: mcp.MethodSubscribe, Name: uris.Normal(uri), Backend: owner.Name()}
	if known {
		target = now.target(mcp.MethodSubscribe)
	} else if v.concealsAt(owner.Name(), uri, &p) {
		return true
	}
	target.Set = set
	return v.disables(&target) || v.access != nil && !v.access.May(&p, &target)
}

// callerView implements changes.View for one caller.
type callerView struct {
	*View
	report *reporter
	inSet  string
	who    mcp.Principal
}

// Reportable implements changes.View. It returns the kinds whose feature is served, or may be
// served by a backend that is not known yet. The edge reports changes of every list, because
// backends are added and removed.
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
	found, ok := v.locate(&mcp.Call{Principal: v.who}, uri, v.report)
	if !ok || !canSubscribe(v.catalog(found.owner)) {
		return nil
	}
	target := found.target(mcp.MethodSubscribe)
	target.Set = v.inSet
	if v.disables(&target) || v.access != nil && !v.access.May(&v.who, &target) {
		return nil
	}
	return found.watched(uri)
}

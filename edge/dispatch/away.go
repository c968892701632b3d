package dispatch

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// reserved is the error of a call of what belongs to a backend that is away. To those from whom it is hidden it does not
// exist, and neither does, to anybody, what the backend showed to some callers only: nobody knows to which.
func (r *round) reserved(ctx context.Context, owner *backend.Backend, kind policy.Kind, name string, args policy.Arguments) error {
	target := policy.Target{Kind: kind, Method: r.call.Method, Name: name, Backend: owner.Name()}
	if kind == policy.Tool {
		target.Hints = hintsOf(nil)
	}
	if r.personal(owner, kind, name) {
		return r.unknown()
	}
	if err := r.decide(ctx, &target, args); err != nil {
		return err
	}
	return awayError(owner)
}

// personal reports whether a name or a URI is remembered of a backend because of what it showed to some callers only.
func (r *round) personal(owner *backend.Backend, kind policy.Kind, name string) bool {
	if r.d.opts.Names == nil {
		return false
	}
	listed, own := r.d.opts.Names.Apart(owner.Name())
	if own == nil {
		return false
	}
	if listed == nil {
		listed = &ownership.Names{}
	}
	bare := strings.TrimPrefix(name, owner.Prefix())
	switch kind {
	case policy.Tool:
		return slices.Contains(own.Tools, bare) && !slices.Contains(listed.Tools, bare)
	case policy.Prompt:
		return slices.Contains(own.Prompts, bare) && !slices.Contains(listed.Prompts, bare)
	}
	uri := uris.Normal(name)
	granted := slices.ContainsFunc(owner.URIs(), func(prefix string) bool { return strings.HasPrefix(uri, uris.Normal(prefix)) })
	return !granted && mayHave(own, uri) && !mayHave(listed, uri)
}

// mayHave reports whether a URI in normal form is one of names', or begins as their templates, prefixes and directories do.
func mayHave(n *ownership.Names, uri string) bool {
	for _, list := range [][]string{n.Resources, n.Pages, n.Skills} {
		if slices.ContainsFunc(list, func(one string) bool { return uris.Normal(one) == uri }) {
			return true
		}
	}
	return slices.ContainsFunc(n.Prefixes, func(prefix string) bool { return strings.HasPrefix(uri, uris.Normal(prefix)) }) ||
		slices.ContainsFunc(n.Templates, func(text string) bool { return strings.HasPrefix(uri, headOf(text)) }) ||
		slices.ContainsFunc(n.Skills, func(file string) bool {
			return strings.HasPrefix(uri, uris.Normal(strings.TrimSuffix(file, skillFile)))
		})
}

// gone is the error of a call whose backend is away, or has not any more what it is about: its state, its questions and
// their answers go to no other.
func (r *round) gone() *mcp.Error {
	return mcp.Errorf(mcp.KindUnavailable, "the call belongs to the backend %q, which began it and cannot go on with it now: try again later, or start the call again",
		clip(r.call.Backend))
}

// awayError says that a backend is away to which something belongs.
func awayError(owner *backend.Backend) *mcp.Error {
	return mcp.Errorf(mcp.KindUnavailable, "it belongs to the backend %q, which cannot be reached now: try again later", owner.Name())
}

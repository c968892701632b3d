package catalog

import (
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
)

// listedBy returns the names that backends list. It omits unreachable backends and those with
// private lists.
func listedBy(parts []part) (out []overlay.Listed) {
	for _, one := range parts {
		if one.Catalog.Private || !one.Catalog.Present && len(one.Catalog.Tools)+len(one.Catalog.Prompts)+len(one.Catalog.Resources) == 0 {
			continue
		}
		out = append(out, listedOf(one))
	}
	return out
}

// listedOf returns the names that a backend lists.
func listedOf(one part) overlay.Listed {
	unread := one.Catalog.Unread
	l := overlay.Listed{
		Backend: one.Backend.Name(), Prefix: one.Backend.Prefix(), NoTools: unread.Has(backend.Tools), NoPrompts: unread.Has(backend.Prompts), NoResources: unread.Has(backend.Resources),
		Resources: resourceNames(one.Catalog), Reads: one.Catalog.Describe.GetResources().GetUriPrefixes(),
	}
	for _, t := range one.Catalog.Templates {
		head, _, _ := strings.Cut(t.GetUriTemplate(), "{")
		l.Reads = append(l.Reads, head)
	}
	for _, x := range one.Catalog.Skills {
		l.Reads = append(l.Reads, strings.TrimSuffix(x.GetUri(), SkillFile[1:]))
	}
	for _, t := range one.Catalog.Tools {
		l.Tools = append(l.Tools, t.GetName())
	}
	for _, x := range one.Catalog.Prompts {
		l.Prompts = append(l.Prompts, x.GetName())
	}
	return l
}

// unmatchedEntries returns, as problems of their backends, the overlay's entries with exact names that
// restrict something but match nothing, and the exact names without a match that sets exclude. It
// logs each once: the backend probably uses another name. A set's name without a backend is only
// logged.
//
// A pattern is not a problem, because it may be for names that do not exist yet. It is logged if it
// matches names that clients see.
func (v *View) unmatchedEntries(report *reporter) (out []problem) {
	listed := listedBy(v.Parts)
	add := func(backend, text string, exact, mistaken bool) {
		if exact && backend != "" {
			out = append(out, problem{backend, text})
		}
		if exact || mistaken {
			report.once("open\x00"+text, "an entry that restricts something matches nothing, so that it has no effect", "backend", backend, "entry", Clip(text))
		}
	}
	for _, one := range v.overlay.Idle(listed) {
		if one.Opens() {
			add(one.Entry.Backend, one.String(), one.Entry.Names.Literal(), one.Hint != "")
		}
	}
	if v.sets == nil || v.private || v.missing {
		return out
	}
	for _, set := range v.sets.Sorted() {
		for _, one := range idlePatterns(v.overlay, listed, set) {
			if one.key == "exclude" {
				add(one.backend, one.text, one.exact, one.backend != "")
			}
		}
	}
	return out
}

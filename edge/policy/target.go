package policy

import (
	"iter"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/internal/pattern"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// Kind is the kind of a target.
type Kind byte

// The kinds.
const (
	Tool     Kind = 't'
	Prompt   Kind = 'p'
	Resource Kind = 'r'
	// Template is a resource template, as it is listed and completed. A resource read by it is a
	// Resource.
	Template Kind = 'm'
)

// Target is an existing object that a caller names.
type Target struct {
	Kind Kind
	// Method is the operation; for lists, the operation by which an entry is used.
	Method mcp.Method
	// Name is the name of a tool or prompt as clients see it, a resource's URI, or a template's
	// text.
	Name string
	// Backend is the backend that serves it.
	Backend string
	// IsListed is true for a Resource that the backend lists in the spelling of Name. A form of it
	// that lacks a part is then refused only by a rule or for its scopes, not by the default.
	IsListed bool
	// Set is the set in which the caller makes the request. Empty means the root.
	Set string
	// Vars returns the variables of a Resource by each matching template of its backend, decoded as
	// the backend gets them, without duplicates; beyond MaxReadings it may be incomplete. nil and
	// an empty result mean none. It is called only if conditions inspect the variables.
	Vars func() []map[string]string
	// Hints of a tool. The zero value stands for a tool without annotations, whose Destructive and
	// OpenWorld are true: see [Hints].
	Hints Hints

	// reading is the index of the evaluated variables in the result of Vars.
	reading int
}

// MaxReadings bounds the distinct sets of variables that are evaluated for one URI. A URI with more
// is denied.
const MaxReadings = 16

// variables returns the evaluated variables of a resource, never nil.
func (t *Target) variables() map[string]string {
	if t.Vars == nil || t.Kind != Resource {
		return map[string]string{}
	}
	if all := t.Vars(); t.reading < len(all) {
		return all[t.reading]
	}
	return map[string]string{}
}

// others returns the other readings of a target: each of its equivalent forms, each with each of
// the n sets of variables. n is at least 1.
func (t *Target) others(n int) iter.Seq[*Target] {
	return func(yield func(*Target) bool) {
		names := append([]string{t.Name}, t.forms()...)
		for i := range n * len(names) {
			other := *t
			other.reading, other.Name = i/len(names), names[i%len(names)]
			if i > 0 && !yield(&other) {
				return
			}
		}
	}
}

// forms returns the other names under which a backend may serve the target.
func (t *Target) forms() []string {
	switch t.Kind {
	case Resource:
		return uris.Forms(t.Name)
	case Template:
		return uris.TemplateForms(t.Name)
	}
	return nil
}

// excuses reports whether the target is allowed although a decision refuses one of its forms: it is
// listed, the form lacks a part of it, and no rule refuses it.
func (t *Target) excuses(form string, d *Decision) bool {
	return t.IsListed && t.Kind == Resource && d.Err == nil && d.Rule == RuleDefault && form != t.Name && !slices.Contains(uris.Equivalents(t.Name), form)
}

// Hints are a tool's annotations. Absent ones have the defaults of MCP: not read-only, destructive
// unless read-only, not idempotent, open world.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// Stricter returns the stricter of two hints: read-only and idempotent if both are, destructive and
// open world if one is.
func (h Hints) Stricter(o Hints) Hints {
	return Hints{
		ReadOnly: h.ReadOnly && o.ReadOnly, Destructive: h.Destructive || o.Destructive,
		Idempotent: h.Idempotent && o.Idempotent, OpenWorld: h.OpenWorld || o.OpenWorld,
	}
}

func (h Hints) bits() (b byte) {
	for i, v := range [...]bool{h.ReadOnly, h.Destructive, h.Idempotent, h.OpenWorld} {
		if v {
			b |= 1 << i
		}
	}
	return b + '0'
}

// need is a compiled Scopes.
type need struct {
	all                       bool
	tools, prompts, resources pattern.List
	scopes                    []string
}

func newNeed(s Scopes) need {
	return need{
		all:   len(s.Tools)+len(s.Prompts)+len(s.Resources) == 0,
		tools: pattern.NewList(s.Tools), prompts: pattern.NewList(s.Prompts), resources: pattern.NewList(s.Resources),
		scopes: s.Need,
	}
}

func (n *need) appliesTo(t *Target) bool {
	if n.all {
		return true
	}
	switch t.Kind {
	case Tool:
		return n.tools.Match(t.Name)
	case Prompt:
		return n.prompts.Match(t.Name)
	default:
		return n.resources.Match(t.Name)
	}
}

package policy

import (
	"iter"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/internal/pattern"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// Kind is what sort of thing a caller names.
type Kind byte

// The kinds.
const (
	Tool     Kind = 't'
	Prompt   Kind = 'p'
	Resource Kind = 'r'
	// Template is a resource template, as it is listed and completed. What is read by it is a Resource.
	Template Kind = 'm'
)

// Target is something that exists, and that a caller names.
type Target struct {
	Kind Kind
	// Method is what the caller does with it; for lists the method by which an entry is used.
	Method mcp.Method
	// Name is that of a tool or prompt as clients see it, a resource's URI, or a template's text.
	Name string
	// Backend serves it.
	Backend string
	// Vars returns the variables of a Resource by each template of its backend that matches, decoded as the backend gets them: those
	// that differ, of which more than MaxReadings need not be complete. nil, or none: there are none. It is called only if conditions
	// look at them.
	Vars func() []map[string]string
	// Hints of a tool. The zero value has those of a tool without annotations but for Destructive and OpenWorld, which are
	// then true: see [Hints].
	Hints Hints

	// reading is the index, in what Vars returns, of the variables that are looked at.
	reading int
}

// MaxReadings bounds the templates with other variables that match one URI, on each of which is decided. What more match is denied.
const MaxReadings = 16

// variables are those of a resource; never nil.
func (t *Target) variables() map[string]string {
	if t.Vars == nil || t.Kind != Resource {
		return map[string]string{}
	}
	if all := t.Vars(); t.reading < len(all) {
		return all[t.reading]
	}
	return map[string]string{}
}

// others are the readings of a target beside its own: each of its forms, and each with the variables of each template, of which there
// are n at least 1.
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

// forms are the other names under which a backend may serve what is named, by which it is decided on, too.
func (t *Target) forms() []string {
	switch t.Kind {
	case Resource:
		return uris.Forms(t.Name)
	case Template:
		return uris.TemplateForms(t.Name)
	}
	return nil
}

// Hints are a tool's annotations with the defaults of MCP for those that are absent: not read-only, destructive unless it is
// read-only, not idempotent, of an open world.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// Stricter returns the hints that allow less: read-only and idempotent if both are, destructive and open to the world if one is.
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

// need is Scopes, ready for use.
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

func (n *need) about(t *Target) bool {
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

package catalog

import (
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// promptSet is the prompts of a view.
type promptSet struct {
	byName map[string]*Prompt
	// reserved maps the prompt names of backends that are away to them.
	reserved map[string]*backend.Backend
	// outranked is as in toolSet.
	outranked map[ownName]*Prompt
	List      *list
	conflicts []Conflict
	digest    uint64
}

// Prompt is one prompt of one backend.
type Prompt struct {
	Name  string // as shown, with the prefix
	Owner *backend.Backend
	Proto *pb.Prompt
	// target is the input of policy rules for the prompt.
	target policy.Target
}

func (m *merge) prompts(prev *promptSet, digest uint64) *promptSet {
	if prev != nil && prev.digest == digest && prev.List.hint == m.hint(listPrompts) {
		return prev
	}
	s := &promptSet{byName: make(map[string]*Prompt), reserved: make(map[string]*backend.Backend), outranked: make(map[ownName]*Prompt), digest: digest}
	s.List = m.list(listPrompts, "prompt", &s.conflicts, func(p part, add func(string, entry) bool) {
		for _, x := range p.Catalog.Prompts {
			if x.GetName() == "" {
				add("", entry{})
				continue
			}
			overlaid, visible := m.showing.overlay.Prompt(p.Backend.Name(), x)
			if !visible {
				continue
			}
			name := p.Backend.Prefix() + x.GetName()
			render := func(dst []byte, r *revision.Rules) ([]byte, error) {
				return translate.AppendPrompt(dst, r, overlaid, name)
			}
			target := policy.Target{Kind: policy.Prompt, Method: mcp.MethodPromptsGet, Name: name, Backend: p.Backend.Name()}
			one := &Prompt{Name: name, Owner: p.Backend, Proto: x, target: target}
			if add(name, entry{render: render, target: target}) {
				s.byName[name] = one
			} else {
				s.outranked[ownName{p.Backend.Name(), name}] = one
			}
		}
	}, func(name string, rank int) { s.reserved[name] = m.parts[rank].Backend })
	return s
}

// Lacking returns the names of required arguments that are missing. An empty argument is present.
func (p *Prompt) Lacking(args map[string]string) []string {
	var out []string
	for _, a := range p.Proto.GetArguments() {
		if _, given := args[a.GetName()]; a.GetRequired() && !given {
			out = append(out, a.GetName())
		}
	}
	return out
}

// promptOf returns the prompt that a call names, by the rules of toolOf.
func (v *View) promptOf(call *mcp.Call, name string) *Prompt {
	p := v.Prompts.byName[name]
	if call.Backend == "" || p != nil && p.Owner.Name() == call.Backend {
		return p
	}
	return v.Prompts.outranked[ownName{call.Backend, name}]
}

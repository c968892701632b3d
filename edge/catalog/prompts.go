package catalog

import (
	"cmp"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// promptSet is the prompts of a view.
type promptSet struct {
	// byName, reserved, byCanonical and hidden are as in toolSet.
	byName      map[string]*Prompt
	reserved    map[string]reserved
	byCanonical map[canonicalName]*Prompt
	hidden      map[canonicalName]hidden
	List        *list
	conflicts   []Conflict
	problems    []problem
	digest      uint64
}

// Prompt is one prompt of one backend.
type Prompt struct {
	// Name is the canonical name: the backend's, after its prefix. ShownName is the one in lists,
	// which the overlay may have changed.
	Name, ShownName string
	Owner           *backend.Backend
	Proto           *pb.Prompt
	// Arguments are as in Tool.
	Arguments []overlay.Argument
	// Trials are pinned arguments in audit mode.
	Trials []overlay.Argument
	// target is the input of policy rules for the prompt.
	target policy.Target
}

func (m *merge) prompts(prev *promptSet, digest uint64) *promptSet {
	if prev != nil && m.sameOverlay && m.sameBackends && prev.digest == digest && prev.List.hint == m.hint(listPrompts) {
		return prev
	}
	s := &promptSet{byName: make(map[string]*Prompt), reserved: make(map[string]reserved), byCanonical: make(map[canonicalName]*Prompt), hidden: make(map[canonicalName]hidden), digest: digest}
	s.List = m.list(listPrompts, "prompt", &s.conflicts, func(p part, add func(string, entry) []string) {
		for _, x := range p.Catalog.Prompts {
			if x.GetName() == "" {
				add("", entry{})
				continue
			}
			change := m.changed(listPrompts, p, x.GetName())
			overlaid, err := change.Prompt(x)
			name := canonical(listPrompts, p.Backend, x.GetName())
			own := canonicalName{p.Backend.Name(), name}
			if err != nil || change.Hide {
				m.reportUnchanged(&s.problems, p, "prompt", x.GetName(), err)
				s.hidden[own] = hidden{given: change.Given(), impossible: err}
				continue
			}
			trials := overlay.PromptTrials(change.Trials, x.GetArguments())
			m.reportTrials(&s.problems, p, "prompt", x.GetName(), trials)
			shownName := cmp.Or(change.Name, name)
			render := func(dst []byte, r *revision.Rules) ([]byte, error) {
				return translate.AppendPrompt(dst, r, overlaid, shownName)
			}
			target := policy.Target{Kind: policy.Prompt, Method: mcp.MethodPromptsGet, Name: name, Backend: p.Backend.Name()}
			one := &Prompt{Name: name, ShownName: shownName, Owner: p.Backend, Proto: x, Arguments: overlay.Texts(overlay.Adding(change.Arguments)), Trials: trials, target: target}
			keys := add(x.GetName(), entry{render: render, shown: func() (proto.Message, string) { return overlaid, shownName }, target: target})
			for _, key := range keys {
				s.byName[key] = one
			}
			if len(keys) > 0 || s.byCanonical[own] == nil {
				s.byCanonical[own] = one
			}
		}
	}, func(key, name string, rank int) { s.reserved[key] = m.reserved(listPrompts, name, rank) })
	if prev != nil {
		s.List.keepSums(prev.List)
	}
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
	if call.Backend == "" {
		return v.Prompts.byName[name]
	}
	return v.Prompts.byCanonical[canonicalName{call.Backend, name}]
}

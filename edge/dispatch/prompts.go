package dispatch

import (
	"context"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// promptSet is the prompts of a view.
type promptSet struct {
	byName map[string]*prompt
	// reserved are the names of backends that are away.
	reserved map[string]*backend.Backend
	// outranked are as those of tools.
	outranked map[ownName]*prompt
	list      *list
	conflicts []Conflict
	digest    uint64
}

// prompt is one prompt of one backend.
type prompt struct {
	name  string // as shown, with the prefix
	owner *backend.Backend
	pb    *pb.Prompt
	// target is what policy knows of it.
	target policy.Target
}

func (m *merge) prompts(prev *promptSet, digest uint64) *promptSet {
	if prev != nil && prev.digest == digest && prev.list.hint == m.hint(listPrompts) {
		return prev
	}
	s := &promptSet{byName: make(map[string]*prompt), reserved: make(map[string]*backend.Backend), outranked: make(map[ownName]*prompt), digest: digest}
	s.list = m.list(listPrompts, "prompt", &s.conflicts, func(p part, add func(string, entry) bool) {
		for _, x := range p.catalog.Prompts {
			if x.GetName() == "" {
				add("", entry{})
				continue
			}
			name := p.backend.Prefix() + x.GetName()
			render := func(dst []byte, r *revision.Rules) ([]byte, error) { return translate.AppendPrompt(dst, r, x, name) }
			target := policy.Target{Kind: policy.Prompt, Method: mcp.MethodPromptsGet, Name: name, Backend: p.backend.Name()}
			one := &prompt{name: name, owner: p.backend, pb: x, target: target}
			if add(name, entry{render: render, target: target}) {
				s.byName[name] = one
			} else {
				s.outranked[ownName{p.backend.Name(), name}] = one
			}
		}
	}, func(name string, rank int) { s.reserved[name] = m.parts[rank].backend })
	return s
}

// getPrompt runs prompts/get (MCP, "Prompts", "Getting a Prompt").
func (r *round) getPrompt(ctx context.Context) (mcp.Reply, error) {
	p := r.prompt
	if err := r.admitted(ctx, p.owner.Name()); err != nil {
		return mcp.Reply{}, err
	}
	if args := r.call.Params.Arguments; len(args) > 0 {
		if err := r.survey("params.arguments", args); err != nil {
			return mcp.Reply{}, err
		}
	}
	req, err := translate.GetPromptRequest(r.call, p.pb.GetName())
	if err != nil {
		return mcp.Reply{}, err
	}
	if lacking := p.lacking(req.GetArguments()); len(lacking) > 0 {
		return mcp.Reply{}, mcp.Errorf(mcp.KindInvalidParams, "prompt %q needs the arguments: %s", clip(p.name), strings.Join(lacking, ", "))
	}
	r.tell(req.Context, p.owner)
	ctx, end, err := r.begin(ctx, p.owner, p.pb.GetName())
	if err != nil {
		return mcp.Reply{}, err
	}
	defer end()
	stream, err := p.owner.Prompts().GetPrompt(ctx, req)
	if err != nil {
		return mcp.Reply{}, r.status(ctx, err)
	}
	out, err := receive[pb.GetPromptResponse, *pb.GetPromptResponse, *pb.GetPromptResult](ctx, r, stream)
	if err != nil {
		return mcp.Reply{}, err
	}
	if out.input != nil {
		return r.inputRequired(out.input)
	}
	result, err := translate.PromptResult(r.rules, r.d.server, out.result)
	if err != nil {
		return mcp.Reply{}, r.blame(err)
	}
	return mcp.Reply{Result: result}, nil
}

// lacking names the required arguments that are not given. An empty one is given.
func (p *prompt) lacking(args map[string]string) []string {
	var out []string
	for _, a := range p.pb.GetArguments() {
		if _, given := args[a.GetName()]; a.GetRequired() && !given {
			out = append(out, a.GetName())
		}
	}
	return out
}

// promptOf is the prompt that a call is about, as toolOf.
func (v *view) promptOf(call *mcp.Call, name string) *prompt {
	p := v.prompts.byName[name]
	if call.Backend == "" || p != nil && p.owner.Name() == call.Backend {
		return p
	}
	return v.prompts.outranked[ownName{call.Backend, name}]
}

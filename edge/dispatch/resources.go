package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// resourceSet is the resources and templates of a view, and which backend serves which URI.
type resourceSet struct {
	byURI        map[string]*backend.Backend
	templates    []*template // in the list's order
	byText       map[string]*template
	prefixes     []prefix                    // the longest first
	pages        map[string]*backend.Backend // see merge.pages
	skillRoots   []prefix                    // the directories of skills, the longest first
	skillList    *list
	list         *list
	templateList *list
	conflicts    []Conflict
	digest       uint64
}

func (m *merge) resources(prev *resourceSet, digest uint64) *resourceSet {
	prefixes, conflicts := m.prefixes()
	pages := m.pages()
	if prev != nil && prev.digest == digest && prev.list.hint == m.hint(listResources) &&
		prev.templateList.hint == m.hint(listTemplates) && prev.skillList.hint == m.hint(listSkills) && samePrefixes(prev.prefixes, prefixes) &&
		maps.Equal(prev.pages, pages) {
		return prev
	}
	s := &resourceSet{
		byURI: make(map[string]*backend.Backend), byText: make(map[string]*template),
		prefixes: prefixes, pages: pages, conflicts: conflicts, digest: digest,
	}
	s.list = m.list(listResources, "resource", &s.conflicts, func(p part, add func(string, entry) bool) {
		for _, x := range p.catalog.Resources {
			render := func(dst []byte, r *revision.Rules) ([]byte, error) { return translate.AppendResource(dst, r, x) }
			target := policy.Target{Kind: policy.Resource, Method: mcp.MethodResourcesRead, Name: x.GetUri(), Backend: p.backend.Name()}
			if add(x.GetUri(), entry{render: render, target: target}) {
				s.byURI[x.GetUri()] = p.backend
			}
		}
	})
	s.templateList = m.list(listTemplates, "resource template", &s.conflicts, func(p part, add func(string, entry) bool) {
		for _, x := range p.catalog.Templates {
			render := func(dst []byte, r *revision.Rules) ([]byte, error) { return translate.AppendTemplate(dst, r, x) }
			target := policy.Target{Kind: policy.Template, Method: mcp.MethodResourcesRead, Name: x.GetUriTemplate(), Backend: p.backend.Name()}
			if !add(x.GetUriTemplate(), entry{render: render, target: target}) {
				continue
			}
			t := newTemplate(x.GetUriTemplate(), p.backend, m.report)
			s.templates = append(s.templates, t)
			s.byText[t.text] = t
		}
	})
	m.skills(s)
	return s
}

// readResource runs resources/read (MCP, "Resources", "Reading Resources").
func (r *round) readResource(ctx context.Context) (mcp.Reply, error) {
	if !r.view.features.Resources {
		return mcp.Reply{}, r.notServed()
	}
	uri := r.call.Params.Target
	if !r.call.Params.HasTarget || uri == "" {
		return mcp.Reply{}, mcp.Errorf(mcp.KindInvalidParams, "params.uri is missing or no string: name the resource to read")
	}
	owner := r.view.resources.route(uri, r.d.report)
	if owner == nil {
		return mcp.Reply{}, r.resourceNotFound()
	}
	target := policy.Target{Kind: policy.Resource, Method: r.call.Method, Name: uri, Backend: owner.Name()}
	if err := r.decide(ctx, &target, noneGiven); errors.Is(err, policy.ErrHidden) {
		return mcp.Reply{}, r.resourceNotFound()
	} else if err != nil {
		return mcp.Reply{}, err
	}
	req, err := translate.ReadResourceRequest(r.call)
	if err != nil {
		return mcp.Reply{}, err
	}
	r.tell(req.Context, owner)
	ctx, end, err := r.begin(ctx, owner, uri)
	if err != nil {
		return mcp.Reply{}, err
	}
	defer end()
	stream, err := owner.Resources().ReadResource(ctx, req)
	if err != nil {
		return mcp.Reply{}, r.status(ctx, err)
	}
	out, err := receive[pb.ReadResourceResponse, *pb.ReadResourceResponse, *pb.ReadResourceResult](ctx, r, stream)
	if err != nil {
		return mcp.Reply{}, err
	}
	if out.input != nil {
		return r.inputRequired(out.input)
	}
	r.narrow(out.result.GetCache())
	reply, err := translate.ReadResult(r.rules, r.d.server, r.call.Envelope, out.result)
	if err != nil {
		return mcp.Reply{}, r.blame(err)
	}
	return reply, nil
}

func (r *round) resourceNotFound() *mcp.Error {
	if r.view.failed != nil {
		return mcp.AsError(r.view.failed)
	}
	return resourceNotFound(r.call.Params.Target)
}

// resourceNotFound has the URI in its data, as the specification requires.
func resourceNotFound(uri string) *mcp.Error {
	data := append(jsonrpc.AppendString([]byte(`{"uri":`), uri), '}')
	return &mcp.Error{
		Kind:    mcp.KindResourceNotFound,
		Message: "resource " + string(jsonrpc.AppendString(nil, clip(uri))) + " not found: no backend answers for it",
		Data:    json.RawMessage(data),
	}
}

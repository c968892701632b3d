package dispatch

import (
	"context"
	"encoding/json"

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
	owners       *owners
	byURI        map[string]int // the rank of whom a listed URI belongs to
	templates    []*template    // by rank
	byText       map[string]*template
	byNormal     map[string]*template // by the normal form of its text, the first
	spelled      spellings
	skillList    *list
	list         *list
	templateList *list
	conflicts    []Conflict
	digest       uint64
}

func (m *merge) resources(prev *resourceSet, digest uint64) *resourceSet {
	if prev != nil && prev.digest == digest && prev.list.hint == m.hint(listResources) &&
		prev.templateList.hint == m.hint(listTemplates) && prev.skillList.hint == m.hint(listSkills) && m.owners.sameURIs(prev.owners) {
		return prev
	}
	s := &resourceSet{
		owners: m.owners, byURI: make(map[string]int), byText: make(map[string]*template), byNormal: make(map[string]*template),
		conflicts: m.prefixes(), digest: digest,
	}
	s.list = m.list(listResources, "resource", &s.conflicts, func(p part, add func(string, entry) bool) {
		for _, x := range p.catalog.Resources {
			render := func(dst []byte, r *revision.Rules) ([]byte, error) { return translate.AppendResource(dst, r, x) }
			target := policy.Target{Kind: policy.Resource, Method: mcp.MethodResourcesRead, Name: x.GetUri(), Backend: p.backend.Name()}
			if add(x.GetUri(), entry{render: render, target: target}) {
				s.byURI[x.GetUri()] = m.rank(p)
			}
		}
	}, func(uri string, rank int) { s.byURI[uri] = rank })
	s.templateList = m.list(listTemplates, "resource template", &s.conflicts, func(p part, add func(string, entry) bool) {
		for _, x := range p.catalog.Templates {
			render := func(dst []byte, r *revision.Rules) ([]byte, error) { return translate.AppendTemplate(dst, r, x) }
			target := policy.Target{Kind: policy.Template, Method: mcp.MethodResourcesRead, Name: x.GetUriTemplate(), Backend: p.backend.Name()}
			if !add(x.GetUriTemplate(), entry{render: render, target: target}) {
				continue
			}
			s.addTemplate(newTemplate(x.GetUriTemplate(), p.backend, m.rank(p), m.report))
		}
	}, func(text string, rank int) { s.addTemplate(newTemplate(text, m.parts[rank].backend, rank, m.report)) })
	m.skills(s)
	s.spelled = m.spellings()
	return s
}

func (s *resourceSet) addTemplate(t *template) {
	s.templates = append(s.templates, t)
	s.byText[t.text] = t
	if normal := t.normal(); s.byNormal[normal] == nil {
		s.byNormal[normal] = t
	}
}

// ownerOf is the backend of the URI that a call is about, as the backend gets it: that which the call belongs to, if it belongs to one,
// else see route. nil: there is none, or it does not serve resources now.
func (v *view) ownerOf(call *mcp.Call, uri string, report *reporter) *backend.Backend {
	if call.Backend == "" {
		return v.resources.route(uri, report)
	}
	for i := range v.parts {
		if p := &v.parts[i]; p.backend.Name() == call.Backend && p.catalog.HasResources && !v.owners.away(i, listResources) {
			return p.backend
		}
	}
	return nil
}

// readResource runs resources/read (MCP, "Resources", "Reading Resources").
func (r *round) readResource(ctx context.Context) (mcp.Reply, error) {
	found, owner, uri := r.found, r.found.owner, r.call.Params.Target
	if err := r.admitted(ctx, owner.Name()); err != nil {
		return mcp.Reply{}, err
	}
	req, err := translate.ReadResourceRequest(r.call)
	if err != nil {
		return mcp.Reply{}, err
	}
	req.Uri = found.sent
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
	found.respell(out.result.GetContents(), uri)
	reply, err := translate.ReadResult(r.rules, r.d.server, r.call.Envelope, out.result)
	if err != nil {
		return mcp.Reply{}, r.blame(err)
	}
	return reply, nil
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

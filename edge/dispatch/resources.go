package dispatch

import (
	"context"
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// resourceSet is the resources and templates of a view, and which backend serves which URI.
type resourceSet struct {
	byURI        map[string]*backend.Backend
	templates    []*template // in the list's order
	byText       map[string]*template
	prefixes     []prefix // the longest first
	list         *list
	templateList *list
	conflicts    []Conflict
	digest       uint64
}

func (m *merge) resources(prev *resourceSet, digest uint64) *resourceSet {
	prefixes, conflicts := m.prefixes()
	if prev != nil && prev.digest == digest && prev.list.hint == m.hint(listResources) &&
		prev.templateList.hint == m.hint(listTemplates) && samePrefixes(prev.prefixes, prefixes) {
		return prev
	}
	s := &resourceSet{
		byURI: make(map[string]*backend.Backend), byText: make(map[string]*template),
		prefixes: prefixes, conflicts: conflicts, digest: digest,
	}
	s.list = m.list(listResources, "resource", &s.conflicts, func(p part, add func(string, entry) bool) {
		for _, x := range p.catalog.Resources {
			render := func(dst []byte, r *revision.Rules) ([]byte, error) { return translate.AppendResource(dst, r, x) }
			if add(x.GetUri(), entry{render: render}) {
				s.byURI[x.GetUri()] = p.backend
			}
		}
	})
	s.templateList = m.list(listTemplates, "resource template", &s.conflicts, func(p part, add func(string, entry) bool) {
		for _, x := range p.catalog.Templates {
			render := func(dst []byte, r *revision.Rules) ([]byte, error) { return translate.AppendTemplate(dst, r, x) }
			if !add(x.GetUriTemplate(), entry{render: render}) {
				continue
			}
			t := newTemplate(x.GetUriTemplate(), p.backend, m.report)
			s.templates = append(s.templates, t)
			s.byText[t.text] = t
		}
	})
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
		if r.view.failed != nil {
			return mcp.Reply{}, mcp.AsError(r.view.failed)
		}
		return mcp.Reply{}, resourceNotFound(uri)
	}
	req, err := translate.ReadResourceRequest(r.call)
	if err != nil {
		return mcp.Reply{}, err
	}
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

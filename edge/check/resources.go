package check

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/check/vet"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// resources reads the listed resources, the documents, some of each template, and an unknown one. It
// completes every variable, and watches the first resource.
func (p *prober) resources(ctx context.Context, listed []*pb.Resource, templates []*pb.ResourceTemplate) {
	unknown := unknownName + ":/nothing"
	if prefixes := p.survey.Described.GetResources().GetUriPrefixes(); len(prefixes) > 0 {
		unknown = prefixes[0] + unknownName
	}
	p.try(func() string {
		const what = "ReadResource, an unknown URI"
		return checkUnknown(p.findings, what, p.readResource(ctx, what, unknown))
	})
	var read []string
	for _, r := range listed[:min(len(listed), maxTried)] {
		read = append(read, r.Uri)
	}
	for _, uri := range p.documents[:min(len(p.documents), maxTried)] {
		if !slices.Contains(read, uri) {
			read = append(read, uri)
		}
	}
	for _, uri := range read {
		p.try(func() string { return p.readListed(ctx, fmt.Sprintf("ReadResource %q", uri), uri) })
	}
	for _, t := range templates[:min(len(templates), maxTried)] {
		p.template(ctx, t)
	}
	if len(listed) > 0 {
		p.watchResource(ctx, listed[0].Uri)
	}
}

func (p *prober) readResource(ctx context.Context, what, uri string) outcome[pb.ReadResourceResult] {
	ctx, cancel := p.working(ctx)
	defer cancel()
	about := p.request(newCall(), 1)
	stream, err := p.b.Resources().ReadResource(p.shown(ctx, about), &pb.ReadResourceRequest{Uri: uri, Context: about})
	if err != nil {
		p.status(ctx, what, err)
		return outcome[pb.ReadResourceResult]{err: err}
	}
	return drain(ctx, p.findings, what, stream.Recv, (*pb.ReadResourceResponse).GetResult)
}

func (p *prober) readListed(ctx context.Context, what, uri string) (ok string) {
	o := p.readResource(ctx, what, uri)
	switch {
	case o.failure != nil:
		p.note("%s: a failure, %s: %.120s", what, o.failure.GetReason(), o.failure.GetMessage())
		return ""
	case o.required != nil:
		return what + ": asks the client first"
	case o.result == nil:
		if o.err != nil && !crashed(o.err) && status.Code(o.err) != codes.DeadlineExceeded { // that is noted already
			p.note("%s: %s", what, statusText(o.err))
		}
		return ""
	}
	if len(o.result.GetContents()) == 0 {
		p.violation("%s: a result without contents: it must have at least one, or be a Failure NOT_FOUND", what)
	}
	for i, c := range o.result.GetContents() {
		p.contents(fmt.Sprintf("%s: contents[%d]", what, i), c)
		if slices.Contains(p.documents, uri) && c.GetText() != "" {
			p.trial.Document(p.b.Backend, uri, c.GetText())
		}
	}
	return fmt.Sprintf("%s: %d contents", what, len(o.result.GetContents()))
}

func (p *prober) contents(what string, c *pb.ResourceContents) {
	if err := uris.Check(c.GetUri()); err != nil {
		p.violation("%s: uri is %.80q, which is not a URI: %v", what, c.GetUri(), err)
	}
	if c.GetBody() == nil {
		p.violation("%s: neither text nor blob is set", what)
	}
	if err := vet.Meta(c.GetMetaJson()); err != nil {
		p.violation("%s: %v", what, err)
	}
}

// template completes all variables of a template, and reads the resource of the first suggestions.
func (p *prober) template(ctx context.Context, t *pb.ResourceTemplate) {
	parsed, err := uris.Parse(t.UriTemplate)
	if err != nil {
		return // reported with the list
	}
	values := map[string]string{}
	for _, variable := range parsed.Variables() {
		p.completed(fmt.Sprintf("CompleteResourceTemplate %q, %s", t.UriTemplate, variable), p.survey.Described.GetResources().GetCompletion(),
			func() (suggestions, error) {
				ctx, cancel := p.bounded(ctx)
				defer cancel()
				about := p.request(newCall(), 1)
				r, err := p.b.Resources().CompleteResourceTemplate(p.shown(ctx, about), &pb.CompleteResourceTemplateRequest{
					UriTemplate: t.UriTemplate, ArgumentName: variable, Context: about})
				if len(r.GetValues()) > 0 {
					values[variable] = r.GetValues()[0]
				}
				return r, err
			})
	}
	if len(values) < len(parsed.Variables()) {
		p.note("ReadResource of %q: not tried, since not every variable has suggestions", t.UriTemplate)
		return
	}
	uri := parsed.Expand(values)
	if err := uris.Check(uri); err != nil {
		p.violation("CompleteResourceTemplate %q: its suggestions make no URI: %v", t.UriTemplate, err)
		return
	}
	p.try(func() string { return p.readListed(ctx, fmt.Sprintf("ReadResource %q, by its template", uri), uri) })
}

// suggestions is the result of both kinds of completions.
type suggestions interface {
	GetValues() []string
	GetTotal() int32
}

// completed checks a completion. promised means that Describe announces completions.
func (p *prober) completed(what string, promised bool, complete func() (suggestions, error)) {
	r, err := complete()
	switch code := status.Code(err); {
	case code == codes.Unimplemented && promised:
		p.violation("%s: UNIMPLEMENTED, although Describe says that completion is served", what)
	case code == codes.Unimplemented:
		p.note("%s: UNIMPLEMENTED: no suggestions", what)
	case code == codes.InvalidArgument || code == codes.NotFound:
		p.note("%s: %s: an empty answer says that there are no suggestions", what, statusText(err))
	case err != nil:
		p.violation("%s: %s", what, statusText(err))
	case r.GetTotal() < 0 || r.GetTotal() > 0 && int(r.GetTotal()) < len(r.GetValues()):
		p.violation("%s: total is %d, with %d values: it counts them all", what, r.GetTotal(), len(r.GetValues()))
	default:
		if len(r.GetValues()) > 100 {
			p.note("%s: %d values, of which the edge shows 100", what, len(r.GetValues()))
		}
		p.ok("%s: %d values", what, len(r.GetValues()))
	}
}

// watchResource watches a resource and checks that the first event is started and that the feed
// stays open.
func (p *prober) watchResource(ctx context.Context, uri string) {
	promised := p.survey.Described.GetResources().GetSubscribe()
	what := fmt.Sprintf("WatchResource %q", uri)
	p.try(func() string {
		return p.follow(ctx, what, promised, func(ctx context.Context) (receive, error) {
			s, err := p.b.Resources().WatchResource(ctx, &pb.WatchResourceRequest{Uri: uri})
			return func() (bool, error) {
				m, err := s.Recv()
				return m.GetStarted() != nil, err
			}, err
		})
	})
}

package capability

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// resourceService implements the contract's ResourceService for a Server.
type resourceService struct {
	mcpedgev1.UnimplementedResourceServiceServer
	s *Server
}

func (r resourceService) ListResources(ctx context.Context, req *mcpedgev1.ListResourcesRequest) (*mcpedgev1.ListResourcesResponse, error) {
	var all []*Resource
	for _, e := range r.s.resources.all() {
		all = append(all, e.listed)
	}
	for _, p := range r.s.allProviders() {
		out := run(ctx, r.s.log, "list of "+p.prefix, &Call{}, func() ([]*Resource, error) { return p.provider.List(ctx) }, failPlainly)
		if out.err != nil {
			return nil, out.err
		}
		if out.failure != nil {
			return nil, failureStatus(out.failure)
		}
		all = append(all, out.result...)
	}
	resources, next, err := page(all, (*Resource).GetUri, req.GetPageToken(), req.GetPageSize())
	if err != nil {
		return nil, err
	}
	return &mcpedgev1.ListResourcesResponse{Resources: resources, NextPageToken: next, Cache: r.s.cache}, nil
}

func (r resourceService) ListResourceTemplates(_ context.Context, req *mcpedgev1.ListResourceTemplatesRequest) (*mcpedgev1.ListResourceTemplatesResponse, error) {
	entries := r.s.templates.all()
	all := make([]*ResourceTemplate, len(entries))
	for i, e := range entries {
		all[i] = e.listed
	}
	templates, next, err := page(all, (*ResourceTemplate).GetUriTemplate, req.GetPageToken(), req.GetPageSize())
	if err != nil {
		return nil, err
	}
	return &mcpedgev1.ListResourceTemplatesResponse{ResourceTemplates: templates, NextPageToken: next, Cache: r.s.cache}, nil
}

// reader returns the handler that reads a URI, of a resource, a template or a provider, or nil.
func (s *Server) reader(uri string) readHandler {
	if e, ok := s.resources.get(uri); ok {
		return e.read
	}
	if e, ok := s.resources.equivalent(uri); ok {
		return e.read
	}
	for _, t := range s.templates.all() {
		if t.parsed.Matches(uri) {
			return t.read
		}
	}
	if p := s.provider(uri); p != nil {
		return func(ctx context.Context, c *Call, uri string) ([]*ResourceContents, error) {
			contents, err := p.provider.Read(ctx, c, uri)
			return contentsOf(uri, "", contents, err)
		}
	}
	return nil
}

func (r resourceService) ReadResource(req *mcpedgev1.ReadResourceRequest, stream grpc.ServerStreamingServer[mcpedgev1.ReadResourceResponse]) error {
	rc, err := r.s.identified(stream.Context(), req.GetContext())
	if err != nil {
		return err
	}
	read := r.s.reader(req.GetUri())
	if read == nil {
		return stream.Send(readFailure((&Failure{Reason: NotFound, Message: notFound(req.GetUri()).Error()}).proto()))
	}
	c := &Call{rc: rc, send: readEvents{stream}}
	if err := c.load(req.GetInputResponses(), req.GetState()); err != nil {
		return stream.Send(readFailure(err.proto()))
	}
	ctx := stream.Context()
	name := "read of " + req.GetUri()
	out := run(ctx, r.s.log, name, c, func() ([]*ResourceContents, error) {
		return read(ctx, c, req.GetUri())
	}, mask(r.s, name, c, failPlainly[[]*ResourceContents]))
	switch {
	case out.err != nil:
		return out.err
	case out.required != nil:
		return stream.Send(&mcpedgev1.ReadResourceResponse{Message: &mcpedgev1.ReadResourceResponse_InputRequired{InputRequired: out.required}})
	case out.failure != nil:
		return stream.Send(readFailure(out.failure))
	}
	meta, cache := c.extras()
	return stream.Send(&mcpedgev1.ReadResourceResponse{Message: &mcpedgev1.ReadResourceResponse_Result{
		Result: &mcpedgev1.ReadResourceResult{Contents: out.result, Cache: cache, MetaJson: meta}}})
}

func (r resourceService) CompleteResourceTemplate(ctx context.Context, req *mcpedgev1.CompleteResourceTemplateRequest) (*mcpedgev1.CompleteResourceTemplateResponse, error) {
	rc, err := r.s.identified(ctx, req.GetContext())
	if err != nil {
		return nil, err
	}
	t, ok := r.s.templates.get(req.GetUriTemplate())
	if !ok {
		return nil, status.Errorf(codes.NotFound, "there is no resource template %s", quote(req.GetUriTemplate()))
	}
	got, err := complete(ctx, r.s.log, "template "+req.GetUriTemplate(), t.completers[req.GetArgumentName()],
		&Call{rc: rc}, req.GetArgumentValue(), req.GetContextArguments())
	if err != nil {
		return nil, err
	}
	return &mcpedgev1.CompleteResourceTemplateResponse{Values: got.values, Total: got.total, HasMore: got.more}, nil
}

func readFailure(f *mcpedgev1.Failure) *mcpedgev1.ReadResourceResponse {
	return &mcpedgev1.ReadResourceResponse{Message: &mcpedgev1.ReadResourceResponse_Failure{Failure: f}}
}

// readEvents sends events on the stream of a read.
type readEvents struct {
	stream grpc.ServerStreamingServer[mcpedgev1.ReadResourceResponse]
}

func (e readEvents) sendProgress(p *mcpedgev1.Progress) error {
	return e.stream.Send(&mcpedgev1.ReadResourceResponse{Message: &mcpedgev1.ReadResourceResponse_Progress{Progress: p}})
}

func (e readEvents) sendLog(l *mcpedgev1.LogMessage) error {
	return e.stream.Send(&mcpedgev1.ReadResourceResponse{Message: &mcpedgev1.ReadResourceResponse_Log{Log: l}})
}

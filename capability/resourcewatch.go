package capability

import (
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// heldProviders is the set of providers that one stream keeps watched.
type heldProviders map[*provided]struct{}

// take starts watching the providers whose prefix fits, unless the stream holds them already.
func (h heldProviders) take(s *Server, fits func(prefix string) bool) error {
	for _, p := range s.allProviders() {
		if _, held := h[p]; held || !fits(p.prefix) {
			continue
		}
		if err := p.watch.acquire(); err != nil {
			return status.Errorf(codes.Unavailable, "%s cannot be watched: %v", p.prefix, err)
		}
		h[p] = struct{}{}
	}
	return nil
}

func (h heldProviders) release() {
	for p := range h {
		p.watch.release()
	}
}

func (r resourceService) WatchResources(_ *mcpedgev1.WatchResourcesRequest, stream grpc.ServerStreamingServer[mcpedgev1.WatchResourcesResponse]) error {
	held := heldProviders{}
	defer held.release()
	every := func(string) bool { return true }
	return r.s.resourceFeed.serve(stream.Context().Done(), "", func() error {
		if err := held.take(r.s, every); err != nil {
			return err
		}
		return stream.Send(&mcpedgev1.WatchResourcesResponse{Event: &mcpedgev1.WatchResourcesResponse_Started{Started: &mcpedgev1.WatchStarted{}}})
	}, func(string) error {
		if err := held.take(r.s, every); err != nil { // the change may be a new provider
			return err
		}
		return stream.Send(&mcpedgev1.WatchResourcesResponse{Event: &mcpedgev1.WatchResourcesResponse_Changed{Changed: &mcpedgev1.ListChanged{}}})
	})
}

func (r resourceService) WatchResource(req *mcpedgev1.WatchResourceRequest, stream grpc.ServerStreamingServer[mcpedgev1.WatchResourceResponse]) error {
	uri := req.GetUri()
	parent := strings.HasSuffix(uri, "/")
	if r.s.reader(uri) == nil && !parent {
		return status.Error(codes.NotFound, notFound(uri).Error())
	}
	held := heldProviders{}
	defer held.release()
	return r.s.updates.serve(stream.Context().Done(), uri, func() error {
		err := held.take(r.s, func(prefix string) bool {
			return strings.HasPrefix(uri, prefix) || (parent && strings.HasPrefix(prefix, uri))
		})
		if err != nil {
			return err
		}
		return stream.Send(&mcpedgev1.WatchResourceResponse{Event: &mcpedgev1.WatchResourceResponse_Started{Started: &mcpedgev1.WatchStarted{}}})
	}, func(changed string) error {
		return stream.Send(&mcpedgev1.WatchResourceResponse{Event: &mcpedgev1.WatchResourceResponse_Updated{
			Updated: &mcpedgev1.ResourceUpdated{Uri: changed}}})
	})
}

package reflect

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Describe reports that there are tools, with the version of the learned methods. It also starts
// learning them again, if pace allows. WatchTools reports changes.
func (a *Adapter) Describe(ctx context.Context, _ *pb.DescribeRequest, _ ...grpc.CallOption) (*pb.DescribeResponse, error) {
	a.refresh()
	if err := a.served(ctx); err != nil {
		return nil, err
	}
	m, _ := a.current()
	return &pb.DescribeResponse{
		Implementation: &pb.Implementation{Name: a.opts.Name, Version: m.version},
		Tools:          &pb.ToolFeatures{ListChanged: true},
	}, nil
}

// pageBytes is the size at which a page of tools ends. A page has at least one tool.
const pageBytes = 1 << 20

// ListTools lists the tools, which are the same for all callers. If the tools have changed since
// the previous page, it returns an error, so that a list is consistent.
func (a *Adapter) ListTools(ctx context.Context, req *pb.ListToolsRequest, _ ...grpc.CallOption) (*pb.ListToolsResponse, error) {
	if err := a.served(ctx); err != nil {
		return nil, err
	}
	m, _ := a.current()
	from := 0
	if token := req.GetPageToken(); token != "" {
		at, of, _ := strings.Cut(token, "@")
		n, err := strconv.Atoi(at)
		switch {
		case err != nil || n < 0 || n > len(m.tools):
			return nil, status.Errorf(codes.InvalidArgument, "page_token %.40q was not issued for this list", token)
		case of != m.version:
			return nil, status.Error(codes.Aborted, "the tools have changed since the page before: list them anew")
		}
		from = n
	}
	res := &pb.ListToolsResponse{Cache: &pb.CacheHint{Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC}}
	size := 0
	for _, t := range m.tools[from:] {
		size += proto.Size(t)
		if n := len(res.Tools); n > 0 && (size > pageBytes || req.GetPageSize() > 0 && n >= int(req.GetPageSize())) {
			res.NextPageToken = fmt.Sprintf("%d@%s", from+n, m.version)
			break
		}
		res.Tools = append(res.Tools, proto.CloneOf(t)) // the caller may modify it
	}
	return res, nil
}

// WatchTools reports every new model, including after the service was away.
func (a *Adapter) WatchTools(ctx context.Context, _ *pb.WatchToolsRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[pb.WatchToolsResponse], error) {
	return open[pb.WatchToolsRequest, pb.WatchToolsResponse](ctx, a, func(e *events) error {
		m, changed := a.current()
		event := &pb.WatchToolsResponse{Event: &pb.WatchToolsResponse_Started{Started: &pb.WatchStarted{}}}
		for {
			if err := e.send(event); err != nil {
				return err
			}
			for before := m; m == before; {
				select {
				case <-changed:
					m, changed = a.current()
				case <-e.ctx.Done():
					return e.ctx.Err()
				}
			}
			event = &pb.WatchToolsResponse{Event: &pb.WatchToolsResponse_Changed{Changed: &pb.ListChanged{}}}
		}
	})
}

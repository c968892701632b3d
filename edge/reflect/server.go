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

// server is the contract as the edge sees it, on one link.
type server struct {
	pb.UnimplementedBackendServiceServer
	pb.UnimplementedToolServiceServer
	a *Adapter
	l *link
}

var (
	_ pb.BackendServiceServer = (*server)(nil)
	_ pb.ToolServiceServer    = (*server)(nil)
)

// Describe says that there are tools, and in its version what was learned of the service.
func (s *server) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	m, _ := s.a.current()
	return &pb.DescribeResponse{
		Implementation: &pb.Implementation{Name: s.a.opts.Name, Version: m.version},
		Tools:          &pb.ToolFeatures{ListChanged: true},
	}, nil
}

// pageBytes is how large a page of tools becomes, beyond its first tool.
const pageBytes = 1 << 20

// ListTools lists the tools, the same for everybody. A page of tools that have changed since the page
// before is refused, so that a list is of one time.
func (s *server) ListTools(_ context.Context, req *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	m, _ := s.a.current()
	from := 0
	if token := req.GetPageToken(); token != "" {
		at, of, _ := strings.Cut(token, "@")
		n, err := strconv.Atoi(at)
		switch {
		case err != nil || n < 0 || n > len(m.tools):
			return nil, status.Errorf(codes.InvalidArgument, "page_token %.40q is none of this list's", token)
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
		res.Tools = append(res.Tools, t)
	}
	return res, nil
}

// WatchTools reports every new model.
func (s *server) WatchTools(_ *pb.WatchToolsRequest, stream grpc.ServerStreamingServer[pb.WatchToolsResponse]) error {
	m, changed := s.a.current()
	event := &pb.WatchToolsResponse{Event: &pb.WatchToolsResponse_Started{Started: &pb.WatchStarted{}}}
	for {
		if err := stream.Send(event); err != nil {
			return err
		}
		for before := m; m == before; {
			select {
			case <-changed:
				m, changed = s.a.current()
			case <-s.l.ended.Done():
				return status.Error(codes.Unavailable, "the service is away")
			case <-stream.Context().Done():
				return status.FromContextError(stream.Context().Err()).Err()
			}
		}
		event = &pb.WatchToolsResponse{Event: &pb.WatchToolsResponse_Changed{Changed: &pb.ListChanged{}}}
	}
}

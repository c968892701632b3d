package admin

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/admin/v1"
)

const (
	defaultSessions, maxSessions = 100, 1000
	// directoryTimeout bounds one read of the state.
	directoryTimeout = 5 * time.Second
)

// Directory reads the sessions of a medium for operators, which does not count as a use of a
// session. It must be safe for concurrent use.
type Directory interface {
	// Load reads one session, as medium.Sessions says; use is false.
	Load(ctx context.Context, id string, use bool) (*state.SessionInfo, error)
	// List returns a page of sessions, as medium.Replicas says.
	List(ctx context.Context, cursor string, max int) (page []*state.SessionInfo, next string, err error)
}

// sessions implements SessionService.
type sessions struct {
	pb.UnimplementedSessionServiceServer
	server    Server
	directory Directory
	acts      operations
}

// ListSessions implements SessionService.
func (s *sessions) ListSessions(ctx context.Context, in *pb.ListSessionsRequest) (*pb.ListSessionsResponse, error) {
	size, err := pageSize(in.GetPageSize(), defaultSessions, maxSessions)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	page, next, err := s.directory.List(ctx, in.GetPageToken(), size)
	if err != nil {
		return nil, stateError(err)
	}
	out := &pb.ListSessionsResponse{NextPageToken: next}
	for _, one := range page {
		out.Sessions = append(out.Sessions, summary(one))
	}
	return out, nil
}

// GetSession implements SessionService.
func (s *sessions) GetSession(ctx context.Context, in *pb.GetSessionRequest) (*pb.GetSessionResponse, error) {
	one, err := s.load(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	out := summary(one)
	out.ClientCapabilities = object(one.Capabilities)
	out.Subscriptions = one.Subscriptions
	return &pb.GetSessionResponse{Session: out}, nil
}

// EndSession implements SessionService: it sends a DELETE on behalf of the session's owner.
func (s *sessions) EndSession(ctx context.Context, in *pb.EndSessionRequest) (out *pb.EndSessionResponse, err error) {
	err = s.acts.do(ctx, Act{Method: ActEndSession, Session: in.GetId()}, func() (err error) {
		out, err = s.end(ctx, in)
		return err
	})
	return out, err
}

func (s *sessions) end(ctx context.Context, in *pb.EndSessionRequest) (*pb.EndSessionResponse, error) {
	one, err := s.load(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	var out unary
	s.server.End(ctx, &mcp.Incoming{Session: one.ID, Set: one.Set, Principal: one.Principal}, &out)
	if out.accepted {
		return &pb.EndSessionResponse{}, nil
	}
	_, err = out.result(ctx)
	return nil, err
}

func (s *sessions) load(ctx context.Context, id string) (*state.SessionInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	one, err := s.directory.Load(ctx, id, false)
	if err != nil {
		return nil, stateError(err)
	}
	return one, nil
}

// summary returns a session without its potentially long fields.
func summary(s *state.SessionInfo) *pb.Session {
	out := &pb.Session{
		Id: s.ID, LogId: telemetry.SessionPrint(s.ID), Revision: s.Version, ClientInfo: object(s.ClientInfo),
		LogLevel: s.LogLevel.String(), Initialized: s.Initialized,
		SubscriptionCount: int32Of(len(s.Subscriptions)), OpenCalls: int32Of(s.OpenCalls),
		ExpireTime: timestamppb.New(s.Expires),
	}
	if !s.Principal.Anonymous() {
		out.Principal = owner(&s.Principal)
	}
	return out
}

func owner(p *mcp.Principal) *pb.Principal {
	return &pb.Principal{Subject: p.Subject, Issuer: p.Issuer, SubjectIsClient: p.SubjectIsClient}
}

// object returns a client's declaration. It returns nil for an empty one, and for one that protobuf
// cannot represent.
func object(raw []byte) *structpb.Struct {
	v, ok := value(raw)
	if !ok {
		return nil
	}
	return v.GetStructValue()
}

func stateError(err error) error {
	switch {
	case errors.Is(err, state.ErrNotFound):
		return status.Error(codes.NotFound, "the session does not exist or has ended: GET /v1/sessions lists the open ones")
	case errors.Is(err, state.ErrCursor):
		return status.Error(codes.InvalidArgument, "pageToken was not issued for this list: list again without it")
	case errors.Is(err, context.Canceled):
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Unavailable, "the session state cannot be reached: try again later")
}

package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/admin/v1"
)

// Disabler disables and enables for operators. It must be safe for concurrent use.
type Disabler interface {
	// Loaded reports whether List is known. It is false on a replica that has not reached the medium
	// since its start.
	Loaded() bool
	// List returns the list of disabled objects. nil means that nothing is disabled.
	List() *disabled.List
	// Disable disables an object on all replicas, and returns its entry with the time. The errors
	// are disabled.ErrFull and those of the medium.
	Disable(ctx context.Context, e disabled.Entry) (disabled.Entry, error)
	// Enable enables an object on all replicas. The entry has its ID and the operator. The errors
	// are disabled.ErrNotDisabled and those of the medium.
	Enable(ctx context.Context, e disabled.Entry) error
	// Shared reports whether the list is stored, so that other replicas have it, and this one after
	// a restart.
	Shared() bool
}

// Finder finds the object with a name. kind and backend may be empty. The error is a
// *disabled.NotFoundError, or says what is wrong with the name.
type Finder func(kind disabled.Kind, backend, name string) (disabled.Found, error)

// errNotLoaded is the error of requests to a replica that has not read the list of disabled
// objects.
var errNotLoaded = status.Error(codes.Unavailable, "this replica has not read yet what operators have disabled, because the state cannot be reached: try again")

// disabledService implements DisabledService.
type disabledService struct {
	pb.UnimplementedDisabledServiceServer
	disabler Disabler
	find     Finder
	acts     operations
}

// ListDisabled implements DisabledService.
func (s *disabledService) ListDisabled(context.Context, *pb.ListDisabledRequest) (*pb.ListDisabledResponse, error) {
	if !s.disabler.Loaded() {
		return nil, errNotLoaded
	}
	return &pb.ListDisabledResponse{Disabled: disabledOf(s.disabler.List())}, nil
}

// Disable implements DisabledService.
func (s *disabledService) Disable(ctx context.Context, in *pb.DisableRequest) (*pb.DisableResponse, error) {
	found, err := s.find(disabled.Kind(in.GetKind()), in.GetBackend(), in.GetName())
	var done disabled.Entry
	var before *pb.Disabled
	err = s.act(ctx, ActDisable, in, found.ID, found.Canonical, err, func(by mcp.Principal) (err error) {
		before = s.entryOf(found.ID)
		done, err = s.disabler.Disable(ctx, disabled.Entry{
			ID: found.ID, Canonical: found.Canonical, Reason: in.GetReason(), Issuer: by.Issuer, Subject: by.Subject, SubjectIsClient: by.SubjectIsClient,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &pb.DisableResponse{Disabled: disabledEntry(&done), Unlisted: found.Unlisted, Replaced: before, ThisProcessOnly: !s.disabler.Shared()}, nil
}

// entryOf returns the entry of a disabled object, as far as this replica knows, or nil.
func (s *disabledService) entryOf(id disabled.ID) *pb.Disabled {
	for _, e := range s.disabler.List().Entries() {
		if e.ID == id {
			return disabledEntry(&e)
		}
	}
	return nil
}

// Enable implements DisabledService.
func (s *disabledService) Enable(ctx context.Context, in *pb.EnableRequest) (*pb.EnableResponse, error) {
	if !s.disabler.Loaded() {
		return nil, errNotLoaded
	}
	was, err := s.named(in)
	err = s.act(ctx, ActEnable, in, was.ID, was.Canonical, err, func(by mcp.Principal) error {
		return s.disabler.Enable(ctx, disabled.Entry{ID: was.ID, Issuer: by.Issuer, Subject: by.Subject, SubjectIsClient: by.SubjectIsClient})
	})
	if err != nil {
		return nil, err
	}
	return &pb.EnableResponse{Enabled: disabledEntry(&was), ThisProcessOnly: !s.disabler.Shared()}, nil
}

// disableRequest is what both requests have.
type disableRequest interface {
	GetName() string
	GetKind() string
	GetBackend() string
	GetReason() string
}

// act records an operator's act, and then calls fn unless missing is not nil. missing is the error
// for a name that was not found. canonical is the canonical name of a tool.
func (s *disabledService) act(ctx context.Context, method string, in disableRequest, id disabled.ID, canonical string, missing error, fn func(by mcp.Principal) error) error {
	act := Act{Method: method, Reason: mcp.ClipText(in.GetReason())}
	switch id.Kind {
	case disabled.Backend:
		act.Backend = id.Name
	case disabled.Set:
		act.Set = id.Name
	case disabled.Tool:
		act.Target, act.Backend = canonical, id.Backend
	default:
		act.Target = mcp.ClipText(in.GetName())
	}
	return s.acts.do(ctx, act, func() error {
		err := missing
		if n := len(in.GetReason()); err == nil && n > disabled.MaxReason {
			err = fmt.Errorf("reason: it has %d bytes, the limit is %d", n, disabled.MaxReason)
		}
		if err != nil {
			code := codes.InvalidArgument
			if errors.As(err, new(*disabled.NotFoundError)) || errors.Is(err, disabled.ErrNotDisabled) {
				code = codes.NotFound
			}
			return status.Error(code, err.Error())
		}
		return disabledError(fn(caller(ctx)))
	})
}

// named returns the entry of the disabled object that a request names. If the list does not have
// the name, it uses the name that Disable would find.
func (s *disabledService) named(in *pb.EnableRequest) (disabled.Entry, error) {
	var found []disabled.Entry
	match := func(is func(e *disabled.Entry) bool) {
		for _, e := range s.disabler.List().Entries() {
			if is(&e) {
				found = append(found, e)
			}
		}
	}
	kind, backend := disabled.Kind(in.GetKind()), in.GetBackend()
	match(func(e *disabled.Entry) bool {
		return cmp.Or(e.Canonical, e.Name) == in.GetName() && cmp.Or(kind, e.Kind) == e.Kind && cmp.Or(backend, e.Backend) == e.Backend
	})
	if len(found) == 0 {
		if named, err := s.find(kind, backend, in.GetName()); err == nil {
			match(func(e *disabled.Entry) bool { return e.ID == named.ID })
		}
	}
	switch len(found) {
	case 0:
		return disabled.Entry{}, fmt.Errorf("%q: %w: GET /v1/catalog/disabled lists what is", mcp.ClipText(in.GetName()), disabled.ErrNotDisabled)
	case 1:
		return found[0], nil
	}
	var texts []string
	for i := range found {
		texts = append(texts, strings.TrimSpace(string(found[i].Kind)+" "+found[i].Backend))
	}
	return disabled.Entry{}, fmt.Errorf("%q is the name of several that are disabled (%s): give the kind and, for a tool, the backend",
		mcp.ClipText(in.GetName()), strings.Join(texts, ", "))
}

// disabledError converts an error of a Disabler to a status.
func disabledError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, disabled.ErrNotDisabled):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, disabled.ErrFull):
		return status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, state.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.Unavailable, "the state cannot be reached, so that the replicas cannot be made to agree: try again; a refused change may take effect later")
	case errors.Is(err, context.Canceled):
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Internal, err.Error())
}

// disabledOf converts a list to the API's type.
func disabledOf(l *disabled.List) (out []*pb.Disabled) {
	for _, e := range l.Entries() {
		out = append(out, disabledEntry(&e))
	}
	return out
}

func disabledEntry(e *disabled.Entry) *pb.Disabled {
	return &pb.Disabled{
		Kind: string(e.Kind), Name: cmp.Or(e.Canonical, e.Name), Backend: e.Backend, Reason: e.Reason, Since: timestamppb.New(e.Since),
		Operator: &pb.Principal{Subject: e.Subject, Issuer: e.Issuer, SubjectIsClient: e.SubjectIsClient},
	}
}

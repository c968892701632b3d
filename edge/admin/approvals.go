package admin

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/tasks"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/admin/v1"
)

// approvalsPath is the path of the ApprovalService.
const approvalsPath = "/v1/approvals"

// maxRefusal bounds the reason of a refusal, in bytes.
const maxRefusal = 1024

// maxApproval bounds the id of an approval in a decision, in bytes.
const maxApproval = 64

// Approvals has the calls that wait for the approval of another person. It must be safe for
// concurrent use. The errors are those of the medium, tasks.ErrNotWaiting, tasks.ErrOtherApproval,
// and a *mcp.Error if the caller may not decide.
type Approvals interface {
	// Approval returns one call that waits.
	Approval(ctx context.Context, id string) (*tasks.Waiting, error)
	// Approvals returns those that wait of a page of tasks.
	Approvals(ctx context.Context, cursor string, most int) (page []*tasks.Waiting, next string, err error)
	// MayDecide returns one call that waits, and an error if the principal may not decide on the
	// approval with an id (tasks.Waiting.ApprovalID).
	MayDecide(ctx context.Context, id, approval string, by *mcp.Principal) (*tasks.Waiting, error)
	// Decide grants or refuses what a call waits for, if that is the approval with an id.
	Decide(ctx context.Context, id, approval string, by *mcp.Principal, grant bool, reason string) (*tasks.Waiting, error)
}

// approvalService implements ApprovalService.
type approvalService struct {
	pb.UnimplementedApprovalServiceServer
	approvals Approvals
	acts      operations
}

// ListApprovals implements ApprovalService.
func (s *approvalService) ListApprovals(ctx context.Context, in *pb.ListApprovalsRequest) (*pb.ListApprovalsResponse, error) {
	size, err := pageSize(in.GetPageSize(), defaultTasks, maxTasks)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	page, next, err := s.approvals.Approvals(ctx, in.GetPageToken(), size)
	if err != nil {
		return nil, approvalError(err)
	}
	out := &pb.ListApprovalsResponse{NextPageToken: next}
	for _, w := range page {
		out.Approvals = append(out.Approvals, approval(w))
	}
	return out, nil
}

// GetApproval implements ApprovalService.
func (s *approvalService) GetApproval(ctx context.Context, in *pb.GetApprovalRequest) (*pb.GetApprovalResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	w, err := s.approvals.Approval(ctx, in.GetId())
	if err != nil {
		return nil, approvalError(err)
	}
	return &pb.GetApprovalResponse{Approval: approval(w)}, nil
}

// GrantApproval implements ApprovalService.
func (s *approvalService) GrantApproval(ctx context.Context, in *pb.GrantApprovalRequest) (*pb.GrantApprovalResponse, error) {
	w, err := s.decide(ctx, Act{Method: ActGrant, Task: in.GetId(), Approval: in.GetApproval()}, "")
	if err != nil {
		return nil, err
	}
	return &pb.GrantApprovalResponse{Approval: approval(w)}, nil
}

// RefuseApproval implements ApprovalService.
func (s *approvalService) RefuseApproval(ctx context.Context, in *pb.RefuseApprovalRequest) (*pb.RefuseApprovalResponse, error) {
	if n := len(in.GetReason()); n > maxRefusal {
		return nil, status.Errorf(codes.InvalidArgument, "reason: it has %d bytes, the limit is %d", n, maxRefusal)
	}
	w, err := s.decide(ctx, Act{Method: ActRefuse, Task: in.GetId(), Approval: in.GetApproval()}, in.GetReason())
	if err != nil {
		return nil, err
	}
	return &pb.RefuseApprovalResponse{Approval: approval(w)}, nil
}

// decide records who decides on what, and whether they may, before the decision has an effect. act
// has the method, the task and the approval.
func (s *approvalService) decide(ctx context.Context, act Act, reason string) (w *tasks.Waiting, err error) {
	switch n := len(act.Approval); {
	case n == 0:
		return nil, status.Error(codes.InvalidArgument, "approval: it is missing: send the approval that GET /v1/approvals has beside the id, so that the decision is on what you have read")
	case n > maxApproval:
		return nil, status.Errorf(codes.InvalidArgument, "approval: it has %d bytes, the limit is %d: send the approval that GET /v1/approvals has beside the id", n, maxApproval)
	}
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	by := caller(ctx)
	act.Reason = mcp.ClipText(reason)
	w, err = s.approvals.MayDecide(ctx, act.Task, act.Approval, &by)
	if w != nil {
		act.Target, act.Backend, act.Set, act.Awaited = w.Tool, w.Backend, w.Set, &w.Approval
	}
	refused := approvalError(err)
	act.Denied = status.Code(refused) == codes.PermissionDenied
	err = s.acts.do(ctx, act, func() error {
		if refused != nil {
			return refused
		}
		var err error
		w, err = s.approvals.Decide(ctx, act.Task, act.Approval, &by, act.Method == ActGrant, reason)
		return approvalError(err)
	})
	return w, err
}

func approval(w *tasks.Waiting) *pb.Approval {
	return &pb.Approval{
		Id: w.ID, Approval: w.ApprovalID, Names: w.Names, Tool: w.Tool, Backend: w.Backend, Set: w.Set, Requester: owner(&w.Requester), Message: w.Message,
		CreateTime: timestamppb.New(w.Since), ExpireTime: timestamppb.New(w.Expires),
	}
}

// approvalError converts an error of Approvals to a status; nil stays nil.
func approvalError(err error) error {
	var refused *mcp.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tasks.ErrNotWaiting):
		return status.Error(codes.FailedPrecondition, "the call does not wait for an approval: it was decided on, has ended, or does not wait yet; GET /v1/approvals lists those that wait")
	case errors.Is(err, tasks.ErrOtherApproval):
		return status.Error(codes.FailedPrecondition, "the call waits for another approval than the one that the decision names, which was decided on or has expired: nothing was changed; read GET /v1/approvals/ID, and decide on the approval that it has")
	case errors.Is(err, state.ErrNotFound):
		return status.Error(codes.NotFound, "no call with this id waits for an approval, or it has expired: GET /v1/approvals lists those that wait")
	case errors.As(err, &refused) && refused.Kind == mcp.KindForbidden:
		return status.Error(codes.PermissionDenied, refused.Message)
	}
	return taskError(err)
}

package admin

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/tasks"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/admin/v1"
)

const defaultTasks, maxTasks = 100, 1000

// revokeTimeout bounds the wait for the end of a cancelled task.
const revokeTimeout = 15 * time.Second

// Tasks reads and cancels tasks for operators. It must be safe for concurrent use. The errors are
// those of the medium.
type Tasks interface {
	// Inspect returns one task.
	Inspect(ctx context.Context, id string) (*tasks.Report, error)
	// Inspected returns a page of all tasks.
	Inspected(ctx context.Context, cursor string, most int) (page []*tasks.Report, next string, err error)
	// Revoke cancels a task for an operator.
	Revoke(ctx context.Context, id string, by mcp.Principal) (*tasks.Report, error)
}

// taskService implements TaskService.
type taskService struct {
	pb.UnimplementedTaskServiceServer
	tasks Tasks
	acts  operations
}

// ListTasks implements TaskService.
func (s *taskService) ListTasks(ctx context.Context, in *pb.ListTasksRequest) (*pb.ListTasksResponse, error) {
	size, err := pageSize(in.GetPageSize(), defaultTasks, maxTasks)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	page, next, err := s.tasks.Inspected(ctx, in.GetPageToken(), size)
	if err != nil {
		return nil, taskError(err)
	}
	out := &pb.ListTasksResponse{NextPageToken: next}
	for _, one := range page {
		out.Tasks = append(out.Tasks, task(one))
	}
	return out, nil
}

// GetTask implements TaskService.
func (s *taskService) GetTask(ctx context.Context, in *pb.GetTaskRequest) (*pb.GetTaskResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	one, err := s.tasks.Inspect(ctx, in.GetId())
	if err != nil {
		return nil, taskError(err)
	}
	return &pb.GetTaskResponse{Task: task(one)}, nil
}

// CancelTask implements TaskService.
func (s *taskService) CancelTask(ctx context.Context, in *pb.CancelTaskRequest) (out *pb.CancelTaskResponse, err error) {
	err = s.acts.do(ctx, Act{Method: ActCancelTask, Task: in.GetId()}, func() (err error) {
		out, err = s.cancel(ctx, in)
		return err
	})
	return out, err
}

func (s *taskService) cancel(ctx context.Context, in *pb.CancelTaskRequest) (*pb.CancelTaskResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, revokeTimeout)
	defer cancel()
	one, err := s.tasks.Revoke(ctx, in.GetId(), caller(ctx))
	if err != nil {
		return nil, taskError(err)
	}
	return &pb.CancelTaskResponse{Task: task(one)}, nil
}

func task(r *tasks.Report) *pb.Task {
	out := &pb.Task{
		Id: r.ID, Tool: r.Tool, Revision: r.Version, Status: string(r.Status), StatusMessage: r.Message, ToolError: r.ToolError,
		CreateTime: timestamppb.New(r.Created), UpdateTime: timestamppb.New(r.Updated),
	}
	if !r.Principal.Anonymous() {
		out.Principal = owner(&r.Principal)
	}
	for _, q := range r.Questions {
		out.Questions = append(out.Questions, &pb.TaskQuestion{Key: q.Key, Method: string(q.Method)})
	}
	return out
}

func taskError(err error) error {
	if errors.Is(err, state.ErrNotFound) {
		return status.Error(codes.NotFound, "the task does not exist or has expired: GET /v1/tasks lists the existing ones")
	}
	return stateError(err)
}

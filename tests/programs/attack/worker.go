package main

import (
	"context"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

const (
	// scopedTool is a tool of worker, which is always a task.
	scopedTool = "work"
	// secretOfTask is in all that worker says, and in the arguments.
	secretOfTask = "secret"
	workScoped   = `policy: {default: allow, scopes: [{tools: [work], need: [work]}]}`
	workHidden   = `policy: {default: allow, rules: [{name: gone, when: 'tool.name == "work"', then: hide}]}`
)

// worker is a backend whose tool tells its progress and asks, or ends at once if its arguments say so.
type worker struct {
	pb.UnimplementedToolServiceServer
	answered atomic.Int64 // rounds that came with an answer
}

func (w *worker) register(s *grpc.Server) { pb.RegisterToolServiceServer(s, w) }

// ListTools implements the contract.
func (w *worker) ListTools(context.Context, *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	return &pb.ListToolsResponse{Tools: []*pb.Tool{{Name: scopedTool, TaskSupport: &pb.TaskSupport{Mode: pb.TaskMode_TASK_MODE_REQUIRED}}}}, nil
}

// CallTool implements the contract.
func (w *worker) CallTool(in *pb.CallToolRequest, s stream) error {
	if err := s.Send(&pb.CallToolResponse{Message: &pb.CallToolResponse_Progress{Progress: &pb.Progress{Progress: 1, Message: "secret progress"}}}); err != nil {
		return err
	}
	if len(in.GetInputResponses()) > 0 {
		w.answered.Add(1)
	}
	if len(in.GetInputResponses()) > 0 || strings.Contains(in.GetArgumentsJson(), `"ends"`) {
		return say(s, "secret result")
	}
	return s.Send(&pb.CallToolResponse{Message: &pb.CallToolResponse_InputRequired{InputRequired: &pb.InputRequired{
		Requests: []*pb.InputRequest{elicitForm("pin", "secret question", "pin")},
	}}})
}

// elicitForm is a question for one text, which has to be given.
func elicitForm(key, message, member string) *pb.InputRequest {
	return &pb.InputRequest{Key: key, Request: &pb.InputRequest_ElicitForm{ElicitForm: &pb.ElicitForm{
		Message:             message,
		RequestedSchemaJson: `{"type":"object","properties":{"` + member + `":{"type":"string"}},"required":["` + member + `"]}`,
	}}}
}

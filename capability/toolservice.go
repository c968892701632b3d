package capability

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// toolService implements the contract's ToolService for a Server.
type toolService struct {
	mcpedgev1.UnimplementedToolServiceServer
	s *Server
}

func (t toolService) ListTools(_ context.Context, req *mcpedgev1.ListToolsRequest) (*mcpedgev1.ListToolsResponse, error) {
	entries := t.s.tools.all()
	all := make([]*Tool, len(entries))
	for i, e := range entries {
		all[i] = e.listed
	}
	tools, next, err := page(all, (*Tool).GetName, req.GetPageToken(), req.GetPageSize())
	if err != nil {
		return nil, err
	}
	return &mcpedgev1.ListToolsResponse{Tools: tools, NextPageToken: next, Cache: t.s.cache}, nil
}

func (t toolService) CallTool(req *mcpedgev1.CallToolRequest, stream grpc.ServerStreamingServer[mcpedgev1.CallToolResponse]) error {
	rc, err := t.s.identified(stream.Context(), req.GetContext())
	if err != nil {
		return err
	}
	tool, ok := t.s.tools.get(req.GetName())
	if !ok {
		return stream.Send(toolFailure((&Failure{Reason: NotFound, Message: "there is no tool " + quote(req.GetName())}).proto()))
	}
	c := &Call{rc: rc, send: toolEvents{stream}}
	if err := c.load(req.GetInputResponses(), req.GetState()); err != nil {
		return stream.Send(toolFailure(err.proto()))
	}
	ctx := stream.Context()
	name := "tool " + req.GetName()
	out := forModel(run(ctx, t.s.log, name, c, func() (*mcpedgev1.CallToolResult, error) {
		return tool.handler(ctx, c, req.GetArgumentsJson())
	}, mask(t.s, name, c, plainToolError)))
	switch {
	case out.err != nil:
		return out.err
	case out.required != nil:
		return stream.Send(&mcpedgev1.CallToolResponse{Message: &mcpedgev1.CallToolResponse_InputRequired{InputRequired: out.required}})
	case out.failure != nil:
		return stream.Send(toolFailure(out.failure))
	}
	if out.result.MetaJson == "" {
		out.result.MetaJson, _ = c.extras()
	}
	return stream.Send(&mcpedgev1.CallToolResponse{Message: &mcpedgev1.CallToolResponse_Result{Result: out.result}})
}

func (t toolService) WatchTools(_ *mcpedgev1.WatchToolsRequest, stream grpc.ServerStreamingServer[mcpedgev1.WatchToolsResponse]) error {
	return t.s.toolFeed.serve(stream.Context().Done(), "", func() error {
		return stream.Send(&mcpedgev1.WatchToolsResponse{Event: &mcpedgev1.WatchToolsResponse_Started{Started: &mcpedgev1.WatchStarted{}}})
	}, func(string) error {
		return stream.Send(&mcpedgev1.WatchToolsResponse{Event: &mcpedgev1.WatchToolsResponse_Changed{Changed: &mcpedgev1.ListChanged{}}})
	})
}

func toolFailure(f *mcpedgev1.Failure) *mcpedgev1.CallToolResponse {
	return &mcpedgev1.CallToolResponse{Message: &mcpedgev1.CallToolResponse_Failure{Failure: f}}
}

// toolEvents sends events on the stream of a tool call.
type toolEvents struct {
	stream grpc.ServerStreamingServer[mcpedgev1.CallToolResponse]
}

func (e toolEvents) sendProgress(p *mcpedgev1.Progress) error {
	return e.stream.Send(&mcpedgev1.CallToolResponse{Message: &mcpedgev1.CallToolResponse_Progress{Progress: p}})
}

func (e toolEvents) sendLog(l *mcpedgev1.LogMessage) error {
	return e.stream.Send(&mcpedgev1.CallToolResponse{Message: &mcpedgev1.CallToolResponse_Log{Log: l}})
}

func (e toolEvents) sendDefer() error {
	return e.stream.Send(&mcpedgev1.CallToolResponse{Message: &mcpedgev1.CallToolResponse_Defer{Defer: &mcpedgev1.Defer{}}})
}

func (e toolEvents) sendCheckpoint(state []byte) error {
	return e.stream.Send(&mcpedgev1.CallToolResponse{Message: &mcpedgev1.CallToolResponse_Checkpoint{Checkpoint: &mcpedgev1.Checkpoint{State: state}}})
}

func (t toolService) CancelCall(ctx context.Context, req *mcpedgev1.CancelCallRequest) (*mcpedgev1.CancelCallResponse, error) {
	rc, err := t.s.identified(ctx, req.GetContext())
	if err != nil {
		return nil, err
	}
	known, _ := t.s.cancels.Load(req.GetName())
	fn, _ := known.(func(context.Context, *Call) error)
	if fn == nil {
		return &mcpedgev1.CancelCallResponse{}, nil
	}
	c := &Call{rc: rc}
	if failure := c.load(nil, req.GetState()); failure != nil {
		return nil, status.Error(codes.InvalidArgument, failure.Message)
	}
	if err := fn(ctx, c); err != nil {
		return nil, err
	}
	return &mcpedgev1.CancelCallResponse{}, nil
}

package capability

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// promptService implements the contract's PromptService for a Server.
type promptService struct {
	mcpedgev1.UnimplementedPromptServiceServer
	s *Server
}

func (p promptService) ListPrompts(_ context.Context, req *mcpedgev1.ListPromptsRequest) (*mcpedgev1.ListPromptsResponse, error) {
	entries := p.s.prompts.all()
	all := make([]*Prompt, len(entries))
	for i, e := range entries {
		all[i] = e.listed
	}
	prompts, next, err := page(all, (*Prompt).GetName, req.GetPageToken(), req.GetPageSize())
	if err != nil {
		return nil, err
	}
	return &mcpedgev1.ListPromptsResponse{Prompts: prompts, NextPageToken: next, Cache: p.s.cache}, nil
}

func (p promptService) GetPrompt(req *mcpedgev1.GetPromptRequest, stream grpc.ServerStreamingServer[mcpedgev1.GetPromptResponse]) error {
	rc, err := p.s.identified(stream.Context(), req.GetContext())
	if err != nil {
		return err
	}
	prompt, ok := p.s.prompts.get(req.GetName())
	if !ok {
		return stream.Send(promptFailure((&Failure{Reason: NotFound, Message: "there is no prompt " + quote(req.GetName())}).proto()))
	}
	c := &Call{rc: rc, send: promptEvents{stream}}
	if err := c.load(req.GetInputResponses(), req.GetState()); err != nil {
		return stream.Send(promptFailure(err.proto()))
	}
	ctx := stream.Context()
	name := "prompt " + req.GetName()
	out := run(ctx, p.s.log, name, c, func() (*PromptResult, error) {
		return prompt.handler(ctx, c, req.GetArguments())
	}, mask(p.s, name, c, failPlainly[*PromptResult]))
	switch {
	case out.err != nil:
		return out.err
	case out.required != nil:
		return stream.Send(&mcpedgev1.GetPromptResponse{Message: &mcpedgev1.GetPromptResponse_InputRequired{InputRequired: out.required}})
	case out.failure != nil:
		return stream.Send(promptFailure(out.failure))
	}
	if meta, _ := c.extras(); meta != "" && out.result.GetMetaJson() == "" {
		out.result = &PromptResult{Description: out.result.GetDescription(), Messages: out.result.GetMessages(), MetaJson: meta}
	}
	return stream.Send(&mcpedgev1.GetPromptResponse{Message: &mcpedgev1.GetPromptResponse_Result{Result: out.result}})
}

func (p promptService) CompletePrompt(ctx context.Context, req *mcpedgev1.CompletePromptRequest) (*mcpedgev1.CompletePromptResponse, error) {
	rc, err := p.s.identified(ctx, req.GetContext())
	if err != nil {
		return nil, err
	}
	prompt, ok := p.s.prompts.get(req.GetName())
	if !ok {
		return nil, status.Errorf(codes.NotFound, "there is no prompt %s", quote(req.GetName()))
	}
	got, err := complete(ctx, p.s.log, "prompt "+req.GetName(), prompt.completers[req.GetArgumentName()],
		&Call{rc: rc}, req.GetArgumentValue(), req.GetContextArguments())
	if err != nil {
		return nil, err
	}
	return &mcpedgev1.CompletePromptResponse{Values: got.values, Total: got.total, HasMore: got.more}, nil
}

func (p promptService) WatchPrompts(_ *mcpedgev1.WatchPromptsRequest, stream grpc.ServerStreamingServer[mcpedgev1.WatchPromptsResponse]) error {
	return p.s.promptFeed.serve(stream.Context().Done(), "", func() error {
		return stream.Send(&mcpedgev1.WatchPromptsResponse{Event: &mcpedgev1.WatchPromptsResponse_Started{Started: &mcpedgev1.WatchStarted{}}})
	}, func(string) error {
		return stream.Send(&mcpedgev1.WatchPromptsResponse{Event: &mcpedgev1.WatchPromptsResponse_Changed{Changed: &mcpedgev1.ListChanged{}}})
	})
}

func promptFailure(f *mcpedgev1.Failure) *mcpedgev1.GetPromptResponse {
	return &mcpedgev1.GetPromptResponse{Message: &mcpedgev1.GetPromptResponse_Failure{Failure: f}}
}

// promptEvents sends events on the stream of a prompt.
type promptEvents struct {
	stream grpc.ServerStreamingServer[mcpedgev1.GetPromptResponse]
}

func (e promptEvents) sendProgress(p *mcpedgev1.Progress) error {
	return e.stream.Send(&mcpedgev1.GetPromptResponse{Message: &mcpedgev1.GetPromptResponse_Progress{Progress: p}})
}

func (e promptEvents) sendLog(l *mcpedgev1.LogMessage) error {
	return e.stream.Send(&mcpedgev1.GetPromptResponse{Message: &mcpedgev1.GetPromptResponse_Log{Log: l}})
}

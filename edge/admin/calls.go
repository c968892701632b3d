package admin

import (
	"context"
	"encoding/json"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/admin/v1"
)

// CallTool implements CatalogService.
func (c *catalog) CallTool(ctx context.Context, in *pb.CallToolRequest) (*pb.CallToolResponse, error) {
	var p params
	p.text("name", in.GetName())
	if err := p.object("arguments", in.GetArguments()); err != nil {
		return nil, err
	}
	result, input, err := c.round(ctx, mcp.MethodToolsCall, p, in)
	switch {
	case err != nil:
		return nil, err
	case input != nil:
		return &pb.CallToolResponse{Outcome: &pb.CallToolResponse_InputRequired{InputRequired: input}}, nil
	}
	return &pb.CallToolResponse{Outcome: &pb.CallToolResponse_Result{Result: result}}, nil
}

// ReadResource implements CatalogService.
func (c *catalog) ReadResource(ctx context.Context, in *pb.ReadResourceRequest) (*pb.ReadResourceResponse, error) {
	var p params
	p.text("uri", in.GetUri())
	result, input, err := c.round(ctx, mcp.MethodResourcesRead, p, in)
	switch {
	case err != nil:
		return nil, err
	case input != nil:
		return &pb.ReadResourceResponse{Outcome: &pb.ReadResourceResponse_InputRequired{InputRequired: input}}, nil
	}
	return &pb.ReadResourceResponse{Outcome: &pb.ReadResourceResponse_Result{Result: result}}, nil
}

// GetPrompt implements CatalogService.
func (c *catalog) GetPrompt(ctx context.Context, in *pb.GetPromptRequest) (*pb.GetPromptResponse, error) {
	var p params
	p.text("name", in.GetName())
	if len(in.GetArguments()) > 0 {
		args, err := json.Marshal(in.GetArguments()) // by name, so that later rounds have the same text
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "arguments: %v", err)
		}
		p.raw("arguments", args)
	}
	result, input, err := c.round(ctx, mcp.MethodPromptsGet, p, in)
	switch {
	case err != nil:
		return nil, err
	case input != nil:
		return &pb.GetPromptResponse{Outcome: &pb.GetPromptResponse_InputRequired{InputRequired: input}}, nil
	}
	return &pb.GetPromptResponse{Outcome: &pb.GetPromptResponse_Result{Result: result}}, nil
}

// rounds is a request that may take several rounds.
type rounds interface {
	GetRound() *pb.Round
	GetClientCapabilities() *structpb.Struct
}

// round runs one round of a request: exactly one of result, input and err is set.
func (c *catalog) round(ctx context.Context, method mcp.Method, p params, in rounds) (*structpb.Struct, *pb.InputRequired, error) {
	if err := p.round(in.GetRound()); err != nil {
		return nil, nil, err
	}
	raw, err := c.client.call(ctx, method, p, in.GetClientCapabilities())
	if err != nil {
		return nil, nil, err
	}
	if kind, ok := jsonrpc.Member(raw, "resultType"); ok && string(kind) == `"input_required"` {
		input, err := inputRequired(raw)
		return nil, input, err
	}
	result := &structpb.Struct{}
	if err := read(raw, result); err != nil {
		return nil, nil, err
	}
	return result, nil, nil
}

// inputRequired reads an InputRequiredResult, with its requests in the backend's order.
func inputRequired(raw json.RawMessage) (*pb.InputRequired, error) {
	out := &pb.InputRequired{}
	text, _ := jsonrpc.Member(raw, "requestState")
	out.State, _ = jsonrpc.Unquote(text)
	requests, ok := jsonrpc.Member(raw, "inputRequests")
	if !ok {
		return out, nil
	}
	err := jsonrpc.Members(requests, func(key string, request json.RawMessage) error {
		r := &pb.InputRequest{Key: key}
		method, _ := jsonrpc.Member(request, "method")
		r.Method, _ = jsonrpc.Unquote(method)
		if params, ok := jsonrpc.Member(request, "params"); ok {
			r.Params = &structpb.Struct{}
			if err := read(params, r.Params); err != nil {
				return err
			}
		}
		out.Requests = append(out.Requests, r)
		return nil
	})
	return out, err
}

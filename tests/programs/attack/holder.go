package main

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// holder is a backend of anything, which counts the calls that come to it.
type holder struct {
	pb.UnimplementedBackendServiceServer
	pb.UnimplementedToolServiceServer
	pb.UnimplementedResourceServiceServer
	pb.UnimplementedPromptServiceServer

	name      string
	tools     []*pb.Tool
	prompts   []*pb.Prompt
	resources []*pb.Resource
	templates []*pb.ResourceTemplate
	skills    []*pb.Skill
	prefixes  []string
	asks      bool   // its tool asks for a PIN
	hangs     bool   // it has lists for each caller, and gives none
	pulse     *pulse // tells those who watch its resources of changes; nil: they cannot be watched

	calls  atomic.Int64
	pin    atomic.Bool // it was given a PIN that it did not ask for
	addr   string
	server *grpc.Server
	served chan struct{}
}

// everything gives it one of each.
func everything(name string) *holder {
	return &holder{
		name: name, tools: []*pb.Tool{{Name: "pay"}}, prompts: []*pb.Prompt{{Name: "ask"}},
		resources: []*pb.Resource{{Uri: "doc://one", Name: "one"}}, templates: []*pb.ResourceTemplate{{UriTemplate: "item://{id}", Name: "item"}},
		prefixes: []string{"file:///a/"},
	}
}

func (h *holder) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return &pb.DescribeResponse{
		Implementation: &pb.Implementation{Name: h.name, Version: "1"},
		Tools:          &pb.ToolFeatures{}, Prompts: &pb.PromptFeatures{}, Resources: &pb.ResourceFeatures{UriPrefixes: h.prefixes, Subscribe: h.pulse != nil},
	}, nil
}

func (h *holder) ListTools(ctx context.Context, in *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	if !h.hangs {
		return &pb.ListToolsResponse{Tools: h.tools}, nil
	}
	if in.GetPrincipal().GetSubject() != "" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &pb.ListToolsResponse{Tools: h.tools, Cache: &pb.CacheHint{Scope: pb.CacheScope_CACHE_SCOPE_PRIVATE, Ttl: durationpb.New(time.Minute)}}, nil
}

func (h *holder) ListPrompts(context.Context, *pb.ListPromptsRequest) (*pb.ListPromptsResponse, error) {
	return &pb.ListPromptsResponse{Prompts: h.prompts}, nil
}

func (h *holder) ListResources(context.Context, *pb.ListResourcesRequest) (*pb.ListResourcesResponse, error) {
	return &pb.ListResourcesResponse{Resources: h.resources}, nil
}

func (h *holder) ListResourceTemplates(context.Context, *pb.ListResourceTemplatesRequest) (*pb.ListResourceTemplatesResponse, error) {
	return &pb.ListResourceTemplatesResponse{ResourceTemplates: h.templates}, nil
}

func (h *holder) ListSkills(context.Context, *pb.ListSkillsRequest) (*pb.ListSkillsResponse, error) {
	return &pb.ListSkillsResponse{Skills: h.skills}, nil
}

func (h *holder) CallTool(in *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
	h.calls.Add(1)
	if !h.asks && (len(in.GetState()) > 0 || len(in.GetInputResponses()) > 0) {
		h.pin.Store(true)
	}
	if h.asks && len(in.GetInputResponses()) == 0 {
		return s.Send(&pb.CallToolResponse{Message: &pb.CallToolResponse_InputRequired{InputRequired: &pb.InputRequired{
			State: []byte("account 7"),
			Requests: []*pb.InputRequest{{Key: "pin", Request: &pb.InputRequest_ElicitForm{ElicitForm: &pb.ElicitForm{
				Message: "Your PIN?", RequestedSchemaJson: `{"type":"object","properties":{"pin":{"type":"string"}}}`,
			}}}},
		}}})
	}
	return s.Send(&pb.CallToolResponse{Message: &pb.CallToolResponse_Result{Result: &pb.CallToolResult{
		Content: []*pb.ContentBlock{{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: "by " + h.name}}}},
	}}})
}

func (h *holder) ReadResource(in *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
	h.calls.Add(1)
	return s.Send(&pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: &pb.ReadResourceResult{
		Contents: []*pb.ResourceContents{{Uri: in.GetUri(), Body: &pb.ResourceContents_Text{Text: "by " + h.name}}},
	}}})
}

func (h *holder) GetPrompt(*pb.GetPromptRequest, grpc.ServerStreamingServer[pb.GetPromptResponse]) error {
	h.calls.Add(1)
	return nil
}

// up serves it, at the address that it had before.
func (h *holder) up() (err error) {
	if h.addr == "" {
		if h.addr, err = freeport.Addr(); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", h.addr)
	if err != nil {
		return err
	}
	server, served := newServer(), make(chan struct{})
	pb.RegisterBackendServiceServer(server, h)
	pb.RegisterToolServiceServer(server, h)
	pb.RegisterResourceServiceServer(server, h)
	pb.RegisterPromptServiceServer(server, h)
	h.server, h.served = server, served
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	return nil
}

func (h *holder) down() {
	if h.server != nil {
		h.server.Stop()
		<-h.served
		h.server = nil
	}
}

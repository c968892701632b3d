package main

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// tenants is a backend with the documents of two tenants, and with prompts that have a region. It decides nothing itself, and
// records what it is asked for.
type tenants struct {
	pb.UnimplementedBackendServiceServer
	pb.UnimplementedResourceServiceServer
	pb.UnimplementedPromptServiceServer

	mu        sync.Mutex
	read      []string // tenants whose documents were read, or are watched
	completed []completed
}

// completed is a completion that the backend was asked for: of a prompt, or of the template of a text.
type completed struct {
	of, argument, value string
	context             map[string]string
}

// documents are the listed URIs. The last is in a spelling of the backend's own.
var documents = []string{"tenant://acme/plan", "tenant://globex/merger", "tenant://gl%6fbex/another"}

const (
	tenantTemplate = "tenant://{tenant}/{doc}"
	hiddenTemplate = "hidden://{tenant}/{doc}"
)

func (b *tenants) register(s *grpc.Server) {
	pb.RegisterBackendServiceServer(s, b)
	pb.RegisterResourceServiceServer(s, b)
	pb.RegisterPromptServiceServer(s, b)
}

// tenantOf returns the tenant of a URI as the backend reads it: decoded once.
func tenantOf(uri string) (tenant, doc string, ok bool) {
	scheme, rest, _ := strings.Cut(uri, "://")
	if tenant, doc, ok = strings.Cut(rest, "/"); !ok || !strings.EqualFold(scheme, "tenant") || strings.Contains(doc, "/") {
		return "", "", false
	}
	tenant, err := url.PathUnescape(tenant)
	doc, err2 := url.PathUnescape(doc)
	return tenant, doc, err == nil && err2 == nil
}

// taken returns the tenants that were read or watched since the last time.
func (b *tenants) taken() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.read = nil }()
	return b.read
}

// asked returns the completions since the last time.
func (b *tenants) asked() []completed {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.completed = nil }()
	return b.completed
}

// Describe implements the contract.
func (b *tenants) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return &pb.DescribeResponse{
		Implementation: &pb.Implementation{Name: "tenants", Version: "1"},
		Resources:      &pb.ResourceFeatures{Subscribe: true, Completion: true, Directories: true},
		Prompts:        &pb.PromptFeatures{Completion: true},
	}, nil
}

// ListResources implements the contract.
func (b *tenants) ListResources(context.Context, *pb.ListResourcesRequest) (*pb.ListResourcesResponse, error) {
	out := &pb.ListResourcesResponse{}
	for _, uri := range documents {
		out.Resources = append(out.Resources, &pb.Resource{Uri: uri, Name: uri})
	}
	return out, nil
}

// ListResourceTemplates implements the contract.
func (b *tenants) ListResourceTemplates(context.Context, *pb.ListResourceTemplatesRequest) (*pb.ListResourceTemplatesResponse, error) {
	return &pb.ListResourceTemplatesResponse{ResourceTemplates: []*pb.ResourceTemplate{
		{UriTemplate: tenantTemplate, Name: "documents"}, {UriTemplate: hiddenTemplate, Name: "hidden"},
	}}, nil
}

// shelf is the skill whose directory has documents of all tenants.
var shelf = &pb.Skill{Uri: "skill://shelf/SKILL.md", FrontmatterJson: `{"name":"shelf","description":"Documents"}`,
	Files: []*pb.SkillFile{{Uri: "skill://shelf/SKILL.md", Sha256: make([]byte, 32), Size: 1}}}

// ListSkills implements the contract.
func (b *tenants) ListSkills(context.Context, *pb.ListSkillsRequest) (*pb.ListSkillsResponse, error) {
	return &pb.ListSkillsResponse{Skills: []*pb.Skill{shelf}}, nil
}

// GetSkill implements the contract.
func (b *tenants) GetSkill(context.Context, *pb.GetSkillRequest) (*pb.GetSkillResponse, error) {
	return &pb.GetSkillResponse{Skill: shelf}, nil
}

// ListResourceDirectory implements the contract.
func (b *tenants) ListResourceDirectory(context.Context, *pb.ListResourceDirectoryRequest) (*pb.ListResourceDirectoryResponse, error) {
	out := &pb.ListResourceDirectoryResponse{}
	for _, uri := range documents {
		out.Resources = append(out.Resources, &pb.Resource{Uri: uri + "-1", Name: "child"},
			&pb.Resource{Uri: uri + "-2", Name: "directory", MimeType: "inode/directory"})
	}
	return out, nil
}

// ReadResource implements the contract.
func (b *tenants) ReadResource(in *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
	tenant, doc, ok := tenantOf(in.GetUri())
	if !ok {
		return status.Error(codes.NotFound, "no document")
	}
	b.mu.Lock()
	b.read = append(b.read, tenant)
	b.mu.Unlock()
	return s.Send(&pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: &pb.ReadResourceResult{
		Contents: []*pb.ResourceContents{{Uri: in.GetUri(), Body: &pb.ResourceContents_Text{Text: "document " + doc + " of " + tenant}}},
	}}})
}

// WatchResource implements the contract: what is watched never changes.
func (b *tenants) WatchResource(in *pb.WatchResourceRequest, s grpc.ServerStreamingServer[pb.WatchResourceResponse]) error {
	tenant, _, _ := tenantOf(in.GetUri())
	b.mu.Lock()
	b.read = append(b.read, tenant)
	b.mu.Unlock()
	err := s.Send(&pb.WatchResourceResponse{Event: &pb.WatchResourceResponse_Started{Started: &pb.WatchStarted{}}})
	<-s.Context().Done()
	return err
}

// suggestion begins each value that the backend suggests.
const suggestion = "suggested-"

func (b *tenants) complete(c completed) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.completed = append(b.completed, c)
	return []string{suggestion + c.argument, suggestion + c.context["tenant"], suggestion + c.context["region"]}
}

// CompleteResourceTemplate implements the contract.
func (b *tenants) CompleteResourceTemplate(_ context.Context, in *pb.CompleteResourceTemplateRequest) (*pb.CompleteResourceTemplateResponse, error) {
	return &pb.CompleteResourceTemplateResponse{
		Values: b.complete(completed{in.GetUriTemplate(), in.GetArgumentName(), in.GetArgumentValue(), in.GetContextArguments()})}, nil
}

// ListPrompts implements the contract.
func (b *tenants) ListPrompts(context.Context, *pb.ListPromptsRequest) (*pb.ListPromptsResponse, error) {
	out := &pb.ListPromptsResponse{}
	for _, name := range []string{"report", "vault"} {
		out.Prompts = append(out.Prompts, &pb.Prompt{Name: name, Arguments: []*pb.PromptArgument{{Name: "region"}, {Name: "quarter"}}})
	}
	return out, nil
}

// CompletePrompt implements the contract.
func (b *tenants) CompletePrompt(_ context.Context, in *pb.CompletePromptRequest) (*pb.CompletePromptResponse, error) {
	return &pb.CompletePromptResponse{
		Values: b.complete(completed{in.GetName(), in.GetArgumentName(), in.GetArgumentValue(), in.GetContextArguments()})}, nil
}

// foreign returns the tenants among names that are not the caller's.
func foreign(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return name == "acme" })
}

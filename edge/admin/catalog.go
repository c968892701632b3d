package admin

import (
	"context"
	"encoding/json"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/admin/v1"
)

// catalog implements CatalogService.
type catalog struct {
	pb.UnimplementedCatalogServiceServer
	client  *client
	curated func(name string) Curated // see API.Curated
}

// Curated has the names of a tool, and what the catalog adds to the arguments of its calls.
type Curated struct {
	// Shown is the name in lists.
	Shown string
	// Canonical is the backend's name after its prefix, and Backend the name of the backend. They are
	// empty if they are not known without a caller.
	Canonical, Backend string
	Added              []Added
}

// Added is an argument that is pinned or has a default. One of Value, From and Default is set. Value
// and Default are JSON, From is an expression.
type Added struct {
	Name, From     string
	Value, Default json.RawMessage
}

// ListTools implements CatalogService.
func (c *catalog) ListTools(ctx context.Context, in *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	out := &pb.ListToolsResponse{}
	return out, c.list(ctx, mcp.MethodToolsList, in.GetPageToken(), "tools", out)
}

// ListResources implements CatalogService.
func (c *catalog) ListResources(ctx context.Context, in *pb.ListResourcesRequest) (*pb.ListResourcesResponse, error) {
	out := &pb.ListResourcesResponse{}
	return out, c.list(ctx, mcp.MethodResourcesList, in.GetPageToken(), "resources", out)
}

// ListResourceTemplates implements CatalogService.
func (c *catalog) ListResourceTemplates(ctx context.Context, in *pb.ListResourceTemplatesRequest) (*pb.ListResourceTemplatesResponse, error) {
	out := &pb.ListResourceTemplatesResponse{}
	return out, c.list(ctx, mcp.MethodTemplatesList, in.GetPageToken(), "resourceTemplates", out)
}

// ListPrompts implements CatalogService.
func (c *catalog) ListPrompts(ctx context.Context, in *pb.ListPromptsRequest) (*pb.ListPromptsResponse, error) {
	out := &pb.ListPromptsResponse{}
	return out, c.list(ctx, mcp.MethodPromptsList, in.GetPageToken(), "prompts", out)
}

// ListSkills implements CatalogService.
func (c *catalog) ListSkills(ctx context.Context, in *pb.ListSkillsRequest) (*pb.ListSkillsResponse, error) {
	out := &pb.ListSkillsResponse{}
	return out, c.list(ctx, mcp.MethodSkillsList, in.GetPageToken(), "skills", out)
}

// GetTool implements CatalogService: it searches the list, in which aliases are not.
func (c *catalog) GetTool(ctx context.Context, in *pb.GetToolRequest) (*pb.GetToolResponse, error) {
	curated := Curated{Shown: in.GetName()}
	if c.curated != nil {
		curated = c.curated(in.GetName())
	}
	for token, first := "", true; first || token != ""; first = false {
		page, err := c.ListTools(ctx, &pb.ListToolsRequest{PageToken: token})
		if err != nil {
			return nil, err
		}
		for _, t := range page.GetTools() {
			if t.GetFields()["name"].GetStringValue() == curated.Shown {
				return curated.response(t)
			}
		}
		token = page.GetNextPageToken()
	}
	return nil, status.Errorf(codes.NotFound, "unknown tool %.256q: GET /v1/tools lists the existing ones", in.GetName())
}

// response returns the answer about the tool with its object of MCP.
func (c *Curated) response(tool *structpb.Struct) (*pb.GetToolResponse, error) {
	out := &pb.GetToolResponse{Tool: tool, CanonicalName: c.Canonical, Backend: c.Backend}
	for _, a := range c.Added {
		one := &pb.AddedArgument{Name: a.Name, From: a.From}
		for raw, to := range map[*json.RawMessage]**structpb.Value{&a.Value: &one.Value, &a.Default: &one.DefaultValue} {
			if *raw == nil {
				continue
			}
			*to = &structpb.Value{}
			if err := read(*raw, *to); err != nil {
				return nil, err
			}
		}
		out.AddedArguments = append(out.AddedArguments, one)
	}
	return out, nil
}

// list requests a page and reads it into a response whose entries have the name that MCP gives
// them. The page is empty if no backend serves the kind.
func (c *catalog) list(ctx context.Context, method mcp.Method, token, name string, out proto.Message) error {
	var p params
	if token != "" {
		p.text("cursor", token)
	}
	result, err := c.client.call(ctx, method, p, nil)
	if status.Code(err) == codes.Unimplemented {
		return nil // No backend has any.
	}
	if err != nil {
		return err
	}
	var page params
	entries, _ := jsonrpc.Member(result, name)
	page.raw(name, entries)
	if next, ok := jsonrpc.Member(result, "nextCursor"); ok {
		page.raw("nextPageToken", next)
	}
	return read(json.RawMessage(append(page, '}')), out)
}

// read converts a result to protobuf.
func read(result json.RawMessage, out proto.Message) error {
	if manyValues(result) {
		return status.Errorf(codes.Internal, "the result has more than %d values, the limit of the REST API: request less, or use MCP", maxValues)
	}
	if err := protojson.Unmarshal(result, out); err != nil {
		return status.Errorf(codes.Internal,
			"the result has no form in protobuf's JSON, which has doubles for numbers and each name once: %v: ask by MCP", err)
	}
	return nil
}

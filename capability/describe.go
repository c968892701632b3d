package capability

import (
	"context"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// backendService implements the contract's BackendService for a Server.
type backendService struct {
	mcpedgev1.UnimplementedBackendServiceServer
	s *Server
}

// Describe returns the service's metadata and features. A feature is announced if it has an entry,
// or if an option announces it.
func (b backendService) Describe(context.Context, *mcpedgev1.DescribeRequest) (*mcpedgev1.DescribeResponse, error) {
	s := b.s
	out := &mcpedgev1.DescribeResponse{Implementation: s.info, Instructions: s.instructions, ExtensionsJson: s.extensions}
	if s.announce.Tools != nil || !s.tools.empty() {
		out.Tools = &mcpedgev1.ToolFeatures{ListChanged: true}
	}
	providers := s.allProviders()
	if s.announce.Resources != nil || !s.resources.empty() || !s.templates.empty() || len(providers) > 0 {
		out.Resources = &mcpedgev1.ResourceFeatures{ListChanged: true, Subscribe: true}
		for _, t := range s.templates.all() {
			out.Resources.Completion = out.Resources.Completion || len(t.completers) > 0
		}
		out.Resources.Directories = hasDirectories(providers)
		for _, p := range providers {
			out.Resources.UriPrefixes = append(out.Resources.UriPrefixes, p.prefix)
		}
	}
	if s.announce.Prompts != nil || !s.prompts.empty() {
		out.Prompts = &mcpedgev1.PromptFeatures{ListChanged: true}
		for _, p := range s.prompts.all() {
			out.Prompts.Completion = out.Prompts.Completion || len(p.completers) > 0
		}
	}
	return out, nil
}

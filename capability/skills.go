package capability

import (
	"context"
	"errors"
	"io/fs"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// SkillProvider is a ResourceProvider with skills: some of its resources are files of skills. Pass
// it to Server.Provide. NewSkills returns one for a directory. MCP: the extension
// io.modelcontextprotocol/skills.
type SkillProvider interface {
	ResourceProvider
	// Skills returns the skills in a stable order; it may omit some. When its result changes, the
	// provider must call Server.ResourcesChanged, or listChanged of ResourceWatcher.
	Skills(ctx context.Context) ([]*Skill, error)
	// Skill returns the current skill whose SKILL.md has the URI, whether listed or not. Errors are
	// handled as in AddResource. A nil skill and a nil error mean NOT_FOUND.
	Skill(ctx context.Context, c *Call, uri string) (*Skill, error)
}

// DirectoryProvider is a SkillProvider whose directories can be listed. The server announces this
// if every SkillProvider is a DirectoryProvider.
type DirectoryProvider interface {
	SkillProvider
	// Directory returns the direct children of a directory in a stable order. A child that is a
	// directory has the MIME type DirectoryType. Errors are handled as in AddResource;
	// fs.ErrNotExist means that the URI is not a directory.
	Directory(ctx context.Context, c *Call, uri string) ([]*Resource, error)
}

// DirectoryType is the MIME type of directories.
const DirectoryType = "inode/directory"

// hasDirectories reports whether the directories of all skill providers can be listed.
func hasDirectories(providers []*provided) bool {
	found := false
	for _, p := range providers {
		if _, ok := p.provider.(SkillProvider); !ok {
			continue
		}
		if _, ok := p.provider.(DirectoryProvider); !ok {
			return false
		}
		found = true
	}
	return found
}

// ListSkills implements the contract's ResourceService.
func (r resourceService) ListSkills(ctx context.Context, req *mcpedgev1.ListSkillsRequest) (*mcpedgev1.ListSkillsResponse, error) {
	var all []*Skill
	served := false
	for _, p := range r.s.allProviders() {
		provider, ok := p.provider.(SkillProvider)
		if !ok {
			continue
		}
		served = true
		out := run(ctx, r.s.log, "skills of "+p.prefix, &Call{}, func() ([]*Skill, error) { return provider.Skills(ctx) }, failPlainly)
		if err := unaryStatus(out.err, out.failure); err != nil {
			return nil, err
		}
		all = append(all, out.result...)
	}
	if !served {
		return nil, status.Error(codes.Unimplemented, "there are no skills")
	}
	skills, next, err := page(all, (*Skill).GetUri, req.GetPageToken(), req.GetPageSize())
	if err != nil {
		return nil, err
	}
	return &mcpedgev1.ListSkillsResponse{Skills: skills, NextPageToken: next, Cache: r.s.cache}, nil
}

// GetSkill implements the contract's ResourceService.
func (r resourceService) GetSkill(ctx context.Context, req *mcpedgev1.GetSkillRequest) (*mcpedgev1.GetSkillResponse, error) {
	var provider SkillProvider
	if p := r.s.provider(req.GetUri()); p != nil {
		provider, _ = p.provider.(SkillProvider)
	}
	if provider == nil {
		return nil, status.Error(codes.NotFound, notFound(req.GetUri()).Error())
	}
	c := &Call{rc: req.GetContext()}
	out := run(ctx, r.s.log, "skill "+req.GetUri(), c, func() (*Skill, error) {
		skill, err := provider.Skill(ctx, c, req.GetUri())
		return skill, notFoundFailure(req.GetUri(), err)
	}, failPlainly)
	if err := unaryStatus(out.err, out.failure); err != nil {
		return nil, err
	}
	if out.result == nil {
		return nil, status.Error(codes.NotFound, notFound(req.GetUri()).Error())
	}
	_, cache := c.extras()
	return &mcpedgev1.GetSkillResponse{Skill: out.result, Cache: cache}, nil
}

// ListResourceDirectory implements the contract's ResourceService.
func (r resourceService) ListResourceDirectory(ctx context.Context, req *mcpedgev1.ListResourceDirectoryRequest) (*mcpedgev1.ListResourceDirectoryResponse, error) {
	var provider DirectoryProvider
	if p := r.s.provider(req.GetUri()); p != nil {
		provider, _ = p.provider.(DirectoryProvider)
	}
	if provider == nil {
		return nil, status.Error(codes.NotFound, notFound(req.GetUri()).Error())
	}
	c := &Call{rc: req.GetContext()}
	out := run(ctx, r.s.log, "directory "+req.GetUri(), c, func() ([]*Resource, error) {
		children, err := provider.Directory(ctx, c, req.GetUri())
		return children, notFoundFailure(req.GetUri(), err)
	}, failPlainly)
	if err := unaryStatus(out.err, out.failure); err != nil {
		return nil, err
	}
	children, next, err := page(out.result, (*Resource).GetUri, req.GetPageToken(), 0)
	if err != nil {
		return nil, err
	}
	return &mcpedgev1.ListResourceDirectoryResponse{Resources: children, NextPageToken: next}, nil
}

// notFoundFailure converts fs.ErrNotExist into a failure that names the URI.
func notFoundFailure(uri string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &Failure{Reason: NotFound, Message: notFound(uri).Error()}
	}
	return err
}

// unaryStatus returns the gRPC status of a failed unary RPC.
func unaryStatus(err error, failure *mcpedgev1.Failure) error {
	if err == nil && failure != nil {
		return failureStatus(failure)
	}
	return err
}

package capability

import (
	"context"
	"errors"
	"io/fs"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// SkillProvider is a ResourceProvider some of whose resources are the files of skills. Server.Provide makes them known. NewSkills
// makes one of a directory. MCP: the extension io.modelcontextprotocol/skills.
type SkillProvider interface {
	ResourceProvider
	// Skills returns the skills, in a stable order; it may leave some out. When it would answer differently,
	// Server.ResourcesChanged is to be called, or listChanged of a ResourceWatcher.
	Skills(ctx context.Context) ([]*Skill, error)
	// Skill returns the skill whose SKILL.md has the URI, as it is now, listed or not. Errors are as in AddResource; nil and
	// no error is NOT_FOUND.
	Skill(ctx context.Context, c *Call, uri string) (*Skill, error)
}

// DirectoryProvider is a SkillProvider whose directories can be listed. Clients are told so if every SkillProvider of the server
// is one.
type DirectoryProvider interface {
	SkillProvider
	// Directory returns the direct children of a directory, in a stable order; a directory among them has the MIME type
	// DirectoryType. Errors are as in AddResource: fs.ErrNotExist says that the URI is no directory.
	Directory(ctx context.Context, c *Call, uri string) ([]*Resource, error)
}

// DirectoryType is the MIME type of directories.
const DirectoryType = "inode/directory"

// hasDirectories says whether all directories of all skills can be listed.
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

// ListSkills implements the contract.
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
		if err := unary(out.err, out.failure); err != nil {
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

// GetSkill implements the contract.
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
		return skill, absent(req.GetUri(), err)
	}, failPlainly)
	if err := unary(out.err, out.failure); err != nil {
		return nil, err
	}
	if out.result == nil {
		return nil, status.Error(codes.NotFound, notFound(req.GetUri()).Error())
	}
	_, cache := c.extras()
	return &mcpedgev1.GetSkillResponse{Skill: out.result, Cache: cache}, nil
}

// ListResourceDirectory implements the contract.
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
		return children, absent(req.GetUri(), err)
	}, failPlainly)
	if err := unary(out.err, out.failure); err != nil {
		return nil, err
	}
	children, next, err := page(out.result, (*Resource).GetUri, req.GetPageToken(), 0)
	if err != nil {
		return nil, err
	}
	return &mcpedgev1.ListResourceDirectoryResponse{Resources: children, NextPageToken: next}, nil
}

// absent makes fs.ErrNotExist say that there is nothing of the URI.
func absent(uri string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &Failure{Reason: NotFound, Message: notFound(uri).Error()}
	}
	return err
}

// unary is how an RPC without a stream tells that it failed.
func unary(err error, failure *mcpedgev1.Failure) error {
	if err == nil && failure != nil {
		return failureStatus(failure)
	}
	return err
}

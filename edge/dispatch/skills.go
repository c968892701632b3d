package dispatch

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// permittedContext returns the request context for the backend of skills/get or resources/directory/read,
// after the second stage of the decision.
func (r *round) permittedContext(ctx context.Context) (*pb.RequestContext, error) {
	if err := r.authorize(ctx); err != nil {
		return nil, err
	}
	about, err := translate.Context(r.call)
	if err != nil {
		return nil, err
	}
	r.addClaims(about, r.named.Backend)
	return about, nil
}

// getSkill runs skills/get (Skills, "Getting a Skill"). It always calls the backend, since the
// result is the skill's current state.
func (r *round) getSkill(ctx context.Context) (mcp.Reply, error) {
	about, err := r.permittedContext(ctx)
	if err != nil {
		return mcp.Reply{}, err
	}
	found, owner := r.named.URI, r.named.Backend
	ctx, end, err := r.begin(ctx, owner, found.Sent)
	if err != nil {
		return mcp.Reply{}, err
	}
	defer end()
	if err := r.await(ctx, nil); err != nil {
		return mcp.Reply{}, err
	}
	out, err := owner.Resources().GetSkill(ctx, &pb.GetSkillRequest{Uri: found.Sent, Context: about})
	if err != nil {
		return mcp.Reply{}, r.unknownURI(ctx, err)
	}
	r.received(out)
	if err := backend.ValidSkill(out.GetSkill()); err != nil {
		return mcp.Reply{}, r.contractError("GetSkill of %.200q: %v", found.Sent, err)
	}
	if got := out.GetSkill().GetUri(); got != found.Sent && uris.Normal(got) != uris.Normal(found.Sent) {
		return mcp.Reply{}, r.contractError("GetSkill of %.200q answered with the skill %.200q", found.Sent, got)
	}
	others, err := r.d.catalog.Others(ctx, r.call.Principal, &r.named)
	if err != nil {
		return mcp.Reply{}, err
	}
	if others.OwnFileOf(out.GetSkill()) || r.named.HidesFileOf(out.GetSkill()) { // Lists omit it, too.
		return mcp.Reply{}, r.named.Unknown()
	}
	r.restrictHint(out.GetCache())
	out.Skill = r.named.ShownSkill(out.GetSkill())
	return r.finish(skillResult{out})
}

// unknownURI returns the error for an unknown URI if the backend does not implement the RPC.
func (r *round) unknownURI(ctx context.Context, err error) error {
	if status.Code(err) == codes.Unimplemented {
		r.received(nil)
		return r.named.Unknown()
	}
	return r.status(ctx, err)
}

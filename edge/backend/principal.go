package backend

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Principal returns the part of a caller's identity that the backend receives.
func (b *Backend) Principal(p mcp.Principal) *pb.Principal {
	return &pb.Principal{
		Subject: p.Subject, Issuer: p.Issuer, Scopes: p.Scopes, Roles: p.Roles, ClientId: p.Client, Actor: p.Actor,
		ClaimsJson: b.ClaimsOf(p), SubjectIsClient: p.SubjectIsClient,
	}
}

// ClaimsOf returns the claims of a caller that the backend receives, as JSON values, or nil if
// there are none.
func (b *Backend) ClaimsOf(p mcp.Principal) map[string]string {
	var claims map[string]string
	for _, name := range b.cfg.Claims {
		if v, ok := p.Forwarded[name]; ok {
			if claims == nil {
				claims = make(map[string]string, len(b.cfg.Claims))
			}
			claims[name] = string(v)
		}
	}
	return claims
}

// Prove returns the metadata, a key and a value, that an RPC for a caller has beside the contract's
// Principal; an empty key means none. See Identity.
func (b *Backend) Prove(ctx context.Context, who *mcp.Principal, call string) (key, value string, err error) {
	if b.cfg.Identity == nil {
		return "", "", nil
	}
	return b.cfg.Identity.Prove(ctx, who, call)
}

// AsksToProve reports whether Prove may send a request to another server, and so take long.
func (b *Backend) AsksToProve() bool {
	_, asks := b.cfg.Identity.(AskedIdentity)
	return asks
}

// Proved reports the result of an RPC to the backend's Identity. value is that of Prove.
func (b *Backend) Proved(ctx context.Context, who *mcp.Principal, value string, err error) {
	if i, asks := b.cfg.Identity.(AskedIdentity); asks && value != "" && status.Code(err) == codes.Unauthenticated {
		i.Refused(ctx, who, value)
	}
}

// proving adds the metadata of CallerPairs and Prove to the context of a list or a watch. The
// caller must call proved with the error of the RPC.
func (b *Backend) proving(ctx context.Context, who *mcp.Principal) (_ context.Context, proved func(error), _ error) {
	pairs, err := b.CallerPairs(who)
	if err != nil {
		return ctx, func(error) {}, err
	}
	ctx = metadata.AppendToOutgoingContext(ctx, pairs...)
	key, value, err := b.Prove(ctx, who, "")
	if err != nil || key == "" {
		return ctx, func(error) {}, err
	}
	return metadata.AppendToOutgoingContext(ctx, key, value), func(err error) { b.Proved(ctx, who, value, err) }, nil
}

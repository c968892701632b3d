package check

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/backend"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// lister requests one page of one list.
type lister struct {
	rpc  string
	page func(ctx context.Context, token string, size int32) (keys []string, next string, bytes int, err error)
}

func (p *prober) listers(kind backend.Kinds) []lister {
	switch kind {
	case backend.Tools:
		return []lister{{"ListTools", func(ctx context.Context, token string, size int32) ([]string, string, int, error) {
			r, err := p.b.Tools().ListTools(ctx, &pb.ListToolsRequest{PageToken: token, PageSize: size})
			return collect(r.GetTools(), (*pb.Tool).GetName), r.GetNextPageToken(), proto.Size(r), err
		}}}
	case backend.Resources:
		return []lister{{"ListResources", func(ctx context.Context, token string, size int32) ([]string, string, int, error) {
			r, err := p.b.Resources().ListResources(ctx, &pb.ListResourcesRequest{PageToken: token, PageSize: size})
			return collect(r.GetResources(), (*pb.Resource).GetUri), r.GetNextPageToken(), proto.Size(r), err
		}}, {"ListResourceTemplates", func(ctx context.Context, token string, size int32) ([]string, string, int, error) {
			r, err := p.b.Resources().ListResourceTemplates(ctx, &pb.ListResourceTemplatesRequest{PageToken: token, PageSize: size})
			return collect(r.GetResourceTemplates(), (*pb.ResourceTemplate).GetUriTemplate), r.GetNextPageToken(), proto.Size(r), err
		}}}
	}
	return []lister{{"ListPrompts", func(ctx context.Context, token string, size int32) ([]string, string, int, error) {
		r, err := p.b.Prompts().ListPrompts(ctx, &pb.ListPromptsRequest{PageToken: token, PageSize: size})
		return collect(r.GetPrompts(), (*pb.Prompt).GetName), r.GetNextPageToken(), proto.Size(r), err
	}}}
}

// lists reads each list again in the smallest pages, and requests a page with an invalid token.
func (p *prober) lists(ctx context.Context, kind backend.Kinds) {
	for _, l := range p.listers(kind) {
		p.try(func() string { return p.pages(ctx, l) })
		p.try(func() string { return p.checkInvalidToken(ctx, l) })
	}
}

func (p *prober) pages(ctx context.Context, l lister) (ok string) {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	var whole []string
	for token, n := "", 0; n < backend.MaxPages; n++ {
		keys, next, bytes, err := l.page(ctx, token, 0)
		if err != nil {
			if status.Code(err) != codes.Unimplemented {
				p.violation("%s: the list cannot be read a second time: %s", l.rpc, statusText(err))
			}
			return ""
		}
		if bytes > pageBytes {
			p.violation("%s: a page has %d bytes: at most %d, since gRPC receivers take no more by default", l.rpc, bytes, pageBytes)
		}
		if whole, token = append(whole, keys...), next; token == "" {
			break
		}
	}
	var single []string
	for token, n := "", 0; n < maxTried; n++ {
		keys, next, _, err := l.page(ctx, token, 1)
		switch {
		case err != nil:
			p.violation("%s: page %d of one entry each: %s", l.rpc, n+1, statusText(err))
			return ""
		case len(keys) > 1:
			p.violation("%s: page_size 1 gives %d entries: at most page_size", l.rpc, len(keys))
			return ""
		}
		if single, token = append(single, keys...), next; token == "" {
			break
		}
	}
	if most := min(len(whole), maxTried); !slices.Equal(single[:min(len(single), most)], whole[:most]) {
		p.violation("%s: in pages of one it gives %.200q, in its own pages %.200q: entries and order must be the same", l.rpc, single, whole)
	}
	return fmt.Sprintf("%s: %d entries, the same in pages of one", l.rpc, len(whole))
}

func (p *prober) checkInvalidToken(ctx context.Context, l lister) (ok string) {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	keys, _, _, err := l.page(ctx, unknownName, 0)
	switch code := status.Code(err); {
	case code == codes.InvalidArgument:
		return l.rpc + ", a page_token that was never given: INVALID_ARGUMENT"
	case err == nil:
		p.note("%s, a page_token that was never given: answered with %d entries; INVALID_ARGUMENT would reveal mistakes sooner", l.rpc, len(keys))
	case crashed(err) || code == codes.DeadlineExceeded:
		p.violation("%s, a page_token that was never given: %s: it must be INVALID_ARGUMENT", l.rpc, statusText(err))
	case code != codes.Unimplemented:
		p.note("%s, a page_token that was never given: %s; INVALID_ARGUMENT would be clearer", l.rpc, statusText(err))
	}
	return ""
}

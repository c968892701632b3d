package backend

import (
	"context"
	"crypto/rand"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

const (
	// nobody is a name, token or URI that no backend has.
	nobody = "mcpedge-check-no-such-thing"
	// walked bounds the pages of one entry that are asked for, and the entries that are tried one by one.
	walked = 25
	// left is how many streams are opened at a time and left, to see that the backend lets go of them.
	left = 40
	// pageBytes is what gRPC receivers take by default.
	pageBytes = 4 << 20
)

// prober calls every RPC of one backend whose lists were read.
type prober struct {
	*findings
	b *Backend
	k *keeper
	// trial may be nil; used are the keys of its answers that were asked for.
	trial *Trial
	used  []string
	// hangs: lists are no longer answered, so nothing else is tried.
	hangs bool
}

func (p *prober) all(ctx context.Context) {
	served := false
	for i, kind := range each {
		if l := p.k.parts[i].list; p.k.parts[i].err != nil || l == nil || !l.served {
			continue
		}
		served = true
		p.lists(ctx, kind)
		p.feed(ctx, kind)
		switch kind {
		case Tools:
			p.tools(ctx)
		case Resources:
			p.resources(ctx)
		default:
			p.prompts(ctx)
		}
		if !p.hangs {
			p.letsGo(ctx, kind)
		}
		if p.hangs {
			p.note("the rest was not tried, since the backend does not answer now")
			return
		}
	}
	if !served && p.breaches == 0 {
		p.breaks("none of ToolService, ResourceService and PromptService is served")
	}
	p.unused()
}

// patience bounds one call.
func (p *prober) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, min(p.b.cfg.Timeout, p.b.tune.reach))
}

// request is the context of one round of a client that can be asked everything.
func (p *prober) request(call string, round uint32) *pb.RequestContext {
	return &pb.RequestContext{
		CallId: call, Attempt: 1, Round: round, Principal: &pb.Principal{},
		ClientInfo: &pb.Implementation{Name: "mcpedge-check", Version: "1"},
		ClientCapabilities: &pb.ClientCapabilities{
			Elicitation: &pb.ElicitationCapability{Form: true, Url: true}, Sampling: &pb.SamplingCapability{}, Roots: &pb.RootsCapability{},
		},
		LogLevel: pb.LogLevel_LOG_LEVEL_DEBUG, ProgressWanted: true,
	}
}

func newCall() string { return rand.Text() }

// answers reports whether a list of a kind is answered soon.
func (p *prober) answers(ctx context.Context, kind Kinds) bool {
	ctx, cancel := p.patience(ctx)
	defer cancel()
	_, _, _, err := p.listers(kind)[0].page(ctx, "", 0)
	p.hangs = err != nil
	return err == nil
}

package check

import (
	"context"
	"crypto/rand"

	"google.golang.org/grpc/metadata"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

const (
	// unknownName is a name, token or URI that no backend has.
	unknownName = "mcpedge-check-no-such-thing"
	// maxTried bounds the pages of a list that are requested, and the entries that are tried.
	maxTried = 25
	// abandonedStreams is the number of streams that are opened concurrently and cancelled, to check that
	// the backend ends them.
	abandonedStreams = 40
	// pageBytes is the default message limit of gRPC receivers.
	pageBytes = 4 << 20
)

// prober calls every RPC of one backend whose lists were read.
type prober struct {
	*findings
	b      *backend.Inspection
	survey *backend.Survey
	timing *timing
	// calls are the arguments of the tools to call, by tool.
	calls map[string][]string
	// prefix is the prefix of the backend's names for clients.
	prefix string
	// trial may be nil. used has the keys of its answers that were used.
	trial *Trial
	used  []string
	// documents are those of the trial for the backend.
	documents []string
	// unshown reports that a note about the caller's identity in calls was written.
	unshown bool
	// unresponsive reports that the backend no longer answers lists, so that the check stops.
	unresponsive bool
}

func (p *prober) all(ctx context.Context) {
	served := false
	for _, l := range p.survey.Lists {
		if !l.Served {
			continue
		}
		served = true
		kind := l.Kind
		p.lists(ctx, kind)
		p.feed(ctx, kind)
		switch kind {
		case backend.Tools:
			p.tools(ctx, p.survey.Catalog.Tools)
		case backend.Resources:
			p.resources(ctx, p.survey.Catalog.Resources, p.survey.Catalog.Templates)
			if p.survey.Catalog.HasSkills {
				p.skills(ctx, p.survey.Catalog.Skills)
			}
		default:
			p.prompts(ctx, p.survey.Catalog.Prompts)
		}
		if !p.unresponsive {
			p.abandonFeeds(ctx, kind)
		}
		if p.unresponsive {
			p.note("the rest was not tried, since the backend does not answer now")
			return
		}
	}
	if !served && p.breaches == 0 {
		p.violation("none of ToolService, ResourceService and PromptService is served")
	}
	p.unused()
}

// bounded returns a context with the timeout of one call.
func (p *prober) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, min(p.b.Timeout(), p.timing.reach))
}

// working returns a context with the timeout of one round of work.
func (p *prober) working(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, min(p.b.Timeout(), p.work))
}

// request returns the context of one round, of a client with all capabilities.
func (p *prober) request(call string, round uint32) *pb.RequestContext {
	return &pb.RequestContext{
		CallId: call, Attempt: 1, Round: round, Principal: p.b.Principal(p.caller()),
		ClientInfo: &pb.Implementation{Name: "mcpedge-check", Version: "1"},
		ClientCapabilities: &pb.ClientCapabilities{
			Elicitation: &pb.ElicitationCapability{Form: true, Url: true}, Sampling: &pb.SamplingCapability{}, Roots: &pb.RootsCapability{},
		},
		LogLevel: pb.LogLevel_LOG_LEVEL_DEBUG, ProgressWanted: true,
	}
}

// caller returns the principal of the calls.
func (p *prober) caller() mcp.Principal {
	if p.trial == nil {
		return mcp.Principal{}
	}
	return p.trial.Caller
}

// shown adds the caller's identity for the backend to ctx, as far as possible.
func (p *prober) shown(ctx context.Context, about *pb.RequestContext) context.Context {
	who := p.caller()
	pairs, missing := p.b.CallerPairs(&who)
	key, value, err := p.b.Prove(ctx, &who, about.GetCallId())
	if !p.unshown {
		p.unshown = true
		if missing != nil {
			p.note("these calls have no metadata of the caller, who is given by --claims: %v", missing)
		}
		if err != nil {
			p.note("these calls do not show who is calling: %v", err)
		}
	}
	if key != "" {
		pairs = append(pairs, key, value)
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

func newCall() string { return rand.Text() }

// answers reports whether the backend answers a list of a kind soon.
func (p *prober) answers(ctx context.Context, kind backend.Kinds) bool {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	_, _, _, err := p.listers(kind)[0].page(ctx, "", 0)
	p.unresponsive = err != nil
	return err == nil
}

package backend

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/check/vet"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// description is a backend's description without its lists. It is immutable except for the probes,
// which the refresher adds before it is shared.
type description struct {
	// described is the answer of Describe; nil if it is not implemented.
	described *pb.DescribeResponse
	problems  []string
	// probed is true once the three below were determined.
	probed                              bool
	subscribe, completion, promptValues bool
}

// describe calls Describe. Its timeout detects a backend that hangs while its connection stays
// open.
func (b *Backend) describe(ctx context.Context) (*description, error) {
	within := min(b.cfg.Timeout, b.tune.describe)
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	res, err := b.describer.Describe(bounded, &pb.DescribeRequest{})
	// The backend's gRPC may end the call for its deadline slightly before the edge's does.
	late := bounded.Err() != nil || status.Code(err) == codes.DeadlineExceeded
	switch {
	case err != nil && late && ctx.Err() == nil && b.adapter == nil:
		return nil, fmt.Errorf("it accepts connections, but did not answer within %v: %w", within, err)
	case status.Code(err) == codes.Unimplemented:
		return &description{}, nil
	case err != nil:
		return nil, err
	}
	var l list
	vet.Describe(res, func(text string) { l.problem("%s", text) })
	return &description{described: res, problems: l.problems}, nil
}

// serves reports whether a kind may be served, and whether its feed may be.
func (d *description) serves(kind Kinds) (served, feed bool) {
	if d.described == nil {
		return true, true
	}
	switch kind {
	case Tools:
		return d.described.Tools != nil, d.described.Tools.GetListChanged()
	case Resources:
		return d.described.Resources != nil, d.described.Resources.GetListChanged()
	default:
		return d.described.Prompts != nil, d.described.Prompts.GetListChanged()
	}
}

// probe determines what a backend without Describe offers in addition to its lists. It calls each
// method once and ignores the result. The method exists unless the status is UNIMPLEMENTED.
func (b *Backend) probe(ctx context.Context, d *description, resources, prompts bool) {
	ctx, cancel := context.WithTimeout(ctx, b.tune.settle)
	defer cancel()
	there := func(err error) bool {
		code := status.Code(err)
		return code != codes.Unimplemented && code != codes.Unavailable && code != codes.Canceled
	}
	if resources {
		stream, err := b.resources.WatchResource(ctx, &pb.WatchResourceRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		d.subscribe = there(err)
		_, err = b.resources.CompleteResourceTemplate(ctx, &pb.CompleteResourceTemplateRequest{Context: &pb.RequestContext{}})
		d.completion = there(err)
	}
	if prompts {
		_, err := b.prompts.CompletePrompt(ctx, &pb.CompletePromptRequest{Context: &pb.RequestContext{}})
		d.promptValues = there(err)
	}
	d.probed = true
}

// response returns the description to show: the backend's own, or the features found by probing.
func (d *description) response(lists *lists, feeds Kinds) *pb.DescribeResponse {
	if d.described != nil {
		return d.described
	}
	found := &pb.DescribeResponse{}
	if l := lists[0]; l != nil && l.served {
		found.Tools = &pb.ToolFeatures{ListChanged: feeds.Has(Tools)}
	}
	if l := lists[1]; l != nil && l.served {
		found.Resources = &pb.ResourceFeatures{ListChanged: feeds.Has(Resources), Subscribe: d.subscribe, Completion: d.completion}
	}
	if l := lists[2]; l != nil && l.served {
		found.Prompts = &pb.PromptFeatures{ListChanged: feeds.Has(Prompts), Completion: d.promptValues}
	}
	return found
}

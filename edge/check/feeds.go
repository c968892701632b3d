package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/backend"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// receive waits for the next event of a feed and reports whether it is started.
type receive func() (started bool, err error)

// opener opens a feed.
type opener func(context.Context) (receive, error)

// feedOf names the change feed of a kind, and how to open it.
func (p *prober) feedOf(kind backend.Kinds) (rpc string, open opener) {
	name := kind.String()
	rpc = "Watch" + strings.ToUpper(name[:1]) + name[1:]
	return rpc, func(ctx context.Context) (receive, error) {
		switch kind {
		case backend.Tools:
			s, err := p.b.Tools().WatchTools(ctx, &pb.WatchToolsRequest{})
			return func() (bool, error) {
				m, err := s.Recv()
				return m.GetStarted() != nil, err
			}, err
		case backend.Resources:
			s, err := p.b.Resources().WatchResources(ctx, &pb.WatchResourcesRequest{})
			return func() (bool, error) {
				m, err := s.Recv()
				return m.GetStarted() != nil, err
			}, err
		default:
			s, err := p.b.Prompts().WatchPrompts(ctx, &pb.WatchPromptsRequest{})
			return func() (bool, error) {
				m, err := s.Recv()
				return m.GetStarted() != nil, err
			}, err
		}
	}
}

// feed checks the change feed of a kind.
func (p *prober) feed(ctx context.Context, kind backend.Kinds) {
	rpc, open := p.feedOf(kind)
	p.try(func() string { return p.follow(ctx, rpc, p.promised(kind), open) })
}

// promised reports whether Describe announces the change feed of a kind.
func (p *prober) promised(kind backend.Kinds) bool {
	switch kind {
	case backend.Tools:
		return p.survey.Described.GetTools().GetListChanged()
	case backend.Resources:
		return p.survey.Described.GetResources().GetListChanged()
	default:
		return p.survey.Described.GetPrompts().GetListChanged()
	}
}

// follow checks a feed: its first event is started, and it stays open. promised means that Describe
// announces it.
func (p *prober) follow(ctx context.Context, rpc string, promised bool, open opener) (ok string) {
	ctx, cancel := context.WithTimeout(ctx, p.timing.settle)
	defer cancel()
	recv, err := open(ctx)
	started := false
	if err == nil {
		started, err = recv()
	}
	switch code := status.Code(err); {
	case err == nil && !started:
		p.violation("%s: the first event is not started: send it first, so that nothing falls between", rpc)
	case err == nil:
		return p.staysOpen(ctx, cancel, rpc, recv)
	case errors.Is(err, io.EOF):
		p.violation("%s: the feed ends without started: it must stay open until its caller leaves", rpc)
	case code == codes.Unimplemented && promised:
		p.violation("%s: UNIMPLEMENTED, although Describe says that it is served", rpc)
	case code == codes.Unimplemented:
		p.note("%s: UNIMPLEMENTED: clients are not notified of changes", rpc)
	case code == codes.DeadlineExceeded:
		p.violation("%s: started does not come within %v", rpc, p.timing.settle)
	default:
		p.violation("%s: %s instead of started", rpc, statusText(err))
	}
	return ""
}

func (p *prober) staysOpen(ctx context.Context, cancel context.CancelFunc, rpc string, recv receive) (ok string) {
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := recv(); err != nil {
				ended <- err
				return
			}
		}
	}()
	watched := time.NewTimer(p.timing.watched)
	defer watched.Stop()
	select {
	case err := <-ended:
		if ctx.Err() == nil {
			p.violation("%s: the feed ends by itself after started (%v): it must stay open until its caller leaves", rpc, err)
			return ""
		}
	case <-watched.C:
		cancel()
		<-ended
	}
	return rpc + ": begins with started and stays open"
}

// abandonFeeds opens many feeds concurrently and cancels them. It checks that lists are served
// during that time and afterwards.
func (p *prober) abandonFeeds(ctx context.Context, kind backend.Kinds) {
	rpc, open := p.feedOf(kind)
	p.try(func() string {
		shared, cancel := p.bounded(ctx)
		defer cancel()
		for range abandonedStreams {
			recv, err := open(shared)
			if err == nil {
				_, err = recv()
			}
			switch {
			case status.Code(err) == codes.Unimplemented:
				return ""
			case err != nil:
				p.violation("%s: of %d feeds at a time one ends with %s: a feed must not keep others waiting", rpc, abandonedStreams, statusText(err))
				return ""
			}
		}
		if !p.answers(ctx, kind) {
			p.violation("%s: while %d feeds are open, lists are not answered: a feed must not hold a thread that calls need", rpc, abandonedStreams)
			return ""
		}
		cancel()
		if !p.answers(ctx, kind) {
			p.violation("%s: after %d feeds were cancelled, lists are not answered: a feed must end when its caller leaves", rpc, abandonedStreams)
			return ""
		}
		return fmt.Sprintf("%s: %d feeds at a time, then cancelled, and calls are answered", rpc, abandonedStreams)
	})
}

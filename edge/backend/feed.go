package backend

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// feed is the change feed of one kind. It is reopened without end, unless it is not implemented.
type feed struct {
	kind   Kinds
	cancel context.CancelFunc
	// settled is closed when the first attempt has started or failed, or when the feed is not
	// implemented.
	settled chan struct{}
	once    sync.Once
	// begun is true once it has started.
	begun atomic.Bool
	// missing is true if it is not implemented.
	missing atomic.Bool
	// slow is true if it had not settled when the lists were read. Only the refresher uses it.
	slow bool
}

// openFeed starts a feed.
func (b *Backend) openFeed(kind Kinds) *feed {
	ctx, cancel := context.WithCancel(b.group.ctx)
	f := &feed{kind: kind, cancel: cancel, settled: make(chan struct{})}
	if !b.group.run(func(context.Context) { b.feed(ctx, f) }) {
		cancel()
		f.settle()
	}
	return f
}

func (f *feed) settle() { f.once.Do(func() { close(f.settled) }) }

// feed keeps one feed open until ctx ends.
func (b *Backend) feed(ctx context.Context, f *feed) {
	defer f.cancel()
	defer f.settle()
	retry := b.newRetry()
	for {
		began := time.Now()
		err := b.feedOnce(ctx, f)
		if ctx.Err() != nil {
			return
		}
		if status.Code(err) == codes.Unimplemented {
			f.missing.Store(true)
			return
		}
		b.log.Debug("change feed ended; it is opened again", "kind", f.kind.String(), "error", clip(err))
		f.settle()
		retry.resetAfter(time.Since(began))
		if !retry.wait(ctx) {
			return
		}
	}
}

// feedOnce opens the stream and marks the kind when it starts and whenever it changes. A restart
// counts as a change, since changes during the interruption are unknown.
func (b *Backend) feedOnce(ctx context.Context, f *feed) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	recv, err := b.openStream(ctx, f.kind)
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		set, changed, err := recv()
		if err != nil {
			return err
		}
		if !set {
			continue
		}
		if first || changed {
			again := f.begun.Swap(true)
			b.signals.mark(f.kind, changed || again)
			f.settle()
		}
	}
}

// openStream opens the feed of a kind as soon as there is a connection. recv reports whether an
// event is a known one, and whether it is a change.
func (b *Backend) openStream(ctx context.Context, kind Kinds) (recv func() (set, changed bool, err error), err error) {
	wait := grpc.WaitForReady(true)
	switch kind {
	case Tools:
		s, err := b.tools.WatchTools(ctx, &pb.WatchToolsRequest{}, wait)
		return func() (bool, bool, error) {
			m, err := s.Recv()
			return m.GetEvent() != nil, m.GetChanged() != nil, err
		}, err
	case Resources:
		s, err := b.resources.WatchResources(ctx, &pb.WatchResourcesRequest{}, wait)
		return func() (bool, bool, error) {
			m, err := s.Recv()
			return m.GetEvent() != nil, m.GetChanged() != nil, err
		}, err
	default:
		s, err := b.prompts.WatchPrompts(ctx, &pb.WatchPromptsRequest{}, wait)
		return func() (bool, bool, error) {
			m, err := s.Recv()
			return m.GetEvent() != nil, m.GetChanged() != nil, err
		}, err
	}
}

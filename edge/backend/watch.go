package backend

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// watchKey identifies a stream. Watches with equal keys share it. who is empty unless the backend
// has private lists.
type watchKey struct{ uri, who string }

// watch is one upstream stream of WatchResource and its watchers. Backend.watchMu guards its
// fields, except for those set before it is shared.
type watch struct {
	key    watchKey
	who    *mcp.Principal // nil: the edge itself
	cancel context.CancelFunc
	// settled is closed when the backend has begun to report, or has refused; err is why it
	// refused.
	settled  chan struct{}
	err      error
	watchers map[*watcher]struct{}
}

type watcher struct{ fn func(uri string) }

// Watch calls fn whenever the backend reports that the resource, or one below it, changed, with the
// URI that changed. fn may be called without a change (after a reconnection), but no change is
// missed once Watch has returned. Calls of one watch do not overlap; fn must not block.
//
// Watch returns when the backend has begun to report. Equal watches share one stream. The error is
// the gRPC status with which the backend refused the URI, ctx's, or a *mcp.Error: KindLimit if
// MaxWatches are open, KindUnavailable if the backend is absent.
//
// stop ends the watch; it is idempotent, and must be called in the end. A call of fn that has begun
// may outlast it.
func (b *Backend) Watch(ctx context.Context, p mcp.Principal, uri string, fn func(uri string)) (stop func(), err error) {
	c := b.Catalog()
	if !c.Present {
		return nil, mcp.Errorf(mcp.KindUnavailable, "backend %q cannot be reached: try again later", b.cfg.Name)
	}
	key := watchKey{uri: uri}
	var who *mcp.Principal
	if c.Private {
		key.who = string(p.AppendIdentity(nil, b.claims))
		who = &p
	}
	me := &watcher{fn: fn}
	w, err := b.subscribe(key, who, mcp.TokenOf(ctx), me)
	if err != nil {
		return nil, err
	}
	select {
	case <-w.settled:
		if w.err != nil {
			return nil, w.err
		}
		return func() { b.unsubscribe(w, me) }, nil
	case <-ctx.Done():
		b.unsubscribe(w, me)
		return nil, ctx.Err()
	}
}

// subscribe adds a watcher to the stream of its key, which it opens if it is the first.
func (b *Backend) subscribe(key watchKey, who *mcp.Principal, token mcp.Token, me *watcher) (*watch, error) {
	b.watchMu.Lock()
	defer b.watchMu.Unlock()
	if w := b.watches[key]; w != nil {
		w.watchers[me] = struct{}{}
		return w, nil
	}
	if len(b.watches) >= b.tune.watches {
		return nil, mcp.Errorf(mcp.KindLimit, "backend %q has %d resource watches, the limit: unsubscribe from others first", b.cfg.Name, b.tune.watches)
	}
	ctx, cancel := context.WithCancel(mcp.WithToken(b.group.ctx, token))
	w := &watch{key: key, who: who, cancel: cancel, settled: make(chan struct{}), watchers: map[*watcher]struct{}{me: {}}}
	if !b.group.run(func(context.Context) { b.follow(ctx, w) }) {
		cancel()
		return nil, mcp.Errorf(mcp.KindUnavailable, "backend %q: the edge is shutting down", b.cfg.Name)
	}
	b.watches[key] = w
	return w, nil
}

// unsubscribe removes a watcher; the last one closes the stream.
func (b *Backend) unsubscribe(w *watch, me *watcher) {
	b.watchMu.Lock()
	defer b.watchMu.Unlock()
	delete(w.watchers, me)
	if len(w.watchers) == 0 {
		b.forget(w)
		w.cancel()
	}
}

// forget removes a watch; watchMu is held.
func (b *Backend) forget(w *watch) {
	if b.watches[w.key] == w {
		delete(b.watches, w.key)
	}
}

// follow keeps the stream of a watch open until its context ends, or until the first attempt fails.
func (b *Backend) follow(ctx context.Context, w *watch) {
	defer w.cancel()
	// Calls and watches have separate connections. If the connection of calls is ready, waiting for
	// that of watches is useful.
	up := grpc.WaitForReady(b.conn.GetState() == connectivity.Ready)
	err := b.watchOnce(ctx, w, func() { close(w.settled) }, up)
	select {
	case <-w.settled:
	default:
		b.watchMu.Lock()
		b.forget(w)
		w.err = err
		b.watchMu.Unlock()
		close(w.settled)
		return
	}
	retry := b.newRetry()
	notified := false
	for retry.wait(ctx) {
		began := time.Now()
		// Waiting for the connection costs nothing, and opens the stream as soon as it is back.
		err := b.watchOnce(ctx, w, func() {
			notified = false
			b.notify(w, "")
		}, grpc.WaitForReady(true))
		if !notified && ctx.Err() == nil && rejectsRequest(err) {
			// The resource may no longer exist; a watcher that reads it now gets the error.
			notified = true
			b.notify(w, "")
		}
		retry.resetAfter(time.Since(began))
	}
}

// watchOnce opens the stream, calls started with its first event, and passes events on until it
// ends. A backend that does not begin within the timeout fails with DEADLINE_EXCEEDED.
func (b *Backend) watchOnce(ctx context.Context, w *watch, started func(), opts ...grpc.CallOption) (ended error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slow := status.Errorf(codes.DeadlineExceeded, "WatchResource did not send started within %v", b.cfg.Timeout)
	timeout := time.AfterFunc(b.cfg.Timeout, func() { cancel(slow) })
	defer timeout.Stop()
	request := &pb.WatchResourceRequest{Uri: w.key.uri}
	if w.who != nil {
		request.Principal = b.Principal(*w.who)
		proven, proved, err := b.proving(ctx, w.who)
		if err != nil {
			return err
		}
		ctx = proven
		defer func() { proved(ended) }()
	}
	stream, err := b.watcher.WatchResource(ctx, request, opts...)
	for begun := false; err == nil; {
		var event *pb.WatchResourceResponse
		if event, err = stream.Recv(); err != nil {
			break
		}
		if !begun && event.GetEvent() != nil {
			begun = true
			if !timeout.Stop() {
				return slow
			}
			started()
		}
		if u := event.GetUpdated(); u != nil && covers(w.key.uri, u.GetUri()) {
			b.notify(w, u.GetUri())
		}
	}
	if errors.Is(context.Cause(ctx), slow) {
		return slow
	}
	if errors.Is(err, io.EOF) {
		return status.Error(codes.Unavailable, "WatchResource ended without a status")
	}
	return err
}

// covers reports whether a URI is the watched one, for which the empty one stands, or one below it.
// Reports of other URIs are ignored: they have watches of their own.
func covers(watched, uri string) bool {
	rest, below := strings.CutPrefix(uri, watched)
	return uri == "" || below && (rest == "" || strings.HasSuffix(watched, "/") || strings.ContainsRune("/?#", rune(rest[0]))) &&
		len(rest) <= maxBelow
}

// maxBelow bounds the bytes by which a URI below the watched one may be longer.
const maxBelow = 4 << 10

// notify calls the watchers; an empty URI means the watched one.
func (b *Backend) notify(w *watch, uri string) {
	if uri == "" {
		uri = w.key.uri
	}
	b.watchMu.Lock()
	fns := make([]func(string), 0, len(w.watchers))
	for one := range w.watchers {
		fns = append(fns, one.fn)
	}
	b.watchMu.Unlock()
	for _, fn := range fns {
		fn(uri)
	}
}

// rejectsRequest reports whether a status rejects the request itself.
func rejectsRequest(err error) bool {
	switch status.Code(err) {
	case codes.NotFound, codes.PermissionDenied, codes.InvalidArgument, codes.Unimplemented,
		codes.FailedPrecondition, codes.Unauthenticated, codes.OutOfRange:
		return true
	default:
		return false
	}
}

package reflect

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/test/bufconn"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// link is the contract's server for as long as the target is connected. When the target is gone the link
// refuses new calls and lets those that run come to their end, as the target itself would.
type link struct {
	listener *bufconn.Listener
	server   *grpc.Server
	// ended closes when the link takes no more calls.
	ended  context.Context
	cancel context.CancelFunc
}

const (
	// pipeBytes is what one direction of a connection in this process holds.
	pipeBytes = 256 << 10
	// reloadMin is the least time between two times the methods are learned.
	reloadMin = time.Second
)

// serve makes the link. The caller holds opening.
func (a *Adapter) serve() (*link, error) {
	l := &link{
		listener: bufconn.Listen(pipeBytes),
		server:   grpc.NewServer(grpc.MaxRecvMsgSize(math.MaxInt32), grpc.WaitForHandlers(true)),
	}
	l.ended, l.cancel = context.WithCancel(a.ctx)
	s := &server{a: a, l: l}
	pb.RegisterBackendServiceServer(l.server, s)
	pb.RegisterToolServiceServer(l.server, s)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		l.cancel()
		_ = l.listener.Close()
		return nil, errClosed
	}
	a.link = l
	a.group.Go(func() { _ = l.server.Serve(l.listener) })
	a.group.Go(func() { a.follow(l) })
	return l, nil
}

// follow keeps a link true to its target until that is gone.
func (a *Adapter) follow(l *link) {
	defer a.drain(l)
	states := make(chan connectivity.State)
	a.group.Go(func() {
		for state := a.target.GetState(); ; state = a.target.GetState() {
			select {
			case states <- state:
			case <-l.ended.Done():
				return
			}
			if !a.target.WaitForStateChange(l.ended, state) {
				return
			}
		}
	})
	due := a.dueFirst()
	refresh := time.NewTimer(time.Until(due))
	defer refresh.Stop()
	by := func(rest time.Duration) { // learns them then, unless that is earlier anyway
		if at := time.Now().Add(rest); at.Before(due) {
			due = at
			refresh.Reset(rest)
		}
	}
	ready := true
	for {
		select {
		case state := <-states:
			switch state {
			case connectivity.TransientFailure, connectivity.Shutdown:
				return
			case connectivity.Idle:
				a.target.Connect()
			case connectivity.Ready:
				if !ready {
					by(a.rest(0))
				}
			}
			ready = state == connectivity.Ready
		case <-a.kick:
			by(a.rest(reloadMin))
		case <-refresh.C:
			rest := a.rest(a.again(l.ended, ready))
			due = time.Now().Add(rest)
			refresh.Reset(rest)
		case <-a.ctx.Done():
			return
		}
	}
}

// dueFirst is when a new link learns the methods: after the refresh, or when they may be learned if they were not at its opening.
func (a *Adapter) dueFirst() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stale {
		a.stale = false
		return time.Now().Add(a.pace.wait(time.Now()))
	}
	return time.Now().Add(spread(a.opts.Refresh))
}

// again learns the methods anew and says when to do it next.
func (a *Adapter) again(ctx context.Context, ready bool) time.Duration {
	if !ready {
		return spread(a.opts.Refresh)
	}
	ctx, cancel := context.WithTimeout(ctx, limit.MaxTime)
	defer cancel()
	if err := a.load(ctx, nil); err != nil && ctx.Err() == nil {
		a.log.Warn("the service's methods cannot be learned anew; the tools stay as they are", "error", err)
		return spread(min(5*reloadMin, a.opts.Refresh))
	}
	return spread(a.opts.Refresh)
}

// drain takes the link out, and returns when its last call has ended or the adapter is closed.
func (a *Adapter) drain(l *link) {
	a.mu.Lock()
	if a.link == l {
		a.link = nil
	}
	a.mu.Unlock()
	l.cancel()
	defer context.AfterFunc(a.ctx, l.server.Stop)()
	l.server.GracefulStop()
	_ = l.listener.Close()
}

// spread is a duration, 80 to 120 per cent of it.
func spread(d time.Duration) time.Duration { return d*4/5 + rand.N(max(d*2/5, 1)) } // #nosec G404 -- a pause is no secret

package reflect

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// awayError means that the target's methods are not known. Its status is UNAVAILABLE, even if the
// target answered reflection with another one.
type awayError struct{ error }

func (e awayError) Unwrap() error { return e.error }

// GRPCStatus implements the interface of package status.
func (e awayError) GRPCStatus() *status.Status { return status.New(codes.Unavailable, e.Error()) }

var errClosed = errors.New("the adapter is closed")

// served waits until the current methods of the target are learned. It returns an awayError if the
// target cannot be reached, or if its methods cannot be learned.
func (a *Adapter) served(ctx context.Context) error {
	a.mu.Lock()
	fresh, closed := a.fresh, a.closed
	if !closed && !a.watching {
		a.watching = true
		a.group.Go(a.watch)
	}
	a.mu.Unlock()
	if closed {
		return awayError{errClosed}
	}
	err := a.reached(ctx)
	if err == nil && !fresh {
		err = a.learned(ctx)
	}
	if err != nil {
		return awayError{err}
	}
	return nil
}

// reached waits until the target is connected. If it cannot be, it returns the channel's error
// without delay.
func (a *Adapter) reached(ctx context.Context) error {
	if a.target.GetState() == connectivity.Ready {
		return nil
	}
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(ctx, nil)) // without the caller's metadata
	defer cancel()
	_, err := a.target.NewStream(ctx, &grpc.StreamDesc{}, "/grpc.health.v1.Health/Check")
	return err
}

// attempt is a run of learning, which may outlast the request that started it.
type attempt struct {
	done  chan struct{}
	err   error // valid after done is closed
	began time.Time
	// files is the number of files received, known the number of files known so far.
	files, known atomic.Int64
}

// String describes the progress.
func (t *attempt) String() string {
	return fmt.Sprintf("learned %d of %d files", t.files.Load(), t.known.Load())
}

// Progress describes the progress of learning while no call can be served without it. It is empty
// at other times.
func (a *Adapter) Progress() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.attempt == nil || a.fresh {
		return ""
	}
	return a.attempt.String()
}

// learned waits until the methods are learned. If ctx ends first, learning continues, and the next
// request waits for it.
func (a *Adapter) learned(ctx context.Context) error {
	a.mu.Lock()
	if wait := a.pace.wait(time.Now()); a.attempt == nil && wait > 0 { // serve the previous model until pace allows another attempt
		defer a.mu.Unlock()
		if a.model == nil {
			return fmt.Errorf("%w (tried again in %s)", a.pace.why, wait.Round(time.Second/10))
		}
		a.fresh = true
		a.relearnLocked()
		return nil
	}
	t := a.learning()
	a.mu.Unlock()
	if t == nil {
		return errClosed
	}
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		since := time.Since(t.began).Round(time.Second / 10)
		a.log.Info("the service's methods are not learned yet: "+t.String(), "since", since)
		return fmt.Errorf("its methods are not learned yet: %s in %s", t, since)
	}
}

// learning returns the running attempt, and starts one if there is none. It returns nil if the
// adapter is closed. The caller holds mu.
func (a *Adapter) learning() *attempt {
	if a.attempt != nil || a.closed {
		return a.attempt
	}
	t := &attempt{done: make(chan struct{}), began: time.Now()}
	a.attempt = t
	losses := a.losses
	a.group.Go(func() {
		defer close(t.done)
		ctx, cancel := context.WithTimeout(a.ctx, limit.MaxTime)
		defer cancel()
		t.err = a.load(ctx, func(files, known int) {
			t.files.Store(int64(files))
			t.known.Store(int64(known))
		})
		a.mu.Lock()
		defer a.mu.Unlock()
		a.attempt = nil
		switch {
		case t.err == nil:
			a.fresh = losses == a.losses
		case a.fresh && ctx.Err() == nil:
			a.log.Warn("the service's methods cannot be learned anew; the tools stay as they are", "error", t.err)
		}
	})
	return t
}

// load learns the methods, and swaps the model if they differ. The attempt ensures that only one
// load runs.
func (a *Adapter) load(ctx context.Context, progress func(files, known int)) error {
	before, done := a.use()
	defer done()
	began := time.Now()
	room := a.share.Room()
	m, err := learn(ctx, a.target, &a.opts, before, progress, room)
	if err == nil && (before == nil || before.version != m.version) {
		err = a.swap(m)
	} else {
		room.Release()
		m = before
	}
	a.mu.Lock()
	switch {
	case err == nil:
		a.pace.ended(began, time.Now(), m != before)
	case ctx.Err() == nil && !isAway(err):
		a.pace.failed(began, time.Now(), err)
	}
	a.mu.Unlock()
	if err != nil || m == before {
		return err
	}
	a.log.Info("the service's methods were learned", "tools", len(m.tools), "version", m.version)
	known := map[string]bool{}
	if before != nil {
		for _, note := range before.notes {
			known[note] = true
		}
	}
	for _, note := range m.notes {
		if !known[note] {
			a.log.Info("a tool cannot express all of its method", "note", note)
		}
	}
	return nil
}

// isAway reports whether learning failed because the service is unreachable, so that a retry is
// cheap.
func isAway(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		return true
	}
	return false
}

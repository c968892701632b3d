package changes

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// waiter is a stream to wait by.
type waiter struct {
	mcp.Stream
	woken chan struct{}
	gone  chan struct{}
}

func newWaiter() *waiter { return &waiter{woken: make(chan struct{}, 1), gone: make(chan struct{})} }

func (w *waiter) Wait(d time.Duration) error {
	select {
	case <-w.woken:
	case <-time.After(d):
	case <-w.gone:
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (w *waiter) Wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// A feed that waits by a stream tells the same, and its client's going.
func TestFeedWaitsByAStream(t *testing.T) {
	source, _ := owned()
	h := hubOf(source)
	feed, w := open(t, h, mcp.Filter{Tools: true}), newWaiter()
	source.change(h, backend.Tools) // before there is a waiter
	if err := h.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	feed.WaitBy(w)
	for range 2 {
		if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ToolsChanged}}) {
			t.Errorf("got %v", got)
		}
		go source.change(h, backend.Tools)
	}
	next(t, feed)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	wait := func() {
		_, err := feed.Next(ctx, time.Minute)
		ended <- err
	}
	go wait()
	cancel()
	feed.Wake()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Next: %v", err)
	}
	ctx = t.Context()
	go wait()
	close(w.gone)
	if err := <-ended; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Next: %v", err)
	}
	w.gone = make(chan struct{})
	go wait()
	feed.Close()
	if err := <-ended; !errors.Is(err, errFeedClosed) {
		t.Errorf("Next: %v", err)
	}
	select {
	case <-w.woken: // Next may have begun after Close
	default:
	}
	feed.Wake() // The stream may have other deadlines by now.
	if len(w.woken) > 0 {
		t.Error("a closed feed woke its stream")
	}
}

package stdio

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// aheadBytes bounds reading ahead, which detects the end of a pipe behind its buffered bytes: a
// pipe holds 64 KiB by default, and at most 1 MiB.
const aheadBytes = 1 << 20

// aheadReader reads a stream ahead in its own goroutine, until it ends or stop is called. Read is for one
// goroutine.
type aheadReader struct {
	// ended is closed when the stream has ended, though not all of it was taken yet.
	ended chan struct{}

	mu      sync.Mutex
	changed *sync.Cond
	held    bytes.Buffer
	err     error // of the stream, returned after the buffered bytes
	stopped bool
}

func readAhead(in io.Reader) *aheadReader {
	a := &aheadReader{ended: make(chan struct{})}
	a.changed = sync.NewCond(&a.mu)
	go a.run(in)
	return a
}

func (a *aheadReader) run(in io.Reader) {
	piece := make([]byte, 32<<10)
	for {
		n, err := in.Read(piece)
		a.mu.Lock()
		for a.held.Len() >= aheadBytes && !a.stopped {
			a.changed.Wait()
		}
		a.held.Write(piece[:n])
		a.err = err
		stopped := a.stopped
		a.changed.Broadcast()
		a.mu.Unlock()
		if err != nil {
			close(a.ended)
		}
		if err != nil || stopped {
			return
		}
	}
}

// Read implements io.Reader.
func (a *aheadReader) Read(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.held.Len() == 0 && a.err == nil {
		if a.stopped {
			return 0, io.EOF
		}
		a.changed.Wait()
	}
	if a.held.Len() == 0 {
		return 0, a.err
	}
	n, _ := a.held.Read(p)
	a.changed.Broadcast()
	return n, nil
}

// stop ends the reading with the next piece.
func (a *aheadReader) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	a.changed.Broadcast()
}

// watchEnd closes c.unread when the stream has ended and the client then takes no message for the
// grace period.
func (c *conn) watchEnd(ended, served <-chan struct{}) {
	select {
	case <-ended:
	case <-served:
		return
	}
	every := time.NewTicker(c.opts.Grace)
	defer every.Stop()
	for before := c.sent.Load(); ; {
		select {
		case <-every.C:
		case <-served:
			return
		}
		now := c.sent.Load()
		if now == before {
			close(c.unread)
			return
		}
		before = now
	}
}

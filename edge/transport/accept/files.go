package accept

import (
	"cmp"
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// FilesOptions configure the number of files that a Files reserves for the rest of the process. The
// zero value reserves none.
type FilesOptions struct {
	// Limit is the maximum number of open files of the process. 0 means unknown.
	Limit int
	// Reserve is the number of files that connections of this listener may not use.
	Reserve int
	// Refusal is sent on a connection that would use a reserved file.
	Refusal []byte
	// Telemetry counts the refusals. It may be nil.
	Telemetry *telemetry.Telemetry
	// Logger logs, at most every ten seconds, that files have run out. nil uses slog.Default.
	Logger *slog.Logger
}

// Files is a listener that keeps running when no file is left for a connection. It does not use the
// reserve: it closes a connection whose descriptor is among the last ones. The lowest free
// descriptor is assigned first, so all lower ones are in use then.
type Files struct {
	net.Listener
	o      FilesOptions
	closed chan struct{}
	close  sync.Once
	// pause and sometimes belong to Accept.
	pause     time.Duration
	sometimes rate.Sometimes
}

// NewFiles returns a listener that accepts connections from l, unchanged, and closes l when it is
// closed. Only one goroutine may call Accept.
func NewFiles(l net.Listener, o FilesOptions) *Files {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return &Files{Listener: l, o: o, closed: make(chan struct{}), sometimes: rate.Sometimes{Interval: reportEvery}}
}

// Bounds of the pause after a failed Accept.
const (
	shortPause = 5 * time.Millisecond
	longPause  = 320 * time.Millisecond
)

// Accept implements [net.Listener]. It only fails when the listener is closed.
func (f *Files) Accept() (net.Conn, error) {
	for {
		if f.isClosed() {
			return nil, net.ErrClosed
		}
		c, err := f.Listener.Accept()
		switch {
		case err == nil && !f.reserved(c):
			f.pause = 0
			return c, nil
		case err == nil:
			f.refuse(c)
		case errors.Is(err, net.ErrClosed):
			return nil, err
		default:
			f.failed(err)
		}
	}
}

func (f *Files) isClosed() bool {
	select {
	case <-f.closed:
		return true
	default:
		return false
	}
}

// Close implements [net.Listener].
func (f *Files) Close() error {
	f.close.Do(func() { close(f.closed) })
	return f.Listener.Close()
}

// reserved reports whether a connection uses one of the reserved files.
func (f *Files) reserved(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	if !ok || f.o.Limit == 0 {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	last := false
	_ = raw.Control(func(fd uintptr) { last = int(fd) >= f.o.Limit-f.o.Reserve })
	return last
}

func (f *Files) refuse(c net.Conn) {
	f.o.Telemetry.Hit(telemetry.BoundFiles)
	f.sometimes.Do(func() {
		f.o.Logger.Warn("no file descriptor is left for connections except the reserve, so they are refused: raise the limit of open files, or lower the setting connections",
			"limit", f.o.Limit, "reserve", f.o.Reserve)
	})
	_ = c.SetWriteDeadline(time.Now().Add(shortPause))
	_, _ = c.Write(f.o.Refusal)
	_ = c.Close()
}

// failed waits until the pause has passed or the listener is closed. The pause doubles with each
// consecutive failure, up to longPause.
func (f *Files) failed(err error) {
	f.pause = min(max(2*f.pause, shortPause), longPause)
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		f.o.Telemetry.Hit(telemetry.BoundFiles)
		f.sometimes.Do(func() {
			f.o.Logger.Warn("no file descriptor is left, so connections wait: raise the limit of open files, or lower the setting connections",
				"limit", f.o.Limit, "error", err)
		})
	} else {
		f.sometimes.Do(func() { f.o.Logger.Warn("a connection could not be accepted", "error", err) })
	}
	t := time.NewTimer(f.pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-f.closed:
	}
}

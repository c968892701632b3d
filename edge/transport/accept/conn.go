package accept

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Conn is a connection of a [Listener], which counts it until it is closed. A Write without a
// deadline uses Options.WriteTimeout. It is safe for concurrent use, as a [net.Conn] is.
type Conn struct {
	net.Conn
	l *Listener
	// address is the address that the connection counts for; invalid means none.
	address netip.Addr

	mu sync.Mutex
	// read and write are the last deadlines set. Zero means none.
	read, write time.Time
	// begun is true once the server has reported a state: a request, or the wait for one. LimitReads
	// does not apply if exempt.
	begun, exempt, detached, closed bool
	// closers are called when the connection is closed.
	closers []func()
}

var _ net.Conn = (*Conn)(nil)

// Close implements [net.Conn].
func (c *Conn) Close() error {
	c.mu.Lock()
	again, closers := c.closed, c.closers
	c.closed, c.closers = true, nil
	c.mu.Unlock()
	if again {
		return c.Conn.Close()
	}
	err := c.Conn.Close()
	c.l.remove(c)
	for _, f := range closers {
		f()
	}
	return err
}

// OnClose calls f once, when the connection is closed, or at once if it is closed already.
func (c *Conn) OnClose(f func()) {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.closers = append(c.closers, f)
	}
	c.mu.Unlock()
	if closed {
		f()
	}
}

// CloseWrite shuts down the writing side, as [net.TCPConn] does.
func (c *Conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// Write implements [net.Conn].
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	bounded := !c.write.IsZero() || c.l.o.WriteTimeout == 0
	if !bounded {
		_ = c.Conn.SetWriteDeadline(time.Now().Add(c.l.o.WriteTimeout))
	}
	c.mu.Unlock()
	n, err := c.Conn.Write(p)
	if !bounded {
		c.mu.Lock()
		_ = c.Conn.SetWriteDeadline(c.write)
		c.mu.Unlock()
	}
	return n, err
}

// SetDeadline implements [net.Conn].
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetWriteDeadline implements [net.Conn].
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write = t
	return c.Conn.SetWriteDeadline(t)
}

// SetReadDeadline implements [net.Conn]. LimitReads bounds the deadline.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = t
	return c.Conn.SetReadDeadline(c.readDeadline())
}

// readDeadline returns the read deadline to set: the requested one, or an earlier one by
// LimitReads. The caller holds mu.
func (c *Conn) readDeadline() time.Time {
	d := time.Duration(c.l.readLimit.Load())
	if d == 0 || c.exempt || c.read.IsZero() && c.begun {
		return c.read
	}
	if latest := time.Now().Add(d); c.read.IsZero() || latest.Before(c.read) {
		return latest
	}
	return c.read
}

// Idle sets whether the connection is between two requests; then LimitReads does not apply to it. A
// server sets the deadline of a request before it reports the request, so the limit is applied on
// the report. Before the first call of Idle the limit applies even without a deadline.
func (c *Conn) Idle(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.begun
	c.begun, c.exempt = true, is || c.detached
	if c.l.readLimit.Load() != 0 && (first || !is) {
		_ = c.Conn.SetReadDeadline(c.readDeadline())
	}
}

// Detach reports that the connection was taken from its server, which sets no more deadlines.
func (c *Conn) Detach() {
	c.mu.Lock()
	c.detached, c.exempt = true, true
	c.mu.Unlock()
}

// Detached reports whether Detach was called.
func (c *Conn) Detached() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.detached
}

// applyReadLimit applies LimitReads to a deadline that was set earlier.
func (c *Conn) applyReadLimit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.readDeadline(); !t.Equal(c.read) {
		_ = c.Conn.SetReadDeadline(t)
	}
}

package accept

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Conn is a connection of a [Listener], which counts it until it is closed. A Write without a deadline has the one of
// Options.WriteTimeout. Safe for concurrent use, as a [net.Conn] is.
type Conn struct {
	net.Conn
	l *Listener
	// address is what the connection counts for; invalid: for nobody.
	address netip.Addr

	mu sync.Mutex
	// read and write are the deadlines that were set last; zero: none.
	read, write time.Time
	// unhurried: Hurry does not concern it.
	unhurried, detached, closed bool
	// closers are called when it is closed.
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

// OnClose calls f, once, when the connection has been closed: at once if it has been.
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

// CloseWrite tells the peer that nothing more is written, as [net.TCPConn] does.
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

// SetReadDeadline implements [net.Conn]. Once its listener is in a hurry, the deadline is not later than that allows.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = t
	return c.Conn.SetReadDeadline(c.hurried())
}

// hurried is the read deadline that holds. The lock is held.
func (c *Conn) hurried() time.Time {
	d := time.Duration(c.l.hurry.Load())
	if d == 0 || c.read.IsZero() || c.unhurried {
		return c.read
	}
	if latest := time.Now().Add(d); latest.Before(c.read) {
		return latest
	}
	return c.read
}

// Idle says whether the connection is between two requests: then a hurry does not concern it. A server sets the
// deadline of a request before it says that the connection has one, so a hurry is applied when it does.
func (c *Conn) Idle(is bool) {
	c.mu.Lock()
	c.unhurried = is || c.detached
	c.mu.Unlock()
	if !is && c.l.hurry.Load() != 0 {
		c.hasten()
	}
}

// Detach says that the connection has left its server, which sets its deadlines no more.
func (c *Conn) Detach() {
	c.mu.Lock()
	c.detached, c.unhurried = true, true
	c.mu.Unlock()
}

// Detached reports whether Detach was called.
func (c *Conn) Detached() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.detached
}

// hasten applies a hurry to a deadline that was set before it.
func (c *Conn) hasten() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.hurried(); !t.Equal(c.read) {
		_ = c.Conn.SetReadDeadline(t)
	}
}

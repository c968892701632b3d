package conn

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// Conn is a connection as [net.Conn] says, but for two liberties. A Read into a slice with a capacity of 1 may
// begin up to 100 ms later where no deadline is set; and to set a deadline does not tell that the connection is closed.
//
// That capacity is what the background read of net/http has. It waits for the client to leave, or to send its next
// request, while a handler runs, and is interrupted by a deadline in the past once the handler has returned: mostly
// before it would begin here. What arrives meanwhile stays with the kernel.
type Conn struct {
	net.Conn
	read, write deadline
	// writing keeps a Write whole whose deadline was armed anew halfway.
	writing sync.Mutex
	waiters *waiters
	waiter  waiter
	// waiting: a Read is among the waiters, or was woken. Guarded by read, as closed is.
	waiting, closed bool
}

var _ net.Conn = (*Conn)(nil)

func newConn(c net.Conn, w *waiters) *Conn { return &Conn{Conn: c, waiters: w} }

// Read implements [net.Conn].
func (c *Conn) Read(p []byte) (int, error) {
	if cap(p) == 1 {
		if err := c.wait(); err != nil {
			return 0, err
		}
	}
	if err := c.read.begin(c.Conn.SetReadDeadline); err != nil {
		return 0, err
	}
	defer c.read.end()
	for {
		n, err := c.Conn.Read(p)
		if err == nil {
			return n, nil
		}
		if err = c.read.passed(err, c.Conn.SetReadDeadline); err != nil || n > 0 {
			return n, err
		}
	}
}

// wait holds a Read back until a deadline is set, the connection is closed or the time has come. It returns the
// error of a Read that is over by then.
func (c *Conn) wait() error {
	c.read.Lock()
	defer c.read.Unlock()
	if c.read.want.IsZero() && !c.waiting && !c.closed {
		c.waiting = true
		c.waiters.enter(&c.waiter)
		c.read.Unlock()
		c.waiter.woken.Wait()
		c.read.Lock()
		c.waiting = false
	}
	if c.read.over() {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Write implements [net.Conn].
func (c *Conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.write.begin(c.Conn.SetWriteDeadline); err != nil {
		return 0, err
	}
	defer c.write.end()
	for written := 0; ; {
		n, err := c.Conn.Write(p[written:])
		written += n
		if err == nil {
			return written, nil
		}
		if err = c.write.passed(err, c.Conn.SetWriteDeadline); err != nil || written == len(p) {
			return written, err
		}
	}
}

// Close implements [net.Conn].
func (c *Conn) Close() error {
	err := c.Conn.Close()
	c.read.Lock()
	defer c.read.Unlock()
	c.closed = true
	c.wake()
	return err
}

// CloseWrite tells the peer that nothing more is written, as [net.TCPConn] does.
func (c *Conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// SetDeadline implements [net.Conn].
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements [net.Conn].
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.read.Lock()
	defer c.read.Unlock()
	if !t.IsZero() {
		c.wake()
	}
	return c.read.set(t, c.Conn.SetReadDeadline)
}

// SetWriteDeadline implements [net.Conn].
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.write.Lock()
	defer c.write.Unlock()
	return c.write.set(t, c.Conn.SetWriteDeadline)
}

// wake lets a Read that waits begin. The lock of read is held.
func (c *Conn) wake() {
	if c.waiting {
		c.waiters.wake(&c.waiter)
	}
}

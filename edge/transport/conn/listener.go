package conn

import (
	"net"
	"sync/atomic"
)

// Listener accepts connections as [Conn].
type Listener struct {
	net.Listener
	// waiters are several, so that requests share no lock with all others.
	waiters [8]waiters
	next    atomic.Uint32
}

// NewListener returns a listener that takes its connections from l and closes l with itself. What it accepted is
// independent of it: it may be closed before.
func NewListener(l net.Listener) *Listener { return &Listener{Listener: l} }

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConn(c, &l.waiters[l.next.Add(1)%uint32(len(l.waiters))]), nil
}

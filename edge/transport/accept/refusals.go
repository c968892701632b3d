package accept

import (
	"net"
	"time"
)

const (
	// Between these, by how many connections there may be, is how many are told at a time why they are refused; the
	// others are closed at once.
	minTold, maxTold = 4, 64
	// linger is how long somebody has to read it, and to close the connection: what is still sent until then would,
	// unread, destroy the answer on its way.
	linger = time.Second
)

// refusals are those who are being told that they are refused, a few of them at a time.
type refusals chan struct{}

// newRefusals has room for few beside so many connections.
func newRefusals(connections int) refusals {
	if connections <= 0 {
		return make(refusals, maxTold)
	}
	return make(refusals, min(max(connections/16, minTold), maxTold))
}

// refuse sends the answer and closes the connection. It does not wait.
func (r refusals) refuse(c net.Conn, answer []byte) {
	select {
	case r <- struct{}{}:
		go func() {
			defer func() { <-r }()
			tell(c, answer)
		}()
	default:
		_ = c.Close()
	}
}

func tell(c net.Conn, answer []byte) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(linger))
	if _, err := c.Write(answer); err != nil {
		return
	}
	half, ok := c.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	var unread [512]byte
	for {
		if _, err := c.Read(unread[:]); err != nil {
			return
		}
	}
}

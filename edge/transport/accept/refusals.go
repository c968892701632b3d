package accept

import (
	"net"
	"time"
)

const (
	// minRefusals and maxRefusals bound, depending on Options.Max, the number of refused connections
	// that are sent the reason at a time. Others are closed at once.
	minRefusals, maxRefusals = 4, 64
	// linger is the time in which a client must read the refusal and close the connection: unread
	// bytes of the client would destroy the response in transit.
	linger = time.Second
)

// refusals limits the refused connections that are being sent the reason.
type refusals chan struct{}

// newRefusals makes a limit that is small compared with the number of connections.
func newRefusals(connections int) refusals {
	if connections <= 0 {
		return make(refusals, maxRefusals)
	}
	return make(refusals, min(max(connections/16, minRefusals), maxRefusals))
}

// refuse sends the answer and closes the connection. It does not block.
func (r refusals) refuse(c net.Conn, answer []byte) {
	select {
	case r <- struct{}{}:
		go func() {
			defer func() { <-r }()
			sendRefusal(c, answer)
		}()
	default:
		_ = c.Close()
	}
}

func sendRefusal(c net.Conn, answer []byte) {
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

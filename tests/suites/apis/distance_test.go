package apis

import (
	"errors"
	"net"
	"sync"
	"time"
)

// distant is a listener whose connections bring what is written to them after a delay. What is written meanwhile does not wait longer for it, as
// on a long line.
type distant struct {
	net.Listener
	delay time.Duration
}

func (d distant) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l := &line{Conn: c, delay: d.delay, under: make(chan parcel, 1<<14), closed: make(chan struct{})}
	go l.deliver()
	return l, nil
}

// line is a connection of a distant listener.
type line struct {
	net.Conn
	delay  time.Duration
	under  chan parcel
	once   sync.Once
	closed chan struct{}
}

// parcel is what was written, and when it arrives.
type parcel struct {
	data []byte
	due  time.Time
}

func (l *line) Write(p []byte) (int, error) {
	select {
	case l.under <- parcel{append([]byte(nil), p...), time.Now().Add(l.delay)}:
		return len(p), nil
	case <-l.closed:
		return 0, net.ErrClosed
	}
}

func (l *line) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Conn.Close()
}

func (l *line) deliver() {
	for {
		select {
		case p := <-l.under:
			time.Sleep(time.Until(p.due))
			if _, err := l.Conn.Write(p.data); err != nil && !errors.Is(err, net.ErrClosed) {
				_ = l.Close()
			}
		case <-l.closed:
			return
		}
	}
}

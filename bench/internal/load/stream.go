package load

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"time"
)

// perAddress is how many streams start at one address of loopback: fewer than it has ports.
const perAddress = 10_000

// Streams are open event streams, one connection each.
type Streams []*Conn

// opener is how many streams are opened at a time.
const opener = 32

// OpenStreams opens n streams at a host:port, each after its own preparation, which says what opens it and
// may use the connection. When one fails, all are closed.
func OpenStreams(addr string, n int, prepare func(*Conn) (Request, error)) (Streams, error) {
	s := make(Streams, n)
	var wg sync.WaitGroup
	errs := make(chan error, opener)
	for k := range opener {
		wg.Go(func() {
			for i := k; i < n; i += opener {
				c, err := openStream(addr, net.IPv4(127, 0, 0, byte(1+i/perAddress)), prepare)
				if s[i] = c; err != nil {
					errs <- fmt.Errorf("stream %d of %d: %w", i+1, n, err)
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		s.Close()
		return nil, err
	default:
		return s, nil
	}
}

func openStream(addr string, from net.IP, prepare func(*Conn) (Request, error)) (*Conn, error) {
	c, err := dial(addr, from, 4<<10)
	if err != nil {
		return nil, err
	}
	r, err := prepare(c)
	if err == nil {
		err = c.send(r)
	}
	var h head
	if err == nil {
		h, err = c.head()
	}
	if err == nil && (h.status != 200 || !h.events || !h.chunked) {
		err = fmt.Errorf("it got status %d and no event stream", h.status)
	}
	if err != nil {
		_ = c.c.Close()
		return nil, err
	}
	c.body = bytes.Buffer{} // of what came before
	c.out = nil
	return c, nil
}

// Close closes the connections.
func (s Streams) Close() {
	for _, c := range s {
		if c != nil {
			_ = c.c.Close()
		}
	}
}

// Watch reads the streams until they are closed, and sends the time at which a mark arrived on one, as
// often as it does. The channel is closed when all streams are.
func (s Streams) Watch(mark string) <-chan time.Time {
	arrivals := make(chan time.Time, len(s))
	var wg sync.WaitGroup
	for _, c := range s {
		wg.Go(func() { c.watch([]byte(mark), arrivals) })
	}
	go func() {
		wg.Wait()
		close(arrivals)
	}()
	return arrivals
}

func (c *Conn) watch(mark []byte, arrivals chan<- time.Time) {
	for {
		if n, err := c.chunk(); err != nil || n == 0 {
			return
		}
		now := time.Now()
		for {
			at := bytes.Index(c.body.Bytes(), mark)
			if at < 0 {
				break
			}
			c.body.Next(at + len(mark))
			arrivals <- now
		}
		c.body.Next(max(0, c.body.Len()-len(mark))) // a mark may come in two chunks
	}
}

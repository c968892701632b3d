package redis_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy stands between clients and a Redis, and can fail in the ways a network does.
type proxy struct {
	addr string

	mu     sync.Mutex
	target string
	// refusing: connections end at once. held, if not nil: nothing is passed on until it is closed.
	refusing bool
	held     chan struct{}
	conns    map[net.Conn]struct{}
	// dialed are the ends of the clients that dial made.
	dialed map[*shortDeadlines]struct{}
	// The reply to what contains match is lost with its connection, so many times.
	match []byte
	times int
	lost  int
}

// startProxy stands before the Redis at target until the test ends.
func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{addr: l.Addr().String(), target: target, conns: map[net.Conn]struct{}{}, dialed: map[*shortDeadlines]struct{}{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.release()
		p.refuse(true)
		wg.Wait()
	})
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	target, refusing := p.target, p.refusing
	p.mu.Unlock()
	if refusing {
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.track(client, server) {
		return
	}
	defer p.untrack(client, server)
	swallow := make(chan struct{}, 1)
	go func() {
		p.pass(server, client, func(b []byte) {
			if p.loses(b) {
				swallow <- struct{}{}
			}
		}, nil)
		_ = server.Close()
	}()
	p.pass(client, server, nil, swallow)
}

// pass copies what from says to to, until either ends or a reply is swallowed.
func (p *proxy) pass(to io.Writer, from io.Reader, seen func([]byte), swallow <-chan struct{}) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if seen != nil {
			seen(buf[:n])
		}
		p.mu.Lock()
		held := p.held
		p.mu.Unlock()
		if held != nil {
			<-held
		}
		select {
		case <-swallow:
			return
		default:
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) loses(b []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == 0 || !bytes.Contains(b, p.match) {
		return false
	}
	p.times--
	p.lost++
	return true
}

func (p *proxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
	return !p.refusing
}

func (p *proxy) untrack(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

// lose loses the replies to the next commands that contain match.
func (p *proxy) lose(match string, times int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match, p.times, p.lost = []byte(match), times, 0
}

// losses is how many replies were lost.
func (p *proxy) losses() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// refuse cuts every connection and, while on, takes no other.
func (p *proxy) refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing = on
	for c := range p.conns {
		_ = c.Close()
	}
}

// hold passes nothing on until release. The deadlines of the clients that dial connected pass soon.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = make(chan struct{})
	for c := range p.dialed {
		_ = c.apply()
	}
}

func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held != nil {
		close(p.held)
		p.held = nil
	}
}

// pointAt sends connections to another Redis, the existing ones too.
func (p *proxy) pointAt(target string) {
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
	p.refuse(false)
}

// holdTimeout is the longest time from now of the deadlines of a shortDeadlines while the proxy holds data back.
const holdTimeout = 300 * time.Millisecond

// dial connects a client to the proxy. While the proxy passes data on, the deadlines of the connection are those that the client sets.
func (p *proxy) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	h := &shortDeadlines{TCPConn: c.(*net.TCPConn), p: p}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialed[h] = struct{}{}
	return h, nil
}

// shortDeadlines is a connection that limits its deadlines to holdTimeout while its proxy holds data back. An operation without a deadline
// still has none.
type shortDeadlines struct {
	*net.TCPConn
	p           *proxy
	read, write time.Time // the deadlines that were set
}

func (c *shortDeadlines) SetDeadline(at time.Time) error      { return c.set(at, &c.read, &c.write) }
func (c *shortDeadlines) SetReadDeadline(at time.Time) error  { return c.set(at, &c.read) }
func (c *shortDeadlines) SetWriteDeadline(at time.Time) error { return c.set(at, &c.write) }

func (c *shortDeadlines) set(at time.Time, deadlines ...*time.Time) error {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	for _, d := range deadlines {
		*d = at
	}
	return c.apply()
}

// apply sets the deadlines for the state of the proxy, whose lock the caller holds.
func (c *shortDeadlines) apply() error {
	bound := func(at time.Time) time.Time {
		if soon := time.Now().Add(holdTimeout); c.p.held != nil && !at.IsZero() && soon.Before(at) {
			return soon
		}
		return at
	}
	return errors.Join(c.TCPConn.SetReadDeadline(bound(c.read)), c.TCPConn.SetWriteDeadline(bound(c.write)))
}

func (c *shortDeadlines) Close() error {
	c.p.mu.Lock()
	delete(c.p.dialed, c)
	c.p.mu.Unlock()
	return c.TCPConn.Close()
}

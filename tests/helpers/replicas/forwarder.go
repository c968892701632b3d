package replicas

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// Forwarder is an address that stands for another one, which can be changed: what a Redis in front of
// which something is promoted looks like. Safe for concurrent use.
type Forwarder struct {
	// Addr it listens on.
	Addr string

	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	target string // empty: nobody is there
	live   map[net.Conn]bool
	ended  bool
}

// Forward starts a forwarder to target.
func Forward(target string) (*Forwarder, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("forwarder: %w", err)
	}
	f := &Forwarder{Addr: l.Addr().String(), listener: l, target: target, live: map[net.Conn]bool{}}
	f.running.Go(f.accept)
	return f, nil
}

// Switch breaks all connections; those that follow go to target. With an empty one they are closed at
// once.
func (f *Forwarder) Switch(target string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.target = target
	f.cut()
}

// Stop breaks all connections and returns when nothing of the forwarder runs.
func (f *Forwarder) Stop() {
	_ = f.listener.Close()
	f.mu.Lock()
	f.ended = true
	f.cut()
	f.mu.Unlock()
	f.running.Wait()
}

// cut breaks what is connected. f.mu is locked.
func (f *Forwarder) cut() {
	for c := range f.live {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, as when a machine is lost
		}
		_ = c.Close()
	}
	clear(f.live)
}

func (f *Forwarder) accept() {
	for {
		near, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.running.Go(func() { f.connect(near) })
	}
}

func (f *Forwarder) connect(near net.Conn) {
	f.mu.Lock()
	target := f.target
	f.mu.Unlock()
	far, err := net.Dial("tcp", target)
	if target == "" || err != nil {
		_ = near.Close()
		return
	}
	f.mu.Lock()
	if f.ended || f.target != target {
		f.mu.Unlock()
		_, _ = near.Close(), far.Close()
		return
	}
	f.live[near], f.live[far] = true, true
	f.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { f.pass(near, far) })
	both.Go(func() { f.pass(far, near) })
	both.Wait()
}

// pass copies one direction; its end is the end of both.
func (f *Forwarder) pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	f.mu.Lock()
	delete(f.live, to)
	delete(f.live, from)
	f.mu.Unlock()
	_, _ = to.Close(), from.Close()
}

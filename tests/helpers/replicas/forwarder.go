package replicas

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// Forwarder is a TCP forwarder with a changeable target, such as the address of a Redis with
// failover. It is safe for concurrent use.
type Forwarder struct {
	// Addr is the address on which it listens.
	Addr string

	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	target string // empty means no target
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

// Switch closes all connections; later ones go to target. With an empty target they are closed at
// once.
func (f *Forwarder) Switch(target string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.target = target
	f.cut()
}

// Stop closes all connections and waits for all goroutines.
func (f *Forwarder) Stop() {
	_ = f.listener.Close()
	f.mu.Lock()
	f.ended = true
	f.cut()
	f.mu.Unlock()
	f.running.Wait()
}

// cut closes the open connections. The caller holds f.mu.
func (f *Forwarder) cut() {
	for c := range f.live {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, as after the loss of a machine
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

// pass copies one direction. When it ends, both directions end.
func (f *Forwarder) pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	f.mu.Lock()
	delete(f.live, to)
	delete(f.live, from)
	f.mu.Unlock()
	_, _ = to.Close(), from.Close()
}

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// breaker stands between a client and the edge: it passes bytes on, and breaks every connection at
// once when it is told to by a POST to its control address, which answers with how many it broke.
type breaker struct {
	target  string
	listen  net.Listener
	control *http.Server
	url     string // of the control address
	running sync.WaitGroup

	mu   sync.Mutex
	live map[net.Conn]bool // both ends of every connection
}

// startBreaker starts a breaker in front of target, an address.
func startBreaker(target string) (*breaker, error) {
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("%w (%v)", err, listen.Close())
	}
	b := &breaker{target: target, listen: listen, url: "http://" + control.Addr().String(), live: map[net.Conn]bool{}}
	b.control = &http.Server{Handler: http.HandlerFunc(b.serveCut), ReadHeaderTimeout: 10 * time.Second}
	b.running.Go(func() { _ = b.control.Serve(control) }) // ends by stop
	b.running.Go(b.accept)
	return b, nil
}

// addr is the address that clients connect to.
func (b *breaker) addr() string { return b.listen.Addr().String() }

func (b *breaker) serveCut(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	fmt.Fprint(w, b.cut())
}

// cut breaks all connections and returns how many there were.
func (b *breaker) cut() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.live) / 2
	for c := range b.live {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, as when a network fails
		}
		_ = c.Close()
	}
	clear(b.live)
	return n
}

func (b *breaker) accept() {
	for {
		near, err := b.listen.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", b.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		b.mu.Lock()
		b.live[near], b.live[far] = true, true
		b.mu.Unlock()
		b.running.Go(func() { b.pass(near, far) })
		b.running.Go(func() { b.pass(far, near) })
	}
}

// pass copies one direction; its end is the end of both.
func (b *breaker) pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	b.mu.Lock()
	delete(b.live, to)
	delete(b.live, from)
	b.mu.Unlock()
	_ = to.Close()
	_ = from.Close()
}

// stop breaks what is connected and waits until nothing of the breaker runs.
func (b *breaker) stop() {
	_ = b.listen.Close()
	_ = b.control.Close()
	b.cut()
	b.running.Wait()
}

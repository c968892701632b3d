package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

var floodAttacks = []attack{
	{name: "connections", what: "twice as many connections as the edge may have files, from one address, probes going on", run: floodConnections},
	{name: "connections-many", what: "the same from 60 addresses", run: floodFromMany},
	{name: "sessions", what: "sessions begun as fast as it goes, from one address", run: floodSessions},
	{name: "slowloris", what: "300 requests whose headers come a byte at a time", run: slowloris},
	{name: "requests", what: "requests pipelined without reading an answer", run: pipelines},
	{name: "cancels", what: "calls that are cancelled at once, in both eras", run: cancelStorm},
}

// floodConnections checks meanwhile that the probes of the admin listener are answered.
func floodConnections(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	return s.flood(ctx, func(int) *rogue { return r })
}

// floodFromMany may take the honest clients' place for new connections: they keep those they have.
func floodFromMany(ctx context.Context, s *site) error {
	var from []*rogue
	for range 60 {
		r := s.rogue()
		defer r.close()
		from = append(from, r)
	}
	return s.flood(ctx, func(i int) *rogue { return from[i%len(from)] })
}

func (s *site) flood(ctx context.Context, from func(int) *rogue) error {
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	refused := 0
	for i := range 2 * s.o.files {
		d := *from(i).dialer
		d.Timeout = 200 * time.Millisecond
		conn, err := d.DialContext(ctx, "tcp", s.edge.Addr)
		if err != nil {
			if refused++; refused > 100 {
				break // the kernel keeps them: nobody accepts
			}
			continue
		}
		conns = append(conns, conn)
	}
	s.note("%d connections made", len(conns))
	// As a load balancer's probes: each over a connection of its own.
	probes := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: answersWithin}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); pause(ctx, 200*time.Millisecond) {
		resp, err := probes.Get("http://" + s.edge.Admin + "/healthz")
		if err != nil {
			return fmt.Errorf("a probe of /healthz: %w", err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("a probe of /healthz: %s", resp.Status)
		}
	}
	// A stranger from elsewhere still gets in where one address did it all.
	if from(0) == from(1) {
		stranger := s.rogue()
		defer stranger.close()
		limited, cancel := context.WithTimeout(ctx, answersWithin)
		defer cancel()
		if a, err := stranger.call(limited, "echo", `{"text":"hello"}`); err != nil || a.status != http.StatusOK {
			return fmt.Errorf("a client from another address is not served: %v %v", err, a)
		}
	}
	return nil
}

func floodSessions(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	var statuses refusals
	end := time.Now().Add(s.o.duration / 2)
	err := together(8, 8, func(int) error {
		for time.Now().Before(end) {
			a, err := r.initialize(ctx, `{"name":"flood","version":"1"}`)
			if err != nil {
				return err
			}
			statuses.add(a.status)
			if !bounded(a.status) {
				return fmt.Errorf("status %d: %.200s", a.status, a.body)
			}
		}
		return nil
	})
	s.note("answers %s", &statuses)
	return err
}

func slowloris(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	var conns []net.Conn
	var opened sync.WaitGroup
	end := time.Now().Add(headerTimeout + slack)
	open := 0
	for range 300 {
		conn, err := r.dial(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		conns = append(conns, conn)
		if _, err := io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "); err != nil {
			continue // refused already
		}
		opened.Go(func() {
			for time.Now().Before(end) {
				if _, err := conn.Write([]byte("z")); err != nil {
					return
				}
				pause(ctx, 500*time.Millisecond)
			}
		})
	}
	opened.Wait()
	for _, c := range conns {
		_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, closed := awaitClose(c, 100*time.Millisecond); !closed {
			open++
		}
	}
	if open > 0 {
		return fmt.Errorf("%d of 300 are open after %s", open, headerTimeout+slack)
	}
	return nil
}

// headerTimeout is the edge's own bound of a request's header.
const headerTimeout = 10 * time.Second

func pipelines(ctx context.Context, s *site) error {
	one := "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	many := strings.Repeat(one, 200)
	return together(20, 20, func(int) error {
		r := s.rogue()
		defer r.close()
		conn, err := r.deaf(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetWriteDeadline(time.Now().Add(s.o.duration / 2))
		for {
			if _, err := io.WriteString(conn, many); err != nil {
				return nil // held back, or disconnected
			}
		}
	})
}

func cancelStorm(ctx context.Context, s *site) error {
	end := time.Now().Add(s.o.duration / 2)
	return together(8, 8, func(i int) error {
		r := s.rogue()
		defer r.close()
		if i%2 == 0 { // the connection is what cancels
			for time.Now().Before(end) {
				limited, cancel := context.WithTimeout(ctx, time.Duration(i)*time.Millisecond)
				_, _ = r.call(limited, "hang", "{}")
				cancel()
			}
			return nil
		}
		id, err := r.hello(ctx, `{"name":"cancels","version":"1"}`)
		if err != nil {
			return err
		}
		for time.Now().Before(end) {
			n := r.next.Add(1)
			left, cancel := context.WithCancel(ctx)
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				_, _ = r.send(left, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"hang","arguments":{}}}`, n), sessionHeader(id)...)
			}()
			for range 3 {
				_, _ = r.send(ctx, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, n), sessionHeader(id)...)
			}
			cancel()
			<-answered
		}
		_, err = r.send(ctx, http.MethodDelete, "", sessionHeader(id)...)
		return err
	})
}

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// watchSilent starts an edge of its own, with the default settings, and the clients of the second table. What
// it returns waits until each of them was disconnected.
func (s *site) watchSilent(ctx context.Context) (func() []wait, error) {
	e, err := startEdge(s.o, filepath.Join(s.dir, "silent.log"), setting{"config", s.config}, setting{"log.level", "warn"})
	if err != nil {
		return nil, err
	}
	if err := e.awaitReady(ctx); err != nil {
		e.kill()
		return nil, err
	}
	kinds := silences
	for _, q := range unreadBodies {
		k := silence{"a body that never comes: " + q.name, false, boundRead, says(q.head("Content-Length: 1000")), nil}
		if q.admin {
			k.kind = adminOnly + k.kind
		}
		kinds = append(kinds, k)
	}
	var table []*wait
	var waiting sync.WaitGroup
	add := func(k silence, listener, addr string) {
		w := &wait{listener: listener, kind: strings.TrimPrefix(k.kind, adminOnly), bound: k.bound.name, due: k.bound.due}
		table = append(table, w)
		waiting.Go(func() { w.after, w.err = k.last(ctx, e, addr) })
	}
	for _, k := range kinds {
		if !strings.HasPrefix(k.kind, adminOnly) {
			add(k, "MCP", e.Addr)
		}
	}
	for _, k := range kinds {
		if k.admin || strings.HasPrefix(k.kind, adminOnly) {
			add(k, "admin", e.Admin)
		}
	}
	return func() []wait {
		waiting.Wait()
		end := wait{listener: "both", kind: "SIGTERM after all of them", bound: "grace", due: 30 * time.Second}
		began := time.Now()
		end.err = e.stop()
		end.after = time.Since(began)
		var out []wait
		for _, w := range append(table, &end) {
			out = append(out, *w)
		}
		return out
	}, nil
}

// adminOnly begins the name of a kind that the MCP listener does not have.
const adminOnly = "admin: "

// last is how long a client of the kind is there; 0: longer than patience.
func (k silence) last(ctx context.Context, e *edge, addr string) (time.Duration, error) {
	r := newRogue("http://"+addr, "127.0.0.5")
	defer r.close()
	c, err := r.deaf(ctx)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := k.begin(ctx, e, c); err != nil {
		return 0, fmt.Errorf("it could not begin: %w", err)
	}
	began := time.Now()
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for n := 1; time.Since(began) < patience; n++ {
		select {
		case <-every.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		if k.goOn != nil && n%10 == 0 {
			if err := k.goOn(c); err != nil && err != io.EOF {
				return time.Since(began), nil
			}
		}
		if n < 5 {
			continue // it may still wait to be accepted
		}
		there, err := served(c)
		if err != nil {
			return 0, err
		}
		if !there {
			return time.Since(began), nil
		}
	}
	return 0, nil
}

// served says whether the other side of a connection belongs to a process still: the kernel may go on with it for
// a while after that.
func served(c net.Conn) (bool, error) {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return false, err
	}
	local, remote := inKernel(c.RemoteAddr()), inKernel(c.LocalAddr()) // as the other side sees it
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 9 && f[1] == local && f[2] == remote {
			return f[9] != "0", nil
		}
	}
	return false, nil
}

// inKernel is an address as /proc/net/tcp has it.
func inKernel(a net.Addr) string {
	t := a.(*net.TCPAddr)
	ip := t.IP.To4()
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], t.Port)
}

package compose

import (
	"net"
	"regexp"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// addresses puts the ports of containers on loopback: what a container calls tools:50051, or itself
// 0.0.0.0:50051, is one free port of this machine.
type addresses struct {
	t        *testing.T
	services map[string]*service

	mu    sync.Mutex
	local map[string]string // "tools:50051" → "127.0.0.1:40123"
	used  map[string]bool
}

func newAddresses(t *testing.T, p *project) *addresses {
	return &addresses{t: t, services: p.Services, local: map[string]string{}, used: map[string]bool{}}
}

// of returns where port of a service is on this machine; two calls with the same arguments agree.
func (a *addresses) of(service, port string) string {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	key := service + ":" + port
	for a.local[key] == "" {
		addr, err := freeport.Addr()
		if err != nil {
			a.t.Fatal(err)
		}
		if !a.used[addr] {
			a.used[addr], a.local[key] = true, addr
		}
	}
	return a.local[key]
}

var hostPort = regexp.MustCompile(`([A-Za-z0-9.-]*):(\d+)\b`)

// rewrite replaces every address of a service in a text that self, a service, uses.
func (a *addresses) rewrite(self, text string) string {
	return hostPort.ReplaceAllStringFunc(text, func(s string) string {
		m := hostPort.FindStringSubmatch(s)
		host, port := m[1], m[2]
		switch {
		case host == "" || host == "0.0.0.0" || host == "127.0.0.1" || host == "localhost":
			return a.of(self, port)
		case a.services[host] != nil:
			return a.of(host, port)
		}
		return s
	})
}

// listening fails the test for every address that anything names and nothing listens on.
func (a *addresses) listening() {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, local := range a.local {
		conn, err := net.Dial("tcp", local)
		if err != nil {
			a.t.Errorf("%s is named, and nothing listens there: %v", name, err)
			continue
		}
		_ = conn.Close()
	}
}

package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/resolver"
)

// scheme is the URL scheme of the backends' targets.
const scheme = "kubernetes"

// directory has the addresses of all backends, and passes changes to their connections.
type directory struct {
	mu        sync.Mutex
	addresses map[string][]string // by name of the backend
	watching  map[string]map[*connection]struct{}
}

func newDirectory() *directory {
	return &directory{addresses: map[string][]string{}, watching: map[string]map[*connection]struct{}{}}
}

// set replaces all addresses.
func (d *directory) set(all map[string][]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.addresses
	d.addresses = all
	for name, connections := range d.watching {
		if slices.Equal(before[name], all[name]) {
			continue
		}
		for c := range connections {
			c.update(all[name])
		}
	}
}

// Unresolved returns why a target has no address, or nil if it has one.
func (d *directory) Unresolved(target string) error {
	name := strings.TrimPrefix(target, scheme+":///")
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.addresses[name]) > 0 {
		return nil
	}
	return fmt.Errorf("the Service %s has no pod that is ready", name)
}

// Scheme implements resolver.Builder.
func (d *directory) Scheme() string { return scheme }

// Build implements resolver.Builder. The target's endpoint is the name of a backend.
func (d *directory) Build(target resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	c := &connection{directory: d, name: target.Endpoint(), cc: cc}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watching[c.name] == nil {
		d.watching[c.name] = map[*connection]struct{}{}
	}
	d.watching[c.name][c] = struct{}{}
	c.update(d.addresses[c.name])
	return c, nil
}

// connection is a resolver.Resolver for one gRPC connection to a backend.
type connection struct {
	directory *directory
	name      string
	cc        resolver.ClientConn
}

// update passes the addresses to the connection. The caller holds directory.mu.
func (c *connection) update(addresses []string) {
	state := resolver.State{Addresses: make([]resolver.Address, len(addresses))}
	for i, a := range addresses {
		state.Addresses[i] = resolver.Address{Addr: a}
	}
	_ = c.cc.UpdateState(state) // after an error there is nothing to do before the next change
}

// ResolveNow implements resolver.Resolver. It does nothing: changes are passed on at once.
func (c *connection) ResolveNow(resolver.ResolveNowOptions) {}

// Close implements resolver.Resolver.
func (c *connection) Close() {
	c.directory.mu.Lock()
	defer c.directory.mu.Unlock()
	if delete(c.directory.watching[c.name], c); len(c.directory.watching[c.name]) == 0 {
		delete(c.directory.watching, c.name)
	}
}

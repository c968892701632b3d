package telemetry

import (
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

const (
	// maxClients bounds the client names with their own series in metrics. The first ones get one.
	maxClients = 64
	// maxClientName bounds a name, in bytes.
	maxClientName = 64
)

// client counts the operations of the clients with one name.
type client struct {
	name       string
	ok, failed atomic.Int64
}

func (c *client) count(failed bool) {
	switch {
	case c == nil:
	case failed:
		c.failed.Add(1)
	default:
		c.ok.Add(1)
	}
}

// clients are the names that clients send. The zero value is ready to use.
type clients struct {
	known atomic.Pointer[map[string]*client]
	mu    sync.Mutex // guards adding a name
	rest  client
}

// named returns a name's counters, or the shared ones beyond the bound. It returns nil for an empty
// name.
func (c *clients) named(name string) *client {
	if name == "" {
		return nil
	}
	if known := c.known.Load(); known != nil {
		if one := (*known)[name]; one != nil {
			return one
		}
		if len(*known) >= maxClients {
			return &c.rest
		}
	}
	return c.add(name)
}

func (c *clients) add(name string) *client {
	c.mu.Lock()
	defer c.mu.Unlock()
	after := map[string]*client{}
	if known := c.known.Load(); known != nil {
		switch one := (*known)[name]; {
		case one != nil:
			return one
		case len(*known) >= maxClients:
			return &c.rest
		}
		after = maps.Clone(*known)
	}
	one := &client{name: name}
	after[name] = one
	c.known.Store(&after)
	return one
}

// each calls fn with the counts of every name.
func (c *clients) each(fn func(name string, ok, failed int64)) {
	if known := c.known.Load(); known != nil {
		for name, one := range *known {
			fn(name, one.ok.Load(), one.failed.Load())
		}
	}
	if ok, failed := c.rest.ok.Load(), c.rest.failed.Load(); ok+failed > 0 {
		fn(other, ok, failed)
	}
}

// ClientName returns the name in an Implementation object, bounded; empty if it has none. It does
// not allocate a known name.
func (t *Telemetry) ClientName(info json.RawMessage) string {
	if t == nil || len(info) == 0 {
		return ""
	}
	raw, ok := jsonrpc.Member(info, "name")
	if !ok || len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if known := t.clients.known.Load(); known != nil {
		if one := (*known)[string(raw[1:len(raw)-1])]; one != nil {
			return one.name
		}
	}
	name, _ := jsonrpc.Unquote(raw)
	if len(name) > maxClientName {
		name = name[:maxClientName]
	}
	return name
}

package telemetry

import (
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

const (
	// maxClients bounds the client names with their own series in metrics. The first ones get one:
	// maxOfOne of those that one principal sends first, maxAnonymous of those that anonymous
	// callers do, where others have credentials.
	maxClients   = 64
	maxOfOne     = 8
	maxAnonymous = 16
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

// clients are the names that clients send, as ClientName returns them. The zero value is ready to
// use.
type clients struct {
	// authenticated is whether callers have credentials, so that anonymous ones have a share of the
	// names only.
	authenticated bool

	known atomic.Pointer[map[string]*client]
	mu    sync.Mutex // guards adding a name
	// added counts the names that the callers with a key sent first.
	added map[string]int
	rest  client
}

// named returns the counters of a name, or the shared counters if there are too many names. who is
// the principal that sent the name. It returns nil for an empty name.
func (c *clients) named(name string, who *mcp.Principal) *client {
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
	return c.add(name, who)
}

func (c *clients) add(name string, who *mcp.Principal) *client {
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
	most, caller := maxOfOne, who.Key()
	if caller == "" {
		if most = maxAnonymous; !c.authenticated {
			most = maxClients
		}
	}
	if c.added[caller] >= most {
		return &c.rest
	}
	if c.added == nil {
		c.added = map[string]int{}
	}
	c.added[caller]++
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
		fn(otherName, ok, failed)
	}
}

// ClientName returns the name in an Implementation object as operators are shown it (mcp.Shown),
// bounded; empty if it has none. It does not allocate a known name.
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
	return mcp.Shown(name, maxClientName)
}

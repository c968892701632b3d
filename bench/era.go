package main

import (
	"fmt"
	"maps"
	"net/http"

	"github.com/mcpedge/mcpedge/bench/internal/load"
)

// era is one of the protocol's two, as a client speaks it.
type era struct {
	name string
	// sdk are the flags that make the SDK's server speak it.
	sdk []string
	// connectAs prepares a client of a server, whose requests all have more headers than they need; nil: none. The requests by
	// which it connects are changed by a function before each is sent.
	connectAs func(addr string, more http.Header, change func(load.Request) load.Request) (client, error)
}

// connect is connectAs without a change.
func (e era) connect(addr string, more http.Header) (client, error) {
	return e.connectAs(addr, more, func(r load.Request) load.Request { return r })
}

// client prepares the request of a method. target is the name or URI that it is about, "" for none; params
// are members of a JSON object without its braces, meta those of its _meta.
type client func(method, target, params, meta string) load.Request

var (
	modern = era{"modern", []string{"--stateless"}, connectModern}
	legacy = era{"legacy", nil, connectLegacy}
	eras   = []era{modern, legacy}
)

const (
	revisionLegacy = "2025-11-25"
	revisionModern = "2026-07-28"
)

func plainHeader(more http.Header) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	maps.Copy(h, more)
	return h
}

// connectModern needs nothing of the server: each request tells everything.
func connectModern(addr string, more http.Header, _ func(load.Request) load.Request) (client, error) {
	return func(method, target, params, meta string) load.Request {
		h := plainHeader(more)
		h["MCP-Protocol-Version"] = []string{revisionModern}
		h["Mcp-Method"] = []string{method}
		if target != "" {
			h["Mcp-Name"] = []string{target}
		}
		all := join(params, `"_meta":{`+join(meta, `"io.modelcontextprotocol/protocolVersion":"`+revisionModern+
			`","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}`)+`}`)
		return load.Prepare(http.MethodPost, addr, "/mcp", h,
			`{"jsonrpc":"2.0","id":`+load.IDPlaceholder+`,"method":"`+method+`","params":{`+all+`}}`)
	}, nil
}

// connectLegacy opens a session, which the client's connections share.
func connectLegacy(addr string, more http.Header, change func(load.Request) load.Request) (client, error) {
	var id []byte
	if err := load.Once(addr, func(c *load.Conn) (err error) { id, err = initializeAs(addr, more, change, c); return err }); err != nil {
		return nil, err
	}
	return sessionClient(addr, more, id), nil
}

// sessionClient is the client within a session.
func sessionClient(addr string, more http.Header, id []byte) client {
	return func(method, _, params, meta string) load.Request {
		if meta != "" {
			params = join(params, `"_meta":{`+meta+`}`)
		}
		return load.Prepare(http.MethodPost, addr, "/mcp", sessionHeader(more, id),
			`{"jsonrpc":"2.0","id":`+load.IDPlaceholder+`,"method":"`+method+`","params":{`+params+`}}`)
	}
}

func sessionHeader(more http.Header, id []byte) http.Header {
	h := plainHeader(more)
	h["MCP-Protocol-Version"] = []string{revisionLegacy}
	if id != nil {
		h["Mcp-Session-Id"] = []string{string(id)}
	}
	return h
}

// initialize opens a session on a connection and returns its id.
func initialize(addr string, more http.Header, c *load.Conn) ([]byte, error) {
	return initializeAs(addr, more, func(r load.Request) load.Request { return r }, c)
}

// initializeAs is initialize with requests that are changed before each is sent.
func initializeAs(addr string, more http.Header, change func(load.Request) load.Request, c *load.Conn) ([]byte, error) {
	a, err := c.Do(change(load.Prepare(http.MethodPost, addr, "/mcp", plainHeader(more), `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+
		revisionLegacy+`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)))
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK || len(a.Session) == 0 {
		return nil, fmt.Errorf("initialize: status %d, session %q: %.300q", a.Status, a.Session, a.Body)
	}
	id := append([]byte(nil), a.Session...)
	a, err = c.Do(change(load.Prepare(http.MethodPost, addr, "/mcp", sessionHeader(more, id), `{"jsonrpc":"2.0","method":"notifications/initialized"}`)))
	if err == nil && a.Status != http.StatusAccepted {
		err = fmt.Errorf("initialized: status %d: %.300q", a.Status, a.Body)
	}
	return id, err
}

// join puts a comma between members where there are any on both sides.
func join(a, b string) string {
	if a != "" && b != "" {
		return a + "," + b
	}
	return a + b
}

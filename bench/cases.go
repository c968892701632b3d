package main

import (
	"fmt"
	"net/http"

	"github.com/mcpedge/mcpedge/bench/internal/load"
)

const (
	revisionLegacy = "2025-11-25"
	revisionModern = "2026-07-28"
)

// args are those of the smallest tool call.
const args = `{"text":"hello, edge"}`

// echo is that call within a session.
var echo = legacyCall{`"name":"echo","arguments":` + args, "hello, edge", 0}

// modern prepares it for a server without sessions.
func modern(name string, p *process) subject {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	h["MCP-Protocol-Version"] = []string{revisionModern}
	h["Mcp-Method"] = []string{"tools/call"}
	h["Mcp-Name"] = []string{"echo"}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":` + args +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + revisionModern +
		`","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}}}`
	return subject{name, load.Target{Addr: p.addr, Path: "/mcp", Header: h, Body: []byte(body), Want: []byte("hello, edge")}, p}
}

// cases prepares the requests: the smallest tool call, in each era, on few and many connections.
func (f *fleet) cases() ([]benchCase, error) {
	plain := http.Header{"Content-Type": {"application/json"}}
	bridge := subject{"bridge", load.Target{Addr: f.bridge.addr, Path: "/", Header: plain, Body: []byte(args), Want: []byte("hello, edge")}, f.bridge}
	var cases []benchCase
	for _, n := range []int{8, 64} {
		cases = append(cases, benchCase{name: fmt.Sprintf("modern-%d", n), connections: n,
			subjects: []subject{modern("edge", f.edge), bridge, modern("sdk", f.sdkNoSessions)}})
		edge, err := legacy("edge", f.edge, echo)
		if err != nil {
			return nil, err
		}
		sdk, err := legacy("sdk", f.sdkSessions, echo)
		if err != nil {
			return nil, err
		}
		cases = append(cases, benchCase{name: fmt.Sprintf("legacy-%d", n), connections: n, subjects: []subject{edge, bridge, sdk}})
	}
	streams, err := f.streams()
	return append(append(cases, streams...), f.telemetry()...), err
}

// streams are calls with 20 progress events: as fast as they come, and at a pace at which nothing waits.
func (f *fleet) streams() ([]benchCase, error) {
	const params = `"name":"tick","_meta":{"progressToken":"p"},"arguments":{"events":20`
	var cases []benchCase
	for _, c := range []struct {
		name, args string
		with       []*process
	}{
		{"events-8", params + `}`, []*process{f.edge, f.edgeRedis, f.sdkEvents}},
		{"paced-events-8", params + `,"pauseMillis":2}`, []*process{f.edge, f.edgeRedis}},
	} {
		bench := benchCase{name: c.name, connections: 8}
		for i, p := range c.with {
			s, err := legacy([]string{"edge", "redis", "sdk"}[i], p, legacyCall{c.args, "ticked", 20})
			if err != nil {
				return nil, err
			}
			bench.subjects = append(bench.subjects, s)
		}
		cases = append(cases, bench)
	}
	return cases, nil
}

// legacyCall is a tools/call within a session.
type legacyCall struct {
	params, want string
	events       int
}

// legacy opens a session and prepares a call in it. All connections share the session, where no two
// requests in flight may have the same id: the generator gives each connection its own.
func legacy(name string, p *process, call legacyCall) (subject, error) {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	initialize := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + revisionLegacy +
		`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	session, err := post(p.addr, h, initialize)
	if err != nil {
		return subject{}, fmt.Errorf("%s: initialize: %w", name, err)
	}
	h["Mcp-Session-Id"] = []string{session}
	h["MCP-Protocol-Version"] = []string{revisionLegacy}
	if _, err := post(p.addr, h, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return subject{}, fmt.Errorf("%s: initialized: %w", name, err)
	}
	body := `{"jsonrpc":"2.0","id":` + load.IDPlaceholder + `,"method":"tools/call","params":{` + call.params + `}}`
	return subject{name, load.Target{Addr: p.addr, Path: "/mcp", Header: h, Body: []byte(body), Want: []byte(call.want), Events: call.events}, p}, nil
}

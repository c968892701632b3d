package era

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// eras records which era was called.
type eras struct{ asked string }

type statelessEra struct{ *eras }

func (e statelessEra) Message(context.Context, *mcp.Incoming, jsonrpc.Message, mcp.Outgoing) {
	e.asked += "stateless"
}

type statefulEra struct{ *eras }

func (e statefulEra) Message(context.Context, *mcp.Incoming, jsonrpc.Message, mcp.Outgoing) {
	e.asked += "stateful"
}

func (e statefulEra) Batch(context.Context, *mcp.Incoming, []jsonrpc.BatchEntry, mcp.Outgoing) {
	e.asked += "batch"
}
func (e statefulEra) Listen(context.Context, *mcp.Incoming, mcp.Outgoing) { e.asked += "listen" }
func (e statefulEra) End(context.Context, *mcp.Incoming, mcp.Outgoing)    { e.asked += "end" }

// out records the response of the router.
type out struct{ said string }

func (o *out) Session(string)            { o.said += "session" }
func (o *out) Respond(r mcp.Response)    { o.said += string(r.Body) }
func (o *out) Accept()                   { o.said += "accepted" }
func (o *out) Open() (mcp.Stream, error) { panic("a stream") }

type version string

func (v version) Get(name string) string {
	if name == HeaderVersion {
		return string(v)
	}
	return ""
}
func (v version) Values(name string) []string { return []string{v.Get(name)} }

func TestRouter(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	conn := new(mcp.Conn)
	_, flight, ok := conn.Begin(t.Context(), jsonrpc.IntID(7))
	if !ok {
		t.Fatal("a free id was refused")
	}
	defer flight.Release()
	for _, c := range []struct {
		name, body string
		header     mcp.Header
		conn       *mcp.Conn
		want       string
	}{
		{"plain", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, conn, "stateful"},
		{"by _meta", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`, nil, conn, "stateless"},
		{"by header", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, version("2026-07-28"), nil, "stateless"},
		{"older header", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, version("2025-11-25"), nil, "stateful"},
		{"handshake", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}`, nil, conn, "stateful"},
		{"response", `{"jsonrpc":"2.0","id":7,"result":{` + meta + `}}`, nil, conn, "stateful"},
		{"error response", `{"jsonrpc":"2.0","id":7,"error":{}}`, nil, conn, "stateful"},
		{"response by header", `{"jsonrpc":"2.0","id":7,"result":{}}`, version("2026-07-28"), nil, "stateless"},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, nil, conn, "batch"},
		{"cancels what is in flight", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, nil, conn, "stateless"},
		{"cancels another", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"7"}}`, nil, conn, "stateful"},
		{"cancels nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, nil, conn, "stateful"},
		{"cancels no id", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, nil, conn, "stateful"},
		{"cancels without a connection", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, version(""), nil, "stateful"},
		{"cancels with _meta", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9,` + meta + `}}`, nil, conn, "stateless"},
		{"another notification", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"requestId":7}}`, nil, conn, "stateful"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, o := &eras{}, &out{}
			r := &Router{Stateless: statelessEra{e}, Stateful: statefulEra{e}}
			r.Post(t.Context(), &mcp.Incoming{Body: []byte(c.body), Header: c.header, Conn: c.conn}, o)
			if e.asked != c.want || o.said != "" {
				t.Errorf("asked %q, said %q", e.asked, o.said)
			}
		})
	}
}

func TestRouterRefuses(t *testing.T) {
	for _, c := range []struct {
		name, body string
		header     mcp.Header
		conn       *mcp.Conn
		want       string
	}{
		{"no JSON", `nonsense`, nil, new(mcp.Conn), `"code":-32700`},
		{"no message", `{"jsonrpc":"2.0","id":3,"method":4}`, nil, new(mcp.Conn), `"id":3,"error":{"code":-32600`},
		{"empty batch", `[]`, nil, new(mcp.Conn), `"code":-32600`},
		{"batch by header", `[1]`, version("2026-07-28"), nil, `"code":-32600`},
		{"large batch", `[1,2,3]`, nil, new(mcp.Conn), "more than 2 messages"},
		// Two peers on one connection would otherwise answer each other's errors without end.
		{"spoilt response", `{"jsonrpc":"2.0","id":3,"result":1,"error":2}`, nil, new(mcp.Conn), "accepted"},
		{"spoilt response over HTTP", `{"jsonrpc":"2.0","id":3,"result":1,"error":2}`, version(""), nil, `"code":-32600`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, o := &eras{}, &out{}
			r := &Router{Stateless: statelessEra{e}, Stateful: statefulEra{e}, MaxBatch: 2}
			r.Post(t.Context(), &mcp.Incoming{Body: []byte(c.body), Header: c.header, Conn: c.conn}, o)
			if e.asked != "" || !strings.Contains(o.said, c.want) {
				t.Errorf("asked %q, said %q, want %s", e.asked, o.said, c.want)
			}
		})
	}
}

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

type sessionlessEra struct{ *eras }

func (e sessionlessEra) Message(context.Context, *mcp.Incoming, jsonrpc.Message, mcp.Outgoing) {
	e.asked += "sessionless"
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

// Over a transport that does not remember sessions, a message of the revisions with sessions that names none is served by itself if
// sessions are optional.
func TestRouterWithoutSession(t *testing.T) {
	const (
		call         = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		initialize   = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
		notification = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		answer       = `{"jsonrpc":"2.0","id":7,"result":{}}`
	)
	for _, c := range []struct {
		name, body, session string
		header              version
		perRequest          bool
		want                string
	}{
		{"request", call, "", "2025-11-25", true, "sessionless"},
		{"without a version", call, "", "", true, "sessionless"},
		{"notification", notification, "", "2025-06-18", true, "sessionless"},
		{"session", call, "s", "2025-11-25", true, "stateful"},
		{"remembered session", call, "", "2025-11-25", false, "stateful"},
		{"initialize", initialize, "", "2025-11-25", true, "stateful"},
		{"answer", answer, "", "2025-11-25", true, "stateful"},
		{"batch", "[" + call + "]", "", "2025-03-26", true, "batch"},
		{"stateless", call, "", "2026-07-28", true, "stateless"},
		{"unknown version", call, "", "2025-01-01", true, "stateless"},
		{"notification of an unknown version", notification, "", "2025-01-01", true, "stateful"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, optional := range []bool{true, false} {
				e, o := &eras{}, &out{}
				r := &Router{Stateless: statelessEra{e}, Stateful: statefulEra{e}}
				if optional {
					r.Sessionless = sessionlessEra{e}
				}
				r.Post(t.Context(), &mcp.Incoming{Body: []byte(c.body), Header: c.header, Session: c.session, PerRequest: c.perRequest}, o)
				want := c.want
				if !optional && want == "sessionless" {
					want = "stateful"
				}
				if e.asked != want || o.said != "" {
					t.Errorf("optional %t: asked %q, said %q", optional, e.asked, o.said)
				}
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
		{"spoilt response over HTTP", `{"jsonrpc":"2.0","id":3,"result":1,"error":2}`, version(""), nil, `{"jsonrpc":"2.0","error":{"code":-32600`},
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

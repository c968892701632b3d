package sse_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

const (
	v2024 = "2024-11-05"
	vMar  = "2025-03-26"
	vJun  = "2025-06-18"
	vNov  = "2025-11-25"
)

// A whole session, in every revision that has sessions.
func TestSession(t *testing.T) {
	f, e := startEdge(t)
	for _, version := range []string{v2024, vMar, vJun, vNov} {
		t.Run(version, func(t *testing.T) {
			c := connect(t, base(e))
			c.t = t
			c.initialize(version)
			c.ask("1", "ping", "").want(t, "{}")
			c.ask("2", "tools/list", "").want(t, `"name":"gate"`)
			c.ask(`"three"`, "tools/call", `{"name":"add","arguments":{"A":2,"B":3}}`).want(t, "5")
			progress(t, f, c)
			cancelled(t, f, c)
			asked(t, c, version)
			watched(t, f, c)
			batched(t, c, version)
			if m := c.ask("30", "no/such", ""); m.Error == nil || m.Error.Code != -32601 {
				t.Errorf("an unknown method: %s", m.raw)
			}
		})
	}
}

func progress(t *testing.T, f *fixture, c *client) {
	t.Helper()
	c.send(rpc("10", "tools/call", `{"name":"gate","_meta":{"progressToken":"p"}}`))
	if m := c.called("notifications/progress"); m.Params.Progress != 1 {
		t.Errorf("progress %s, want 1", m.raw)
	}
	<-f.started
	c.ask("11", "ping", "").want(t, "{}") // while the call runs
	f.open <- struct{}{}
	<-f.ended
	c.response("10").want(t, "passed")
}

// The cancellation is sent as soon as the call was accepted: it finds it.
func cancelled(t *testing.T, f *fixture, c *client) {
	t.Helper()
	c.send(rpc("12", "tools/call", `{"name":"gate"}`))
	<-f.started
	c.send(rpc("", "notifications/cancelled", `{"requestId":12}`))
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v, want its cancellation", err)
	}
	c.ask("13", "ping", "").want(t, "{}")
	for _, m := range c.passed {
		if string(m.ID) == "12" {
			t.Errorf("a cancelled call was answered: %s", m.raw)
		}
	}
}

func asked(t *testing.T, c *client, version string) {
	t.Helper()
	c.send(rpc("14", "tools/call", `{"name":"ask_roots"}`))
	m := c.called("roots/list")
	c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"roots":[{"uri":"file:///home"}]}}`)
	c.response("14").want(t, "root file:///home")
	if version < vJun {
		return
	}
	c.send(rpc("15", "tools/call", `{"name":"ask_name"}`))
	m = c.called("elicitation/create")
	c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"action":"accept","content":{"name":"Ada"}}}`)
	c.response("15").want(t, "Hello, Ada")
}

// The standalone stream is on the same GET.
func watched(t *testing.T, f *fixture, c *client) {
	t.Helper()
	c.ask("16", "resources/subscribe", `{"uri":"test://note"}`).want(t, "{}")
	await.Until(t, "the change is sent", func() bool {
		f.ResourceUpdated("test://note")
		select {
		case ev := <-c.events:
			return strings.Contains(string(ev.Data), `"notifications/resources/updated"`) && strings.Contains(string(ev.Data), "test://note")
		default:
			return false
		}
	})
	c.ask("17", "resources/unsubscribe", `{"uri":"test://note"}`).want(t, "{}")
}

func batched(t *testing.T, c *client, version string) {
	t.Helper()
	batch := "[" + rpc("20", "ping", "") + "," + rpc("21", "tools/call", `{"name":"add","arguments":{"A":1,"B":1}}`) + "]"
	if version != vMar {
		if resp, text := do(t, c.http, http.MethodPost, c.post, batch); resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, "-32600") {
			t.Errorf("a batch: status %d, body %s: want 400", resp.StatusCode, text)
		}
		return
	}
	c.send(batch)
	m := c.await("the batch's responses", func(m message) bool { return m.raw[0] == '[' })
	for _, want := range []string{`"id":20`, `"id":21`, "2"} {
		if !strings.Contains(m.raw, want) {
			t.Errorf("%s lacks %s", m.raw, want)
		}
	}
}

// The session lives with the GET: when the client leaves, its call is cut, its token unknown, and
// its place among the sessions free.
func TestDisconnectEndsTheSession(t *testing.T) {
	f, e := startEdge(t, func(c *config.Config) { c.Clients.Sessions = 1 })
	c := connect(t, base(e))
	c.initialize(vNov)
	c.send(rpc("1", "tools/call", `{"name":"gate"}`))
	<-f.started
	c.leave()
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	await.Until(t, "the token is unknown", func() bool {
		resp, _ := do(t, c.http, http.MethodPost, c.post, rpc("2", "ping", ""))
		return resp.StatusCode == http.StatusNotFound
	})
	await.Until(t, "there is room for another connection", func() bool {
		resp := request(t, t.Context(), c.http, http.MethodGet, base(e)+"/sse", "")
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	await.Until(t, "there is room for another session", func() bool {
		_, text := do(t, c.http, http.MethodPost, base(e)+"/mcp", initialize(vNov))
		return strings.Contains(text, `"result"`)
	})
}

// Nothing of the stateless era gets in.
func TestStatelessMessagesAreRefused(t *testing.T) {
	_, e := startEdge(t)
	c := connect(t, base(e))
	const meta = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	for i, send := range []func(id string){
		func(id string) { c.send(rpc(id, "server/discover", meta)) },
		func(id string) { c.send(rpc(id, "tools/list", meta)) },
		func(id string) { c.send(rpc(id, "ping", ""), "MCP-Protocol-Version", "2026-07-28") },
	} {
		id := string(rune('1' + i))
		send(id)
		if m := c.response(id); m.Error == nil || m.Error.Code != -32600 || !strings.Contains(m.Error.Message, "send initialize") {
			t.Errorf("message %d: %s", i, m.raw)
		}
	}
	resp, text := do(t, c.http, http.MethodPost, c.post, rpc("", "notifications/cancelled", meta))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, "HTTP+SSE") {
		t.Errorf("a notification: status %d, %s", resp.StatusCode, text)
	}
	c.initialize(v2024) // the connection has survived it
}

// An error of a message is reported by the status if no client waits for a response, else on the
// stream.
func TestBadMessages(t *testing.T) {
	_, e := startEdge(t)
	c := connect(t, base(e))
	c.send(rpc("1", "tools/list", ""))
	if m := c.response("1"); m.Error == nil || !strings.Contains(m.Error.Message, "initialize") {
		t.Errorf("before initialize: %s", m.raw)
	}
	for name, body := range map[string]string{
		"no JSON": `{`, "no message": `{}`, "nothing": ``, "null id": `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		"a notification without a session": rpc("", "notifications/initialized", ""),
	} {
		if resp, text := do(t, c.http, http.MethodPost, c.post, body); resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, `"error"`) {
			t.Errorf("%s: status %d, %s", name, resp.StatusCode, text)
		}
	}
	c.initialize(vJun)
	c.send(rpc("2", "ping", ""), "MCP-Protocol-Version", "1999-01-01")
	if m := c.response("2"); m.Error == nil || !strings.Contains(m.Error.Message, "1999-01-01") {
		t.Errorf("an unknown version: %s", m.raw)
	}
	c.send(`{"jsonrpc":"2.0","id":"unknown","result":{}}`)
}

// Without the flag both paths are unknown.
func TestFlagOff(t *testing.T) {
	_, e := startEdge(t, func(c *config.Config) { c.Listen.SSE = false })
	c := newHTTP(t)
	for method, path := range map[string]string{"GET": "/sse", "POST": "/message?sessionId=x"} {
		if resp, _ := do(t, c, method, base(e)+path, ""); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s %s: status %d, want 404", method, path, resp.StatusCode)
		}
	}
}

// A drain closes a connection that has nothing to do, and another when its call has been answered,
// even in the revision whose streams a client could resume elsewhere.
func TestDrain(t *testing.T) {
	f, e := startEdge(t)
	idle := connect(t, base(e))
	idle.initialize(vNov)
	var busy []*client
	for _, version := range []string{v2024, vNov} {
		c := connect(t, base(e))
		c.initialize(version)
		c.send(rpc("1", "tools/call", `{"name":"gate","_meta":{"progressToken":"p"}}`))
		c.called("notifications/progress")
		<-f.started
		busy = append(busy, c)
	}
	e.Stop()
	if before := idle.ended(); len(before) > 0 {
		t.Errorf("an idle connection got %s", before)
	}
	for range busy {
		f.open <- struct{}{}
		<-f.ended
	}
	for _, c := range busy {
		c.response("1").want(t, "passed")
		if before := c.ended(); len(before) > 0 {
			t.Errorf("after the response came %s", before)
		}
	}
	e.AwaitEnd(t)
}

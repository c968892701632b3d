package sse_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// TestAnotherReplica: each POST of a connection may come to another replica than its GET.
func TestAnotherReplica(t *testing.T) {
	server := redisserver.ForTest(t)
	shared := func(c *config.Config) { c.Redis.URL = server.URL() }
	f, a := startEdge(t, shared)
	_, b := startEdge(t, shared)
	c := connect(t, base(a))
	c.post = strings.Replace(c.post, base(a), base(b), 1)
	c.initialize("2025-11-25")
	c.ask("1", "tools/call", `{"name":"add","arguments":{"A":1,"B":2}}`).want(t, `"3"`)

	c.send(rpc("2", "tools/call", `{"name":"ask_name","arguments":{}}`))
	asked := c.called("elicitation/create")
	c.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"action":"accept","content":{"name":"Ada"}}}`)
	c.response("2").want(t, "Hello, Ada")

	c.send(rpc("3", "tools/call", `{"name":"gate","arguments":{}}`))
	<-f.started
	c.send(rpc("", "notifications/cancelled", `{"requestId":3}`))
	if err := <-f.ended; err == nil {
		t.Error("a cancellation through another replica did not reach the call")
	}

	// What the connection refuses is refused there too, with its reason.
	if resp, text := do(t, c.http, http.MethodPost, c.post, `{"jsonrpc":`); resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, "-32700") {
		t.Errorf("no JSON: status %d, %s", resp.StatusCode, text)
	}
	if resp, _ := do(t, c.http, http.MethodPost, strings.Replace(c.post, "sessionId=", "sessionId=X", 1), rpc("4", "ping", "")); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a token of no session: status %d", resp.StatusCode)
	}
	a.End(t)
	if resp, _ := do(t, c.http, http.MethodPost, c.post, rpc("5", "ping", "")); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the connection's replica is gone: status %d", resp.StatusCode)
	}
}

package stdio_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
)

func wants(t *testing.T, m message, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(m.raw, p) {
			t.Errorf("%s\nlacks %s", m.raw, p)
		}
	}
}

func TestProbe(t *testing.T) {
	e := start(t, newBackend())
	e.modern(`"probe"`, "server/discover", "")
	wants(t, e.response(`"probe"`), `"supportedVersions":["2026-07-28"`, `"tools":{`)
	e.send(`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	wants(t, e.response("2"), `"code":-32022`, `"requested":"2099-01-01"`)
}

func TestMalformedLines(t *testing.T) {
	e := start(t, newBackend())
	anonymous := func(m message) bool { return m.ID == nil && m.Error != nil }
	for _, line := range []string{"nonsense", `{"jsonrpc":"2.0","id":1,`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `[]`, `"\xff"`, `{"jsonrpc":"2.0","id":1,"method":"a"}{"jsonrpc":"2.0"}`} {
		e.send("%s", line)
		e.next("an error for "+line, anonymous)
		e.modern("1", "server/discover", "")
		if m := e.response("1"); m.Error != nil {
			t.Errorf("after %s: %s", line, m.raw)
		}
	}
	e.send("%s", strings.Repeat("x", 5<<20))
	wants(t, e.next("an error for a long line", anonymous), "-32600", "send a shorter message")
	// A response gone wrong is not answered: two peers would go on for ever.
	e.send(`{"jsonrpc":"2.0","id":7,"result":1,"error":{}}`)
	e.send(`{"jsonrpc":"2.0","id":8,"result":{}}`)
	e.send(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	wants(t, e.response("9"), `"result":{}`)
	e.silent("answered a response", func(message) bool { return true })
}

func TestErasInterleave(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			e := start(t, newBackend())
			e.handshake(version)
			for i := range 100 {
				e.legacy(fmt.Sprint(i), "tools/call", fmt.Sprintf(`{"name":"echo","arguments":{"text":"l%d"}}`, i))
				e.modern(fmt.Sprintf(`"%d"`, i), "tools/call", fmt.Sprintf(`"name":"echo","arguments":{"text":"m%d"},`, i))
			}
			for i := range 100 {
				l, m := e.response(fmt.Sprint(i)), e.response(fmt.Sprintf(`"%d"`, i))
				wants(t, l, fmt.Sprintf(`"text":"l%d"`, i))
				wants(t, m, fmt.Sprintf(`"text":"m%d"`, i), `"resultType":"complete"`)
				if strings.Contains(l.raw, "resultType") {
					t.Errorf("a legacy result has a resultType: %s", l.raw)
				}
			}
		})
	}
}

// A client that sends without waiting is slowed down, not refused. Calls that become streams hold back no
// line behind them, and count against the session's calls alone: none is to become one, however slow the
// machine is.
func TestPipelinedCallsAreAllServed(t *testing.T) {
	e := start(t, newBackend(), func(c *config.Config) { c.Calls.StreamAfter = time.Hour })
	e.handshake("2025-11-25")
	const n = 10_000
	sent := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < n && err == nil; i++ {
			_, err = fmt.Fprintf(e.In, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%d"}}}`+"\n", i, i)
		}
		sent <- err
	}()
	seen := map[string]bool{}
	for range n {
		m := e.next("a response", func(m message) bool { return m.ID != nil })
		wants(t, m, fmt.Sprintf(`"text":"%s"`, m.ID))
		seen[string(m.ID)] = true
	}
	if err := <-sent; err != nil || len(seen) != n {
		t.Errorf("%d of %d were answered; %v", len(seen), n, err)
	}
}

func TestElicitation(t *testing.T) {
	e := start(t, newBackend())
	e.handshake("2025-11-25")
	e.legacy("1", "tools/call", `{"name":"ask"}`)
	ask := e.method("elicitation/create")
	e.legacy("2", "ping", `{}`)
	e.response("2") // the question holds nothing back
	e.send(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ada"}}}`, ask.ID)
	wants(t, e.response("1"), "Hello, Ada")

	e.modern("3", "tools/call", `"name":"ask",`)
	wants(t, e.response("3"), `"resultType":"input_required"`, "elicitation/create", "What is your name?")
	e.silent("a request for a modern call", func(m message) bool { return m.Method == "elicitation/create" })
}

func TestBatch(t *testing.T) {
	e := start(t, newBackend())
	e.handshake("2025-03-26")
	e.send(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/other"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}]`)
	m := e.next("a batch", func(m message) bool { return m.raw[0] == '[' })
	wants(t, m, `{"jsonrpc":"2.0","id":1,"result":{}}`, `"id":2,"result"`)
}

func TestChanges(t *testing.T) {
	b := newBackend()
	e := start(t, b)
	e.handshake("2025-11-25")
	e.modern(`"l"`, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["test://note"]},`)
	e.modern(`7`, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["test://note"]},`)
	for range 2 {
		e.method("notifications/subscriptions/acknowledged")
	}
	e.legacy("1", "resources/subscribe", `{"uri":"test://note"}`)
	if m := e.response("1"); m.Error != nil {
		t.Fatal(m.raw)
	}
	b.ResourceUpdated("test://note")
	tags := map[string]bool{}
	for _, tag := range []string{"", `:"l"}`, `:7}`} {
		m := e.next("an update "+tag, func(m message) bool {
			return m.Method == "notifications/resources/updated" && strings.Contains(m.raw, "subscriptionId") == (tag != "") && strings.Contains(m.raw, tag)
		})
		tags[tag] = true
		wants(t, m, `"uri":"test://note"`)
	}
	if len(tags) != 3 {
		t.Errorf("tags %v", tags)
	}
}

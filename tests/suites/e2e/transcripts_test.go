package e2e

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// small is a backend whose lists fit a page of documentation.
func small(t *testing.T) (*fixture, *harness.Edge) {
	t.Helper()
	f, e := startFixture(t)
	keep := map[string]bool{"add": true, "count": true, "gate": true, "ask_name": true}
	s := newSession(t, e.URL, vNov)
	var gone []string
	for _, name := range names(s.request("tools/list", "").result()["tools"], "name") {
		if !keep[name] {
			gone = append(gone, name)
		}
	}
	for _, name := range gone {
		f.RemoveTool(name)
	}
	await.Until(t, "the tools are gone, on every replica", func() bool {
		for range replicaCount {
			if list, _ := s.request("tools/list", "").result()["tools"].([]any); len(list) != len(keep) {
				return false
			}
		}
		return true
	})
	return f, e
}

// TestTranscripts holds the wire of the main behaviours against the files in testdata/transcripts.
func TestTranscripts(t *testing.T) {
	f, e := small(t)
	for _, c := range []struct {
		behaviour string
		run       func(t *testing.T, f *fixture, s *session)
	}{
		{"list", func(_ *testing.T, _ *fixture, s *session) { s.request("tools/list", "").json() }},
		{"call", func(_ *testing.T, _ *fixture, s *session) { s.call("add", `{"a":2,"b":3}`).json() }},
		{"progress", legacyProgress},
		{"elicitation", legacyElicitation},
		{"resume", legacyResume},
		{"changes", legacyChanges},
		{"errors", legacyErrors},
		{"read", legacyRead},
		{"prompt", legacyPrompt},
		{"complete", legacyComplete},
	} {
		t.Run(vNov+"/"+c.behaviour, func(t *testing.T) {
			s := newSession(t, e.URL, vNov)
			s.record = &transcript{}
			c.run(t, f, s)
			s.record.compare(t, vNov, c.behaviour)
		})
	}
	t.Run(vNov+"/initialize", func(t *testing.T) {
		s := &session{caller: newCaller(t, e.URL), t: t, version: vNov, next: new(atomic.Int64)}
		s.record = &transcript{}
		s.open(`{"elicitation":{}}`)
		s.request("ping", "")
		s.delete()
		s.record.note("The session is gone.")
		s.request("ping", "")
		s.record.compare(t, vNov, "initialize")
	})
	t.Run(vMar+"/batch", func(t *testing.T) {
		s := newSession(t, e.URL, vMar)
		s.record = &transcript{}
		s.post(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3}}}]`)
		s.record.compare(t, vMar, "batch")
	})
	modernTranscripts(t, f, e)
	taskTranscripts(t)
	transportTranscripts(t)
}

func modernTranscripts(t *testing.T, f *fixture, e *harness.Edge) {
	t.Helper()
	for _, c := range []struct {
		behaviour string
		run       func(t *testing.T, f *fixture, c *stateless)
	}{
		{"discover", func(_ *testing.T, _ *fixture, c *stateless) { c.request("server/discover", nil).json() }},
		{"call", func(_ *testing.T, _ *fixture, c *stateless) { c.call("add", `{"a":2,"b":3}`).json() }},
		{"progress", modernProgress},
		{"elicitation", modernElicitation},
		{"listen", modernListen},
		{"errors", modernErrors},
		{"list", func(_ *testing.T, _ *fixture, c *stateless) { c.request("tools/list", nil).json() }},
		{"read", modernRead},
		{"prompt", modernPrompt},
		{"complete", modernComplete},
	} {
		t.Run(v2026+"/"+c.behaviour, func(t *testing.T) {
			client := newStateless(t, e.URL)
			client.record = &transcript{}
			c.run(t, f, client)
			client.record.compare(t, v2026, c.behaviour)
		})
	}
}

func legacyProgress(_ *testing.T, _ *fixture, s *session) {
	stream := s.callWithProgress("count", `{"to":2}`, "my-token").events()
	for m := stream.message(); m.Method != ""; m = stream.message() {
	}
	stream.end()
}

func legacyElicitation(_ *testing.T, _ *fixture, s *session) {
	stream := s.call("ask_name", "").events()
	ask := stream.awaitMethod("elicitation/create")
	s.record.note("The user answers; the answer is a request of its own, to any replica.")
	s.answer(ask, answers["elicitation/create"])
	s.record.note("The stream of the call goes on.")
	stream.message()
	stream.end()
}

func legacyResume(_ *testing.T, f *fixture, s *session) {
	stream := s.callWithProgress("gate", `{"name":"transcript"}`, "my-token").events()
	<-f.started
	stream.awaitMethod("notifications/progress")
	stream.close()
	s.record.note("The connection breaks. The call runs on; the client comes back with the last event's id.")
	close(f.gate("transcript"))
	<-f.ended
	rest := s.get(stream.lastID).events()
	for m := rest.message(); m.Method != ""; m = rest.message() {
	}
	rest.end()
}

func legacyChanges(_ *testing.T, f *fixture, s *session) {
	s.request("resources/subscribe", `{"uri":"test://note"}`)
	stream := s.get("").events()
	stream.message()
	s.record.note("At first the stream tells what may have been missed.")
	s.record.note("The resource changes.")
	f.setNote("transcript")
	stream.message()
	s.request("resources/unsubscribe", `{"uri":"test://note"}`)
}

func legacyErrors(_ *testing.T, _ *fixture, s *session) {
	s.record.note("A tool that does not exist is an error.")
	s.call("none", "")
	s.record.note("Arguments that do not fit are a result, for the model to correct them.")
	s.call("add", `{"a":"two","b":3}`)
	s.record.note("A resource that does not exist.")
	s.request("resources/read", `{"uri":"test://none"}`)
	s.record.note("A method that does not exist.")
	s.request("no/such", "")
	s.record.note("No session.")
	s.send(s.t, http.MethodPost, rpc("ping", ""), "MCP-Protocol-Version", vNov)
	s.record.note("No JSON.")
	s.post("{")
}

func modernProgress(_ *testing.T, _ *fixture, c *stateless) {
	c.progress, c.logLevel = `"my-token"`, "info"
	stream := c.call("count", `{"to":2}`).events()
	for m := stream.message(); m.Method != ""; m = stream.message() {
	}
	stream.end()
}

func modernElicitation(t *testing.T, _ *fixture, c *stateless) {
	c.capabilities = `{"elicitation":{}}`
	asked := c.call("ask_name", "").result()
	c.record.note("The user answers; the call is sent again, to any replica, with the answer and the state.")
	c.call("ask_name", "", retry(t, asked, `{"name":`+answers["elicitation/create"]+`}`))
}

func modernListen(_ *testing.T, f *fixture, c *stateless) {
	stream := c.request("subscriptions/listen", map[string]any{"notifications": json.RawMessage(
		`{"toolsListChanged":true,"resourceSubscriptions":["test://note"]}`)}).events()
	stream.message()
	c.record.note("The resource changes.")
	f.setNote("transcript")
	stream.message()
	c.record.note("A tool is added.")
	f.addTool("added")
	stream.message()
}

func modernErrors(_ *testing.T, _ *fixture, c *stateless) {
	c.capabilities = `{}`
	c.record.note("A tool that does not exist is an error.")
	c.call("none", "")
	c.record.note("Arguments that do not fit are a result, for the model to correct them.")
	c.call("add", `{"a":"two","b":3}`)
	c.record.note("A resource that does not exist.")
	c.request("resources/read", map[string]any{"uri": "test://none"})
	c.record.note("The tool must ask the user, and the client cannot be asked.")
	c.call("ask_name", "")
	c.record.note("A method that does not exist.")
	c.request("ping", nil)
	c.record.note("A header that differs from the body.")
	c.send(c.t, http.MethodPost, stating("tools/call", metaBoth, `"name":"add"`), modernHeaders("tools/call", "echo")...)
	c.record.note("A version that is not served.")
	c.send(c.t, http.MethodPost, stating("server/discover", `"io.modelcontextprotocol/protocolVersion":"2099-01-01",`+metaCaps, ""),
		"MCP-Protocol-Version", "2099-01-01", "Mcp-Method", "server/discover")
}

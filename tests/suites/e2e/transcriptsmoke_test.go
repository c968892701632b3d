package e2e

import (
	"bufio"
	"fmt"
	"net/http"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

func legacyRead(_ *testing.T, _ *fixture, s *session) {
	s.request("resources/list", "").json()
	s.request("resources/templates/list", "").json()
	s.request("resources/read", `{"uri":"test://bytes"}`).json()
	s.request("resources/read", `{"uri":"test://item/7"}`).json()
}

func legacyPrompt(_ *testing.T, _ *fixture, s *session) {
	s.request("prompts/list", "").json()
	s.request("prompts/get", `{"name":"greet","arguments":{"name":"Ada"}}`).json()
	s.record.note("A required argument is missing.")
	s.request("prompts/get", `{"name":"greet"}`)
}

func legacyComplete(_ *testing.T, _ *fixture, s *session) {
	s.request("completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"A"}}`).json()
	s.request("completion/complete", `{"ref":{"type":"ref/resource","uri":"test://item/{id}"},"argument":{"name":"id","value":"ap"}}`).json()
}

func modernRead(_ *testing.T, _ *fixture, c *stateless) {
	c.request("resources/list", nil).json()
	c.request("resources/templates/list", nil).json()
	c.request("resources/read", map[string]any{"uri": "test://bytes"}).json()
	c.request("resources/read", map[string]any{"uri": "test://item/7"}).json()
}

func modernPrompt(_ *testing.T, _ *fixture, c *stateless) {
	c.request("prompts/list", nil).json()
	c.request("prompts/get", map[string]any{"name": "greet", "arguments": map[string]any{"name": "Ada"}}).json()
	c.record.note("A required argument is missing.")
	c.request("prompts/get", map[string]any{"name": "greet"})
}

func modernComplete(_ *testing.T, _ *fixture, c *stateless) {
	for _, ref := range []map[string]any{
		{"ref": map[string]any{"type": "ref/prompt", "name": "greet"}, "argument": map[string]any{"name": "name", "value": "A"}},
		{"ref": map[string]any{"type": "ref/resource", "uri": "test://item/{id}"}, "argument": map[string]any{"name": "id", "value": "ap"}},
	} {
		c.request("completion/complete", ref).json()
	}
}

// taskTranscripts notes a task from its beginning to its outcome, in either era. It has a backend of its own: its tool would be in the lists of
// the others.
func taskTranscripts(t *testing.T) {
	t.Helper()
	t.Run(vNov+"/task", func(t *testing.T) {
		_, backends, steps := stepping(t)
		s := newSession(t, startEdge(t, backends).URL, vNov)
		unseen := *s.caller
		s.record = &transcript{}
		made := s.request("tools/call", `{"name":"steps","arguments":{},"task":{}}`).want(http.StatusOK)
		id, _ := dig(made.result(), "task", "taskId").(string)
		params := `{"taskId":"` + id + `"}`
		s.request("tasks/get", params).json()
		s.record.note("The task ends.")
		close(steps)
		s.request("tasks/result", params).final()
		awaitEndOf(t, (&session{caller: &unseen, t: t, version: vNov, id: s.id, next: s.next}).request, params)
		s.request("tasks/get", params).json()
		s.record.note("A task that has ended cannot be cancelled.")
		s.request("tasks/cancel", params)
		s.record.compare(t, vNov, "task")
	})
	t.Run(v2026+"/task", func(t *testing.T) {
		_, backends, steps := stepping(t)
		// The response becomes a stream before there is a task.
		e := startEdge(t, backends, func(c *config.Config) { c.Calls.StreamAfter = config.Default().Calls.StreamAfter })
		c := newStateless(t, e.URL, withTasks)
		c.record = &transcript{}
		id, _ := c.call("steps", `{}`).want(http.StatusOK).result()["taskId"].(string)
		about := map[string]any{"taskId": id}
		c.request("tasks/get", about).json()
		c.record.note("The task ends.")
		close(steps)
		unseen := newStateless(t, e.URL, withTasks)
		awaitEndOf(t, func(method, _ string) *reply { return unseen.request(method, about) }, "")
		c.request("tasks/get", about).json()
		c.record.compare(t, v2026, "task")
	})
}

// awaitEndOf awaits that a task has completed.
func awaitEndOf(t *testing.T, request func(method, params string) *reply, params string) {
	t.Helper()
	await.Until(t, "the task has completed", func() bool { return request("tasks/get", params).result()["status"] == "completed" })
}

// transportTranscripts notes an edge over HTTP+SSE and over stdio.
func transportTranscripts(t *testing.T) {
	t.Helper()
	backend := startService(t, newFixture().Server)
	e := startEdge(t, only(backend))
	hello := func(version string) string {
		return envelope("1", "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":`+clientInfo+`}`)
	}
	t.Run(v2024+"/sse", func(t *testing.T) {
		record := &transcript{}
		get := newCaller(t, "http://"+e.Host+"/sse")
		get.record = record
		stream := get.send(t, http.MethodGet, "").want(http.StatusOK).events()
		endpoint, _ := stream.next()
		post := newCaller(t, "http://"+e.Host+endpoint.Data)
		post.record = record
		for _, body := range []string{hello(v2024), envelope("2", "tools/call", toolParams("add", `{"a":2,"b":3}`, "")), envelope("3", "no/such", "")} {
			post.send(t, http.MethodPost, body).want(http.StatusAccepted)
			stream.message()
		}
		stream.close()
		record.compare(t, v2024, "sse")
	})
	modern := &stateless{t: t, capabilities: `{}`}
	add := map[string]any{"name": "add", "arguments": map[string]any{"a": 2, "b": 3}}
	for version, lines := range map[string][]string{
		vNov: {
			hello(vNov), envelope("", "notifications/initialized", ""), envelope("2", "tools/call", toolParams("add", `{"a":2,"b":3}`, "")),
			envelope("3", "resources/read", `{"uri":"test://none"}`), "{",
		},
		v2026: {
			envelope("1", "server/discover", modern.params(nil)), envelope("2", "tools/call", modern.params(add)),
			envelope("3", "resources/read", modern.params(map[string]any{"uri": "test://none"})), "{",
		},
	} {
		t.Run(version+"/stdio", func(t *testing.T) { stdioTranscript(t, backend, lines).compare(t, version, "stdio") })
	}
}

// stdioTranscript notes lines that a client writes and what it reads, a line for each that is no notification.
func stdioTranscript(t *testing.T, backend *harness.Service, lines []string) *transcript {
	t.Helper()
	e := harness.StartStdio(t, harness.Config(backend.Backend()))
	out := bufio.NewScanner(e.Out)
	defer func() {
		_ = e.In.Close()
		for out.Scan() {
		}
		<-e.Ended()
		if err := e.Err(); err != nil {
			t.Errorf("the edge ended with: %v", err)
		}
	}()
	record := &transcript{}
	for _, line := range lines {
		record.body(">", []byte(line))
		if _, err := fmt.Fprintln(e.In, line); err != nil {
			t.Fatal(err)
		}
		if parsed := line != "{" && len(parse(t, []byte(line)).ID) == 0; !parsed {
			if !out.Scan() {
				t.Fatalf("nothing answers %s: %v", line, out.Err())
			}
			record.body("<", out.Bytes())
		}
		record.text.WriteString("\n")
	}
	return record
}

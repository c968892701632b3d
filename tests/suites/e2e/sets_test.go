package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// twoSets has an edge serve two sets of the fixture: sums with what surfaces name, words with other things.
func twoSets(c *config.Config) {
	c.Sets = map[string]config.Set{
		"sums": {Title: "Sums", Instructions: "Add things.", Include: config.SetMembers{
			Tools: config.Names{"add", "ask_name", "gate"}, Prompts: config.Names{"greet"}, Resources: config.Names{"test://note", "test://item/*"},
		}},
		"words": {Include: config.SetMembers{
			Tools: config.Names{"ech*", "ask_*"}, Prompts: config.Names{"ask_*"}, Resources: config.Names{"test://bytes"},
		}, Exclude: config.SetMembers{Tools: config.Names{"ask_model"}}},
	}
}

// atSet is the URL of a set's endpoint.
func atSet(e *harness.Edge, set string) string { return e.URL + "/" + set }

// askerAt is a client of a set in some revision over Streamable HTTP.
func askerAt(t *testing.T, url, version string) asker {
	t.Helper()
	if version == v2026 {
		return newStateless(t, url)
	}
	return newSession(t, url, version)
}

// viaSSE is a client over HTTP+SSE.
type viaSSE struct {
	t      *testing.T
	post   *caller
	stream *stream
	next   int
}

// newSSE is a client at a path, with a token if one is given.
func newSSE(t *testing.T, e *harness.Edge, path string, token ...string) *viaSSE {
	t.Helper()
	at := func(path string) *caller {
		c := newCaller(t, "http://"+e.Host+path)
		for _, one := range token {
			c.as(one)
		}
		return c
	}
	stream := at(path).send(t, http.MethodGet, "").want(http.StatusOK).events()
	ev, _ := stream.next()
	s := &viaSSE{t: t, post: at(ev.Data), stream: stream}
	s.ask("initialize", `{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":`+clientInfo+`}`)
	s.post.send(t, http.MethodPost, envelope("", "notifications/initialized", "")).want(http.StatusAccepted)
	return s
}

func (s *viaSSE) ask(method, params string) *reply {
	s.t.Helper()
	s.next++
	s.post.send(s.t, http.MethodPost, envelope(fmt.Sprint(s.next), method, params)).want(http.StatusAccepted)
	return &reply{t: s.t, status: http.StatusOK, body: s.stream.response().raw}
}

// whole is all messages up to the response.
func (s *viaSSE) whole(method, params string) (all string) {
	s.t.Helper()
	s.next++
	s.post.send(s.t, http.MethodPost, envelope(fmt.Sprint(s.next), method, params)).want(http.StatusAccepted)
	for {
		m := s.stream.message()
		if all += string(m.raw); m.Method == "" {
			return all
		}
	}
}

// viaStdio is a client over stdio.
type viaStdio struct {
	t    *testing.T
	edge *harness.Stdio
	out  *bufio.Scanner
	meta string
	next int
}

func newStdio(t *testing.T, cfg config.Config, version string) *viaStdio {
	t.Helper()
	e := harness.StartStdio(t, cfg)
	s := &viaStdio{t: t, edge: e, out: bufio.NewScanner(e.Out)}
	t.Cleanup(func() {
		_ = e.In.Close()
		for s.out.Scan() {
		}
		<-e.Ended()
	})
	s.begin(version)
	return s
}

// begin makes the client one of a revision.
func (s *viaStdio) begin(version string) {
	s.t.Helper()
	if version == v2026 {
		s.meta = (&stateless{t: s.t, capabilities: everything}).meta()
		return
	}
	s.ask("initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":`+clientInfo+`}`)
	_, _ = fmt.Fprintln(s.edge.In, envelope("", "notifications/initialized", ""))
}

func (s *viaStdio) ask(method, params string) *reply {
	s.t.Helper()
	s.send(method, params, func([]byte) {})
	return &reply{t: s.t, status: http.StatusOK, body: slices.Clone(s.out.Bytes())}
}

// whole is all messages up to the response.
func (s *viaStdio) whole(method, params string) (all string) {
	s.t.Helper()
	s.send(method, params, func(line []byte) { all += string(line) })
	return all
}

// send sends a request and reads lines up to its response, which is the last that was read.
func (s *viaStdio) send(method, params string, read func(line []byte)) {
	s.t.Helper()
	if s.meta != "" {
		params = strings.Replace(params, `"_meta":{`, `"_meta":{`+s.meta+`,`, 1)
		if !strings.Contains(params, s.meta) {
			params = `{"_meta":{` + s.meta + `},` + params[1:]
			params = strings.Replace(params, "},}", "}}", 1)
		}
	}
	s.next++
	if _, err := fmt.Fprintln(s.edge.In, envelope(fmt.Sprint(s.next), method, params)); err != nil {
		s.t.Fatal(err)
	}
	for s.out.Scan() {
		read(s.out.Bytes())
		if m := parse(s.t, s.out.Bytes()); m.Method == "" {
			return
		}
	}
	s.t.Fatalf("nothing answers %s: %v", method, s.out.Err())
}

// TestSetsAreApart: what a set does not have is unknown there, byte for byte, over each method, revision and transport, and what
// it has is served.
func TestSetsAreApart(t *testing.T) {
	t.Parallel() // it waits for most of its time
	_, e := startFixture(t, twoSets)
	for _, version := range append(slices.Clone(stateful), v2026) {
		t.Run(version, func(t *testing.T) {
			isApart(t, askerAt(t, atSet(e, "sums"), version), askerAt(t, atSet(e, "words"), version), version)
		})
	}
	t.Run("SSE", func(t *testing.T) {
		harness.OneProcess(t)
		isApart(t, newSSE(t, e, "/sse/sums"), newSSE(t, e, "/sse/words"), v2024)
	})
	for _, version := range []string{vNov, v2026} {
		t.Run("stdio "+version, func(t *testing.T) {
			service := startService(t, newFixture().Server)
			at := func(set string) asker {
				cfg := harness.Config(only(service)...)
				twoSets(&cfg)
				cfg.Set = set
				return newStdio(t, cfg, version)
			}
			isApart(t, at("sums"), at("words"), version)
		})
	}
}

func isApart(t *testing.T, sums, words asker, version string) {
	t.Helper()
	_, http := words.(interface {
		send(*testing.T, string, string, ...string) *reply
	})
	for _, s := range surfaces {
		if s.method == "resources/subscribe" && version == v2026 {
			if !http {
				continue
			}
			stream := words.ask(s.method, s.params).want(200).events()
			if m := stream.message(); strings.Contains(string(m.raw), "resourceSubscriptions") {
				t.Errorf("a resource of another set is watched: %s", m.raw)
			}
			stream.close()
			continue
		}
		got, want := unnamed(words.ask(s.method, s.params)), unnamed(words.ask(s.method, s.unknown))
		if got != want || !strings.Contains(want, "code") {
			t.Errorf("%s %s: outside of the set it is\n%s\nunknown\n%s", s.method, s.params, got, want)
		}
		if r := sums.ask(s.method, s.params).want(200); strings.Contains(string(r.body), `"error"`) {
			t.Errorf("%s %s: the set does not serve it: %s", s.method, s.params, r.body)
		}
	}
	for _, l := range []struct{ method, list, key, sums, words string }{
		{"tools/list", "tools", "name", "add ask_name gate", "ask_all ask_name ask_roots ask_url echo"},
		{"prompts/list", "prompts", "name", "greet", "ask_prompt"},
		{"resources/list", "resources", "uri", "test://note", "test://bytes"},
		{"resources/templates/list", "resourceTemplates", "uriTemplate", "test://item/{id}", ""},
	} {
		for set, a := range map[string]asker{l.sums: sums, l.words: words} {
			var m struct{ Result map[string]json.RawMessage }
			var entries []map[string]any
			if r := a.ask(l.method, "{}").want(200); json.Unmarshal(r.body, &m) != nil || json.Unmarshal(m.Result[l.list], &entries) != nil {
				t.Fatalf("%s: %s", l.method, r.body)
			}
			var got []string
			for _, one := range entries {
				got = append(got, one[l.key].(string))
			}
			slices.Sort(got)
			if strings.Join(got, " ") != set {
				t.Errorf("%s: %q, want %q", l.method, got, set)
			}
		}
	}
}

// TestSetDescribesItself: a set has its own title and instructions, in both eras.
func TestSetDescribesItself(t *testing.T) {
	_, e := startFixture(t, twoSets)
	begun := newSession(t, atSet(e, "sums"), vNov).hello
	found := newStateless(t, atSet(e, "sums")).request("server/discover", nil).result()
	for what, got := range map[string]any{
		"initialize title": dig(begun, "serverInfo", "title"), "discover title": dig(found, "_meta", "io.modelcontextprotocol/serverInfo", "title"),
	} {
		if got != "Sums" {
			t.Errorf("%s: %v", what, got)
		}
	}
	if begun["instructions"] != "Add things." || found["instructions"] != "Add things." {
		t.Errorf("the instructions are %v and %v", begun["instructions"], found["instructions"])
	}
	called := newStateless(t, atSet(e, "sums")).call("add", `{"a":1,"b":2}`).result()
	if got := dig(called, "_meta", "io.modelcontextprotocol/serverInfo", "title"); got != "Sums" {
		t.Errorf("the title in a result: %v", got)
	}
}

// TestSessionsOfSets: sessions, streams, states of requests and cursors of one set are unknown at another and at the root.
func TestSessionsOfSets(t *testing.T) {
	_, e := startFixture(t, twoSets, quickStreams, func(c *config.Config) { c.Lists.PageSize = 1 })
	elsewhere := []string{e.URL, atSet(e, "words")}
	for _, version := range []string{vJun, vNov} {
		s := newSession(t, atSet(e, "sums"), version)
		asked := s.call("ask_name", "").want(http.StatusOK).events()
		first, _ := asked.next()
		for _, url := range elsewhere {
			other, never := *s, *s
			other.caller, never.caller = newCaller(t, url), newCaller(t, url)
			never.id = strings.Repeat("N", len(s.id))
			for what, send := range map[string]func(*session) *reply{
				"a request": func(s *session) *reply { return s.post(envelope("99", "ping", "")) }, "a stream": func(s *session) *reply { return s.get("") },
				"a resumed stream": func(s *session) *reply { return s.get(first.ID) }, "an answer": func(s *session) *reply { return s.post(`{"jsonrpc":"2.0","id":1,"result":{}}`) },
				"its end": (*session).delete,
			} {
				same(t, version+", "+what+" at "+url, send(&other), send(&never).want(http.StatusNotFound), s.id, never.id)
			}
		}
		s.request("ping", "").want(http.StatusOK)
		asked.close()
		s.delete().want(http.StatusNoContent)
	}
	page := newStateless(t, atSet(e, "sums")).request("tools/list", nil).result()
	asked := newStateless(t, atSet(e, "sums")).call("ask_name", "").result()
	for _, url := range elsewhere {
		c := newStateless(t, url)
		c.request("tools/list", map[string]any{"cursor": page["nextCursor"]}).json().wantError(t, -32602)
		refused := c.call("ask_name", "", retry(t, asked, `{"name":`+answers["elicitation/create"]+`}`)).json()
		if refused.Error == nil || !strings.Contains(refused.Error.Message, "was not issued") {
			t.Errorf("%s: another set's state gives %s", url, refused.raw)
		}
	}
	own := newStateless(t, atSet(e, "sums"))
	if got := own.call("ask_name", "", retry(t, asked, `{"name":`+answers["elicitation/create"]+`}`)).text(); got != "Hello, Ada" {
		t.Errorf("the set's own state gives %q", got)
	}
	own.request("tools/list", map[string]any{"cursor": page["nextCursor"]}).result()
}

// TestRoot: the root may serve nothing, or a set, at each of its endpoints; the sets are unaffected.
func TestRoot(t *testing.T) {
	service := startService(t, newFixture().Server)
	off := startEdge(t, only(service), twoSets, func(c *config.Config) { c.Root = "off" })
	unknown := newCaller(t, atSet(off, "nix")).send(t, http.MethodPost, hello).want(http.StatusNotFound)
	host := "http://" + off.Host
	for path, method := range map[string]string{"/mcp": "POST", "/mcp/": "POST", "/sse": "GET", "/message?sessionId=x": "POST", "/message/nix?sessionId=x": "POST", "/sse/nix": "GET"} {
		r := newCaller(t, host+path).send(t, method, hello)
		if r.status != http.StatusNotFound || string(r.body) != string(unknown.body) {
			t.Errorf("%s: %d %s, want %s", path, r.status, r.body, unknown.body)
		}
	}
	newCaller(t, host+"/mcp").send(t, http.MethodGet, "", "Accept", "text/html").want(http.StatusNotFound)
	newSession(t, atSet(off, "sums"), vNov).call("add", `{"a":1,"b":2}`).want(http.StatusOK)
	newOperator(t, off).get("/healthz").want(http.StatusOK)

	one := startEdge(t, only(service), twoSets, func(c *config.Config) { c.Root = "sums" })
	isSums := func(a asker) {
		t.Helper()
		if m := a.ask("tools/call", toolParams("add", `{"a":1,"b":2}`, "")).want(http.StatusOK).body; !strings.Contains(string(m), `sum`) {
			t.Errorf("add: %s", m)
		}
		if m := a.ask("tools/call", toolParams("echo", `{"text":"x"}`, "")).want(http.StatusOK).body; !strings.Contains(string(m), "unknown tool") {
			t.Errorf("echo: %s", m)
		}
	}
	isSums(newSession(t, one.URL, vNov))
	isSums(newStateless(t, one.URL))
	isSums(newSSE(t, one, "/sse"))
}

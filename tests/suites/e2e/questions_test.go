package e2e

import (
	"net/http"
	"testing"
)

// answers to what the fixture's tools ask, by method.
var answers = map[string]string{
	"elicitation/create":     `{"action":"accept","content":{"name":"Ada"}}`,
	"sampling/createMessage": `{"role":"assistant","model":"m","content":{"type":"text","text":"word"}}`,
	"roots/list":             `{"roots":[{"uri":"file:///home","name":"home"}]}`,
}

// TestServerRequests: what a backend asks reaches a client with a session as requests on the call's
// own stream; the answers arrive by POST.
func TestServerRequests(t *testing.T) {
	_, e := startFixture(t)
	for _, c := range []struct {
		version, tool, method, want string
	}{
		{vJun, "ask_name", "elicitation/create", "Hello, Ada"},
		{vNov, "ask_name", "elicitation/create", "Hello, Ada"},
		{vMar, "ask_model", "sampling/createMessage", "The model said word"},
		{vJun, "ask_model", "sampling/createMessage", "The model said word"},
		{vNov, "ask_model", "sampling/createMessage", "The model said word"},
		{vMar, "ask_roots", "roots/list", "roots: file:///home"},
		{vJun, "ask_roots", "roots/list", "roots: file:///home"},
		{vNov, "ask_roots", "roots/list", "roots: file:///home"},
	} {
		t.Run(c.version+"/"+c.tool, func(t *testing.T) {
			s := newSession(t, e.URL, c.version)
			stream := s.call(c.tool, "").want(http.StatusOK).events()
			s.answer(stream.awaitMethod(c.method), answers[c.method])
			if got := text(t, stream.message().result(t)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			stream.end()
		})
	}
}

// TestSeveralQuestions: asked at once, answered in any order; asked twice, answered twice; a duplicate
// answer and one that nobody waits for are taken and change nothing.
func TestSeveralQuestions(t *testing.T) {
	_, e := startFixture(t)
	s := newSession(t, e.URL, vNov)
	stream := s.call("ask_all", "").events()
	asked := []message{stream.message(), stream.message(), stream.message()}
	for _, i := range []int{2, 0} {
		s.answer(asked[i], answers[asked[i].Method])
	}
	s.answer(asked[0], `{"action":"decline"}`)
	s.post(`{"jsonrpc":"2.0","id":"nobody-asked","result":{}}`).want(http.StatusAccepted)
	s.answer(asked[1], answers[asked[1].Method])
	if got := text(t, stream.message().result(t)); got != "Ada word 1" {
		t.Errorf("got %q", got)
	}

	stream = s.call("two_steps", "").events()
	s.answer(stream.awaitMethod("elicitation/create"), `{"action":"accept","content":{"name":"Ada"}}`)
	s.answer(stream.awaitMethod("elicitation/create"), `{"action":"accept","content":{"name":"Lovelace"}}`)
	if got := text(t, stream.message().result(t)); got != "Ada Lovelace" {
		t.Errorf("got %q", got)
	}

	asking := s.request("prompts/get", `{"name":"ask_prompt"}`).events()
	s.answer(asking.awaitMethod("elicitation/create"), answers["elicitation/create"])
	if got := dig(asking.message().result(t), "messages", 0, "content", "text"); got != "I am Ada" {
		t.Errorf("the prompt is %v", got)
	}
	asking = s.request("resources/read", `{"uri":"test://asked"}`).events()
	s.answer(asking.awaitMethod("elicitation/create"), answers["elicitation/create"])
	if got := dig(asking.message().result(t), "contents", 0, "text"); got != "for Ada" {
		t.Errorf("the resource is %v", got)
	}
}

// TestRefusedQuestions: a client may refuse, by an action or an error, or be unable to be asked.
func TestRefusedQuestions(t *testing.T) {
	_, e := startFixture(t)
	s := newSession(t, e.URL, vNov)
	stream := s.call("ask_name", "").events()
	s.answer(stream.awaitMethod("elicitation/create"), `{"action":"decline"}`)
	if got := text(t, stream.message().result(t)); got != "no name: the user declined to answer" {
		t.Errorf("declined: %q", got)
	}
	refuse := func(m message) {
		t.Helper()
		s.post(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-1,"message":"rejected"}}`).want(http.StatusAccepted)
	}
	stream = s.call("ask_name", "").events()
	refuse(stream.awaitMethod("elicitation/create"))
	if got := text(t, stream.message().result(t)); got != "no name: the user dismissed the question" {
		t.Errorf("elicitation refused: %q", got)
	}
	stream = s.call("ask_model", "").events()
	refuse(stream.awaitMethod("sampling/createMessage"))
	if got := stream.message().result(t); got["isError"] != true {
		t.Errorf("sampling refused: %v", got)
	}
	for _, c := range []struct{ version, capabilities, tool string }{
		{vNov, `{}`, "ask_name"},
		{vNov, `{"elicitation":{}}`, "ask_url"},
		{vNov, `{"elicitation":{}}`, "ask_model"},
		{vJun, everything, "ask_url"},
		{vMar, everything, "ask_name"},
	} {
		if got := newSession(t, e.URL, c.version, c.capabilities).call(c.tool, "").result(); got["isError"] != true {
			t.Errorf("%s with %s calls %s: %v, want a tool error", c.version, c.capabilities, c.tool, got)
		}
	}
}

// TestURLElicitation: the URL carries an id, and its completion is told.
func TestURLElicitation(t *testing.T) {
	_, e := startFixture(t)
	s := newSession(t, e.URL, vNov)
	stream := s.call("ask_url", "").events()
	ask := stream.awaitMethod("elicitation/create")
	params := object(t, ask.Params)
	id, _ := params["elicitationId"].(string)
	if params["mode"] != "url" || params["url"] != "https://login.example/start" || id == "" {
		t.Fatalf("asked with %v", params)
	}
	s.answer(ask, `{"action":"accept"}`)
	if got := object(t, stream.awaitMethod("notifications/elicitation/complete").Params)["elicitationId"]; got != id {
		t.Errorf("completed %v, want %s", got, id)
	}
	if got := text(t, stream.message().result(t)); got != "url: accept" {
		t.Errorf("got %q", got)
	}
}

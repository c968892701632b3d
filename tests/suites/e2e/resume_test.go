package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
)

// quickStreams makes a call a stream almost at once, events or not.
func quickStreams(c *config.Config) { c.Calls.StreamAfter = 10 * time.Millisecond }

// TestPriming: streams begin with an id and no data where the revision has it, and only there.
func TestPriming(t *testing.T) {
	_, e := startFixture(t)
	for _, version := range stateful {
		s := newSession(t, e.URL, version)
		stream := s.callWithProgress("count", `{"to":1}`, "p").events()
		first, _ := stream.next()
		if primed := first.ID != "" && first.Data == ""; primed != (version == vNov) {
			t.Errorf("%s begins with %+v", version, first)
		}
		for {
			ev, ok := stream.next()
			if !ok {
				break
			}
			if ev.ID == "" {
				t.Errorf("%s: an event without an id: %+v", version, ev)
			}
		}
	}
}

// TestResume: a client that lost its connection gets the rest of that stream, once and in order,
// whichever event it comes back with; the call runs on meanwhile.
func TestResume(t *testing.T) {
	f, e := startFixture(t)
	for _, version := range stateful {
		t.Run(version, func(t *testing.T) {
			s := newSession(t, e.URL, version)
			first := s.callWithProgress("gate", `{"name":"`+version+`"}`, "p").events()
			other := s.callWithProgress("count", `{"to":3}`, "q").events() // must not be seen below
			<-f.started
			first.awaitMethod("notifications/progress")
			id := first.lastID
			first.close()
			close(f.gate(version))
			if err := <-f.ended; err != nil {
				t.Errorf("the client's leaving cancelled the call: %v", err)
			}
			for range 2 { // a stream can be resumed from the same event again
				rest := s.get(id).want(http.StatusOK).events()
				p := object(t, rest.awaitMethod("notifications/progress").Params)
				if p["progressToken"] != "p" || p["progress"] != float64(2) {
					t.Errorf("progress: %v", p)
				}
				m := rest.message()
				if string(m.ID) != "2" || text(t, m.result(t)) != "passed "+version {
					t.Errorf("response: %s", m.raw)
				}
				rest.end()
			}
			for range 3 {
				other.awaitMethod("notifications/progress")
			}
			other.message()
			other.end()
		})
	}
}

// TestResumeByPriming: the priming event alone is enough to come back with.
func TestResumeByPriming(t *testing.T) {
	f, e := startFixture(t, quickStreams)
	s := newSession(t, e.URL, vNov)
	stream := s.call("gate", `{"name":"primed"}`).events()
	first, _ := stream.next()
	if first.ID == "" || first.Data != "" {
		t.Fatalf("want a priming event: %+v", first)
	}
	stream.close()
	<-f.started
	rest := s.get(first.ID).events()
	close(f.gate("primed"))
	if got := text(t, rest.message().result(t)); got != "passed primed" {
		t.Errorf("got %q", got)
	}
}

// TestResumeWhileAsked: a question outlives the connection it was asked on.
func TestResumeWhileAsked(t *testing.T) {
	_, e := startFixture(t)
	s := newSession(t, e.URL, vNov)
	stream := s.call("ask_name", "").events()
	first, _ := stream.next()
	ask := stream.awaitMethod("elicitation/create")
	stream.close()
	s.answer(ask, answers["elicitation/create"])
	rest := s.get(first.ID).events()
	if again := rest.awaitMethod("elicitation/create"); string(again.ID) != string(ask.ID) {
		t.Errorf("asked under %s, then replayed under %s", ask.ID, again.ID)
	}
	if got := text(t, rest.message().result(t)); got != "Hello, Ada" {
		t.Errorf("got %q", got)
	}
	rest.end()
}

// TestForeignStream: another session's stream is not there, whatever id is shown.
func TestForeignStream(t *testing.T) {
	_, e := startFixture(t)
	mine, theirs := newSession(t, e.URL, vNov), newSession(t, e.URL, vNov)
	stream := mine.callWithProgress("count", `{"to":1}`, "p").events()
	first, _ := stream.next()
	theirs.get(first.ID).want(http.StatusBadRequest).json().wantError(t, -32600)
}

// TestNothingIsLeftToResume: a client that resumes the stream of a call whose response it has gets 405, which clients take to mean that there
// is none, and opens no standalone stream in its place.
func TestNothingIsLeftToResume(t *testing.T) {
	_, e := startFixture(t)
	for _, version := range stateful {
		s := newSession(t, e.URL, version)
		stream := s.callWithProgress("count", `{"to":2}`, "p").want(http.StatusOK).events()
		stream.awaitMethod("notifications/progress")
		first := stream.lastID
		stream.response().result(t)
		s.get(stream.lastID).want(http.StatusMethodNotAllowed).json().wantError(t, -32600)
		s.get(first).want(http.StatusOK).events().response().result(t)
		open := s.get("").want(http.StatusOK).events()
		open.close()
	}
}

package streamable

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

const (
	progressMessage = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	question        = `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}`
	response        = `{"jsonrpc":"2.0","id":1,"result":{}}`
	other           = `{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}`
)

// streamed opens a stream and sends messages on it, the last one with the end; an empty one is a priming event.
func streamed(messages ...string) func(context.Context, *mcp.Incoming, mcp.Outgoing) {
	return func(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) {
		st, err := out.Open()
		if err != nil {
			return
		}
		for i, m := range messages {
			_ = st.Send(mcp.StreamEvent{ID: "e", Data: []byte(m), More: i == len(messages)-1})
			_ = st.KeepAlive()
		}
	}
}

// A client gets what it accepts where that can be: JSON alone never gets a stream where JSON can answer, events alone get one.
func TestAccept(t *testing.T) {
	responded := func(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) {
		out.Respond(mcp.Response{Body: []byte(response)})
	}
	refused := func(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) {
		out.Respond(mcp.Response{Body: []byte(other), Kind: mcp.KindInvalidRequest})
	}
	const events = "event: message\nid: e\ndata: "
	for name, c := range map[string]struct {
		accept, body string
		post         func(context.Context, *mcp.Incoming, mcp.Outgoing)
		status       int
		kind, want   string
	}{
		"both, JSON":               {"application/json, text/event-stream", "{}", responded, 200, "application/json", response},
		"both, a stream":           {"application/json, text/event-stream", "{}", streamed(response), 200, "text/event-stream", events + response + "\n\n"},
		"JSON, JSON":               {"application/json", "{}", responded, 200, "application/json", response},
		"JSON, a stream":           {"application/json", "{}", streamed("", progressMessage, response), 200, "application/json", response},
		"no events, a stream":      {"*/*, text/event-stream;q=0", "{}", streamed(progressMessage, response), 200, "application/json", response},
		"JSON, a batch":            {"application/json", "[{}]", streamed(progressMessage, response, other), 200, "application/json", "[" + response + "," + other + "]"},
		"JSON, a batch of one":     {"application/json", " [{}]", streamed(response), 200, "application/json", "[" + response + "]"},
		"JSON, a question":         {"application/json", "{}", streamed(progressMessage, question, response), 200, "text/event-stream", events + question + "\n\n:\n\n" + events + response + "\n\n"},
		"JSON, nothing":            {"application/json", "{}", streamed(""), 502, "application/json", ""},
		"events, JSON":             {"text/event-stream", "{}", responded, 200, "text/event-stream", "event: message\ndata: " + response + "\n\n"},
		"events, a stream":         {"text/event-stream", "{}", streamed(response), 200, "text/event-stream", events + response + "\n\n"},
		"events, a refusal":        {"text/event-stream", "{}", refused, 400, "application/json", other},
		"events, an error of 2026": {"text/event-stream", "{}", streamed(other), 200, "text/event-stream", events + other + "\n\n"},
		"neither":                  {"application/json;q=0, text/event-stream;q=0", "{}", responded, 406, "application/json", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c.post, Options{})
			resp, body := do(t, http.MethodPost, s.URL, c.body, map[string]string{"Accept": c.accept})
			body = strings.TrimSuffix(body, ":\n\n") // a sign of life behind the end is none of the test's
			if resp.StatusCode != c.status || resp.Header.Get("Content-Type") != c.kind || c.want != "" && body != c.want {
				t.Errorf("status %d, type %s, body %q; want %d, %s, %q", resp.StatusCode, resp.Header.Get("Content-Type"), body, c.status, c.kind, c.want)
			}
		})
	}
}

// A stream that was asked for begins with a comment, and its messages have a name.
func TestListenBegins(t *testing.T) {
	s := serve(t, echo, Options{})
	_, body := do(t, http.MethodGet, s.URL, "", map[string]string{"Accept": "text/event-stream", "Mcp-Session-Id": "s"})
	if want := ":\n\nevent: message\nid: after-\ndata: {\"session\":\"s\"}\n\n"; body != want {
		t.Errorf("%q, want %q", body, want)
	}
}

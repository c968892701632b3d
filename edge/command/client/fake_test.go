package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// sessionOfFake is the session id of every fake.
const sessionOfFake = "FAKESESSIONID234567"

// fake is an MCP server of 2025-11-25 with one tool.
type fake struct {
	// annotations are the annotations of the tool as JSON. Empty means that tools/list is not
	// served.
	annotations string
	// call serves tools/call with an id. resume serves the GETs that resume its stream; n is the
	// number of the GET, from 1.
	call   func(w http.ResponseWriter, r *http.Request, id string)
	resume func(w http.ResponseWriter, r *http.Request, n int)

	mu      sync.Mutex
	resumed []string // Last-Event-ID of each GET
}

func (f *fake) serve(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL + "/mcp"
}

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		f.mu.Lock()
		f.resumed = append(f.resumed, r.Header.Get("Last-Event-ID"))
		n := len(f.resumed)
		f.mu.Unlock()
		f.resume(w, r, n)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &m)
	result := ""
	switch {
	case m.Method == "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`
	case m.Method == "tools/list" && f.annotations != "":
		result = `{"tools":[{"name":"other","inputSchema":{"type":"object"}},{"name":"work","inputSchema":{"type":"object"},"annotations":` + f.annotations + `}]}`
	case m.Method == "tools/call":
		f.call(w, r, string(m.ID))
		return
	case m.Method == "notifications/initialized", m.Method == "notifications/cancelled":
		w.WriteHeader(http.StatusAccepted)
		return
	default:
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Mcp-Session-Id", sessionOfFake)
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// events responds with a stream of this text, and ends the stream.
func events(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
}

// response returns an event with the result of a call.
func response(id, text string) string {
	return fmt.Sprintf("id: 9\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":%q}]}}\n\n", id, text)
}

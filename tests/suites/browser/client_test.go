package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// object is a JSON object.
type object = map[string]any

const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

var client = http.Client{Timeout: time.Minute}

// post sends one message and returns the response; its body is the caller's to close.
func post(t *testing.T, e edge, message object, headers map[string]string) *http.Response {
	t.Helper()
	body, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, e.endpoint, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// messages reads those of a response, JSON or a stream, until one has the id.
func messages(t *testing.T, body io.Reader, id float64, each func(object)) object {
	t.Helper()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimPrefix(lines.Text(), "data: ")
		var m object
		if json.Unmarshal([]byte(line), &m) != nil {
			continue
		}
		if m["id"] == id {
			return m
		}
		each(m)
	}
	t.Fatalf("the response ended without an answer to %v: %v", id, lines.Err())
	return nil
}

// request makes one request of the revision without sessions.
func request(t *testing.T, e edge, method string, params, meta object) object {
	t.Helper()
	full := object{
		"io.modelcontextprotocol/protocolVersion":    modern,
		"io.modelcontextprotocol/clientCapabilities": object{"elicitation": object{"form": object{}}},
		"io.modelcontextprotocol/clientInfo":         object{"name": "trip-planner", "version": "1"},
	}
	for k, v := range meta {
		full[k] = v
	}
	all := object{"_meta": full}
	for k, v := range params {
		all[k] = v
	}
	headers := map[string]string{"MCP-Protocol-Version": modern, "Mcp-Method": method}
	if name, ok := params["name"].(string); ok {
		headers["Mcp-Name"] = name
	} else if uri, ok := params["uri"].(string); ok {
		headers["Mcp-Name"] = uri
	} else if id, ok := params["taskId"].(string); ok {
		headers["Mcp-Name"] = id
	}
	resp := post(t, e, object{"jsonrpc": "2.0", "id": 1, "method": method, "params": all}, headers)
	defer resp.Body.Close()
	return messages(t, resp.Body, 1, func(object) {})
}

func callTool(t *testing.T, e edge, name string, arguments object) object {
	t.Helper()
	return request(t, e, "tools/call", object{"name": name, "arguments": arguments}, object{"progressToken": "p"})
}

// forms are the answers to what book_trip asks.
var forms = []object{{"seat": "window", "room": "double", "insurance": true}, {"confirm": true}}

// bookTrip makes a call that asks its user twice, without a session.
func bookTrip(t *testing.T, e edge, think time.Duration) {
	t.Helper()
	params := object{"name": "book_trip", "arguments": object{"destination": "Lisbon", "nights": 3}}
	answer := request(t, e, "tools/call", params, nil)
	for _, form := range forms {
		result := answer["result"].(object)
		answers := object{}
		for key := range result["inputRequests"].(object) {
			answers[key] = object{"action": "accept", "content": form}
		}
		time.Sleep(think) // what the user does
		params["inputResponses"], params["requestState"] = answers, result["requestState"]
		answer = request(t, e, "tools/call", params, nil)
	}
	if text, _ := json.Marshal(answer); !bytes.Contains(text, []byte("Booked 3 nights in Lisbon")) {
		t.Fatalf("the trip was not booked: %s", text)
	}
}

// session is a client of the revisions with sessions.
type session struct {
	edge    edge
	headers map[string]string
}

func openSession(t *testing.T, e edge) session {
	t.Helper()
	resp := post(t, e, object{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": object{
		"protocolVersion": legacy, "capabilities": object{"elicitation": object{}},
		"clientInfo": object{"name": "desk-assistant", "version": "1"},
	}}, nil)
	defer resp.Body.Close()
	messages(t, resp.Body, 1, func(object) {})
	s := session{e, map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id"), "MCP-Protocol-Version": legacy}}
	s.tell(t, object{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return s
}

// tell sends what has no answer.
func (s session) tell(t *testing.T, message object) {
	t.Helper()
	resp := post(t, s.edge, message, s.headers)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		t.Fatalf("%v: status %s", message, resp.Status)
	}
}

// bookTrip makes a call that asks its user twice on the call's stream.
func (s session) bookTrip(t *testing.T, think time.Duration) {
	t.Helper()
	resp := post(t, s.edge, object{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": object{
		"name": "book_trip", "arguments": object{"destination": "Tokyo", "nights": 7},
	}}, s.headers)
	defer resp.Body.Close()
	asked := 0
	messages(t, resp.Body, 2, func(m object) {
		if m["method"] != "elicitation/create" {
			return
		}
		time.Sleep(think) // what the user does
		s.tell(t, object{"jsonrpc": "2.0", "id": m["id"], "result": object{"action": "accept", "content": forms[asked]}})
		asked++
	})
	if asked != len(forms) {
		t.Fatalf("the user was asked %d times, want %d", asked, len(forms))
	}
}

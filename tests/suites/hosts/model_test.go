//go:build hosts

package hosts

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// step is a call of a tool that the scripted model makes.
type step struct {
	// tool is the end of its name in the host, which adds a prefix.
	tool string
	args map[string]any
}

// model is a language model that follows a script: its first answer calls the tool of the first step, the next, with that result, that of the
// second. It knows the APIs of Anthropic, OpenAI (chat and responses) and Gemini. It is safe for concurrent use.
type model struct {
	url    string
	script []step

	mu sync.Mutex
	// results are those of the script's steps so far, as the host sent them.
	results []string
}

// startModel starts a model, which ends with the test.
func startModel(t *testing.T, script ...step) *model {
	t.Helper()
	m := &model{script: script}
	s := httptest.NewServer(m)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	m.url = s.URL
	return m
}

// said returns the results of the script's steps.
func (m *model) said() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.results...)
}

// turn is what a host sends to its model.
type turn struct {
	// tools are the names of the tools; some hosts group them, then the value is the group.
	tools map[string]string
	// results are those of all calls in the conversation.
	results []string
	stream  bool
}

// move is the answer: a call of a tool, or a text.
type move struct {
	number      int
	tool, group string
	args        map[string]any
	text        string
}

// next returns the answer to a turn.
func (m *model) next(t turn) move {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(t.results)
	if n > len(m.results) {
		m.results = t.results
	}
	if n >= len(m.script) {
		return move{text: "FINISHED"}
	}
	want := m.script[n]
	var found string
	for name := range t.tools {
		if strings.HasSuffix(name, want.tool) && (found == "" || len(name) < len(found)) {
			found = name
		}
	}
	if found == "" { // also the side questions of hosts, such as for a title
		return move{text: "no tool " + want.tool}
	}
	return move{number: n, tool: found, group: t.tools[found], args: want.args}
}

// dialect is an API of models.
type dialect struct {
	// path is a part of its path.
	path   string
	read   func(body []byte) (turn, error)
	answer func(w http.ResponseWriter, m move, stream bool)
}

var dialects = []dialect{
	{"/messages", readAnthropic, answerAnthropic},
	{"/chat/completions", readChat, answerChat},
	{"/responses", readResponses, answerResponses},
	{":streamGenerateContent", readGemini, answerGemini},
	{":generateContent", readGemini, answerGemini},
}

// ServeHTTP implements http.Handler.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/count_tokens") || strings.Contains(r.URL.Path, ":countTokens") {
		writeJSON(w, object{"input_tokens": 10, "totalTokens": 10})
		return
	}
	for _, d := range dialects {
		if r.Method != http.MethodPost || !strings.Contains(r.URL.Path, d.path) {
			continue
		}
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unzipped, err := gzip.NewReader(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			body = unzipped
		}
		raw, err := io.ReadAll(body)
		if err != nil {
			return
		}
		t, err := d.read(raw)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		d.answer(w, m.next(t), t.stream || strings.Contains(r.URL.Path, ":stream"))
		return
	}
	if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "models") {
		writeJSON(w, object{"object": "list", "data": []object{{"id": "mock", "object": "model"}}})
		return
	}
	http.NotFound(w, r)
}

// object is a JSON object.
type object map[string]any

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// writeEvents writes server-sent events, with their type as the name where they have one.
func writeEvents(w http.ResponseWriter, events ...object) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if name, isText := e["type"].(string); isText {
			_, _ = io.WriteString(w, "event: "+name+"\n")
		}
		_, _ = io.WriteString(w, "data: "+encoded(e)+"\n\n")
	}
}

func encoded(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

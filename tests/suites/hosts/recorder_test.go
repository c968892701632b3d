//go:build hosts

package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// request is what of a request of a host decides a cell.
type request struct {
	// at is when it came, and took how long until its response had ended.
	at   time.Time
	took time.Duration
	// method is that of MCP, "answer" for an answer to the server's question, or that of HTTP if there is no body.
	method string
	// name is that of the tool or prompt, or the URI of the resource; revision that of MCP.
	name, revision string
	// resumes is the id of the last event that the client has seen of a stream that it resumes.
	resumes string
	// wantsProgress is true if it has a progress token, asks if the client declares elicitation.
	wantsProgress, asks bool
	// action is that of an answer.
	action string
	status int
	// parts is the number of parts of the body of the response that were sent.
	parts int
}

// recorder stands between one host and a fleet. It is safe for concurrent use.
type recorder struct {
	url string

	mu   sync.Mutex
	sent []*request
}

// record starts a recorder, which ends with the test.
func record(t *testing.T, f *fleet) *recorder {
	t.Helper()
	to, err := url.Parse(strings.TrimSuffix(f.proxy.URL, "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
		},
	}
	rec := &recorder{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		now := parseRequest(r, body)
		rec.mu.Lock()
		rec.sent = append(rec.sent, now)
		rec.mu.Unlock()
		seen := &observer{ResponseWriter: w, recorder: rec, request: now}
		defer func() {
			rec.mu.Lock()
			defer rec.mu.Unlock()
			now.took = time.Since(now.at)
		}()
		pass.ServeHTTP(seen, r)
	}))
	s.Config.ErrorLog = pass.ErrorLog
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	rec.url = s.URL + "/mcp"
	return rec
}

// observer notes the status and the parts of the body of a response.
type observer struct {
	http.ResponseWriter
	*recorder
	*request
}

func (w *observer) WriteHeader(status int) {
	w.mu.Lock()
	w.status = status
	w.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
}

func (w *observer) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	err = errors.Join(err, http.NewResponseController(w.ResponseWriter).Flush())
	w.mu.Lock()
	w.parts++
	w.mu.Unlock()
	return n, err
}

// Unwrap lets http.ResponseController flush.
func (w *observer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func parseRequest(r *http.Request, body []byte) *request {
	var m struct {
		Method string
		Params struct {
			Name, URI, ProtocolVersion string
			Capabilities               struct{ Elicitation json.RawMessage }
			InputResponses             map[string]struct{ Action string }
			Meta                       map[string]json.RawMessage `json:"_meta"`
		}
		Result struct{ Action string }
	}
	_ = json.Unmarshal(body, &m) // a body that is none is recorded without a method
	p := m.Params
	now := &request{at: time.Now(), method: m.Method, name: p.Name + p.URI, revision: r.Header.Get("Mcp-Protocol-Version"), resumes: r.Header.Get("Last-Event-ID")}
	switch {
	case r.Method != http.MethodPost:
		now.method = r.Method
	case now.method == "initialize":
		now.revision = p.ProtocolVersion
	case now.method == "" && m.Result.Action != "":
		now.method, now.action = "answer", m.Result.Action
	}
	for _, answer := range p.InputResponses {
		now.action = answer.Action
	}
	_, now.wantsProgress = p.Meta["progressToken"]
	declared := string(p.Meta["io.modelcontextprotocol/clientCapabilities"])
	now.asks = p.Capabilities.Elicitation != nil || strings.Contains(declared, `"elicitation"`)
	return now
}

// requests returns what was sent so far.
func (rec *recorder) requests() []request {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	var all []request
	for _, r := range rec.sent {
		all = append(all, *r)
	}
	return all
}

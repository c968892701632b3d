package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// caller sends requests to one endpoint over connections of its own, and notes the exchanges in a
// transcript, if it has one.
type caller struct {
	url    string
	http   *http.Client
	record *transcript
}

func newCaller(t *testing.T, url string) *caller {
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &caller{url: url, http: &http.Client{Transport: transport}}
}

// reply is the answer to one HTTP request: a body, or a stream that is still open.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
	stream *stream
	// last: the server closes the connection behind this reply.
	last bool
}

// send makes one HTTP request. Headers come as name and value in turn; an empty value leaves out a
// header that would be sent by default.
func (c *caller) send(t *testing.T, method, body string, headers ...string) *reply {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	switch method {
	case http.MethodPost:
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	case http.MethodGet:
		req.Header.Set("Accept", "text/event-stream")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		name, value := headers[i], headers[i+1]
		switch {
		case name == "Host":
			req.Host = value
		case value == "":
			req.Header.Del(name)
		default:
			req.Header[http.CanonicalHeaderKey(name)] = append(clearDefault(req.Header, name, headers[:i]), value)
		}
	}
	c.record.request(req, body)
	timer := time.AfterFunc(patience, cancel)
	resp, err := c.http.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	timer.Stop()
	r := &reply{t: t, status: resp.StatusCode, header: resp.Header, last: resp.Close}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		c.record.response(r)
		r.stream = newStream(t, resp.Body, cancel, c.record)
		return r
	}
	defer cancel()
	defer resp.Body.Close()
	if r.body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatalf("reading the body: %v", err)
	}
	c.record.response(r)
	return r
}

// clearDefault returns the values that the same call set for a header before; defaults do not count.
func clearDefault(h http.Header, name string, before []string) []string {
	for i := 0; i+1 < len(before); i += 2 {
		if strings.EqualFold(before[i], name) {
			return h[http.CanonicalHeaderKey(name)]
		}
	}
	return nil
}

// message is a JSON-RPC message, as loosely as a test wants to see it.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	raw []byte
}

func parse(t *testing.T, raw []byte) message {
	t.Helper()
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("no JSON-RPC message: %v\n%s", err, raw)
	}
	if m.Version != "2.0" {
		t.Fatalf("no JSON-RPC 2.0: %s", raw)
	}
	m.raw = raw
	return m
}

// want checks the status.
func (r *reply) want(status int) *reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	return r
}

// json is the one message of a reply that is no stream.
func (r *reply) json() message {
	r.t.Helper()
	if r.stream != nil {
		r.t.Fatal("a stream, want a JSON body")
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		r.t.Fatalf("status %d with content type %q, want a JSON body: %s", r.status, got, r.body)
	}
	return parse(r.t, r.body)
}

// events is the reply's stream.
func (r *reply) events() *stream {
	r.t.Helper()
	if r.stream == nil {
		r.t.Fatalf("status %d and no stream: %s", r.status, r.body)
	}
	return r.stream
}

// final is the response, whichever way it comes; what comes before it on a stream is passed over.
func (r *reply) final() message {
	r.t.Helper()
	if r.stream == nil {
		return r.json()
	}
	for {
		if m := r.stream.message(); m.Method == "" {
			return m
		}
	}
}

// result is the result of the response, decoded.
func (r *reply) result() map[string]any {
	r.t.Helper()
	return r.final().result(r.t)
}

func (m message) result(t *testing.T) map[string]any {
	t.Helper()
	if m.Error != nil || m.Result == nil {
		t.Fatalf("want a result: %s", m.raw)
	}
	return object(t, m.Result)
}

// text is the text of the first content block of a tool's result.
func (r *reply) text() string {
	r.t.Helper()
	return text(r.t, r.result())
}

func text(t *testing.T, result map[string]any) string {
	t.Helper()
	content, _ := result["content"].([]any)
	if len(content) == 0 {
		t.Fatalf("no content: %v", result)
	}
	block, _ := content[0].(map[string]any)
	s, _ := block["text"].(string)
	return s
}

func object(t *testing.T, raw json.RawMessage) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatalf("no object: %v: %s", err, raw)
	}
	return o
}

// dig follows a path of member names and indices into decoded JSON; nil when it leads nowhere.
func dig(v any, path ...any) any {
	for _, p := range path {
		switch k := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			a, _ := v.([]any)
			if k >= len(a) {
				return nil
			}
			v = a[k]
		}
	}
	return v
}

// wantError checks an error response's code; 0 stands for any.
func (m message) wantError(t *testing.T, code int) message {
	t.Helper()
	if m.Error == nil || m.Error.Code != code {
		t.Fatalf("want error %d: %s", code, m.raw)
	}
	if m.Error.Message == "" {
		t.Fatalf("an error without a message: %s", m.raw)
	}
	return m
}

// event is one event of a stream; Comment is set for a comment instead.
type event struct {
	ID, Retry, Data string
	HasData         bool
	Comment         bool
}

// stream reads the events of one response in a goroutine of its own.
type stream struct {
	t      *testing.T
	events chan event // closed at the stream's end
	cancel context.CancelFunc
	record *transcript
	lastID string
}

func newStream(t *testing.T, body io.ReadCloser, cancel context.CancelFunc, record *transcript) *stream {
	s := &stream{t: t, events: make(chan event, 1024), cancel: cancel, record: record}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(s.events)
		defer body.Close()
		readEvents(body, func(ev event) { s.events <- ev })
	}()
	t.Cleanup(func() {
		cancel()
		for range s.events { // lets the reader end
		}
		<-done
	})
	return s
}

func readEvents(r io.Reader, emit func(event)) {
	lines := bufio.NewReader(r)
	var ev event
	any := false
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case len(line) == 0:
			if any {
				emit(ev)
			}
			ev, any = event{}, false
			continue
		case name == "":
			emit(event{Comment: true})
			continue
		case name == "id":
			ev.ID = value
		case name == "retry":
			ev.Retry = value
		case name == "data":
			if ev.HasData {
				value = ev.Data + "\n" + value
			}
			ev.Data, ev.HasData = value, true
		}
		any = true
	}
}

// next is the next event that is no comment; false at the stream's end.
func (s *stream) next() (event, bool) {
	s.t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		select {
		case ev, ok := <-s.events:
			if ok && ev.Comment {
				continue
			}
			if ok && ev.ID != "" {
				s.lastID = ev.ID
			}
			s.record.event(ev, ok)
			return ev, ok
		case <-timeout.C:
			s.t.Fatal("no event in time")
		}
	}
}

// message is the next message; events without one (priming, retry) are passed over.
func (s *stream) message() message {
	s.t.Helper()
	for {
		ev, ok := s.next()
		if !ok {
			s.t.Fatal("the stream ended, a message is due")
		}
		if ev.Data != "" {
			return parse(s.t, []byte(ev.Data))
		}
	}
}

// awaitMethod is the next message of a method; others of the stream are passed over.
func (s *stream) awaitMethod(method string) message {
	s.t.Helper()
	for {
		m := s.message()
		if m.Method == method {
			return m
		}
		if m.Method == "" {
			s.t.Fatalf("a response, want %s: %s", method, m.raw)
		}
	}
}

// awaitError is the response, which must be an error; notifications before it are passed over.
func (s *stream) awaitError(code int) message {
	s.t.Helper()
	m := s.message()
	for ; m.Method != ""; m = s.message() {
	}
	return m.wantError(s.t, code)
}

// end waits for the end of the stream; a message before it is a failure.
func (s *stream) end() {
	s.t.Helper()
	for {
		ev, ok := s.next()
		if !ok {
			return
		}
		if ev.Data != "" {
			s.t.Fatalf("want the end of the stream: %s", ev.Data)
		}
	}
}

// close ends the request as a client that leaves does.
func (s *stream) close() { s.cancel() }

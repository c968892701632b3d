package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// operator is a client of the admin address.
type operator struct {
	t    *testing.T
	addr string
	http *http.Client
}

func newOperator(t *testing.T, e *harness.Edge) *operator {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &operator{t: t, addr: e.Admin, http: &http.Client{Transport: transport}}
}

// startAdmin runs a fixture, an edge before it, and who operates that.
func startAdmin(t *testing.T, adjust ...func(*config.Config)) (*fixture, *harness.Edge, *operator) {
	t.Helper()
	f := newFixture()
	e := startEdge(t, only(startService(t, f.Server)), adjust...)
	return f, e, newOperator(t, e)
}

// told is what the admin address answered.
type told struct {
	t      *testing.T
	status int
	header http.Header
	text   string
	body   map[string]any // nil: no JSON object
}

// do sends a request; a POST is JSON. Headers come as name and value in turn, an empty value leaves one out.
func (o *operator) do(method, path, body string, headers ...string) *told {
	o.t.Helper()
	r, err := o.try(method, path, body, headers...)
	if err != nil {
		o.t.Fatal(err)
	}
	return r
}

func (o *operator) try(method, path, body string, headers ...string) (*told, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+o.addr+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := o.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	out := &told{t: o.t, status: resp.StatusCode, header: resp.Header, text: string(raw)}
	_ = json.Unmarshal(raw, &out.body)
	return out, err
}

func (o *operator) get(path string) *told { o.t.Helper(); return o.do(http.MethodGet, path, "") }

func (o *operator) post(path, body string) *told {
	o.t.Helper()
	return o.do(http.MethodPost, path, body)
}

// want checks the status.
func (r *told) want(status int) *told {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %.500s", r.status, status, r.text)
	}
	return r
}

// at walks into the answer by names and indexes.
func (r *told) at(path ...any) any {
	r.t.Helper()
	var v any = r.body
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			if l, _ := v.([]any); p < len(l) {
				v = l[p]
			} else {
				v = nil
			}
		}
	}
	return v
}

// has compares one place of the answer.
func (r *told) has(want any, path ...any) *told {
	r.t.Helper()
	if got := r.at(path...); got != want {
		r.t.Errorf("%v is %#v, want %#v in %.800s", path, got, want, r.text)
	}
	return r
}

// names pages through a list.
func (o *operator) names(path, list, key string) (out []string, pages int) {
	o.t.Helper()
	for token := "?"; token != ""; pages++ {
		r := o.get(path + token).want(http.StatusOK)
		entries, _ := r.at(list).([]any)
		for i := range entries {
			name, _ := r.at(list, i, key).(string)
			out = append(out, name)
		}
		next, _ := r.at("nextPageToken").(string)
		if token = ""; next != "" {
			token = "?pageToken=" + url.QueryEscape(next)
		}
	}
	return out, pages
}

func TestAdminCatalog(t *testing.T) {
	_, _, o := startAdmin(t, func(c *config.Config) { c.Lists.PageSize, c.Backends[0].Prefix = 4, "my/" })
	tools, pages := o.names("/v1/tools", "tools", "name")
	if pages < 3 || !slices.Contains(tools, "my/add") || !slices.Contains(tools, "my/ask_name") {
		t.Errorf("%d pages of tools: %v", pages, tools)
	}
	for path, c := range map[string][3]string{
		"/v1/resources":         {"resources", "uri", "test://note"},
		"/v1/resourceTemplates": {"resourceTemplates", "uriTemplate", "test://item/{id}"},
		"/v1/prompts":           {"prompts", "name", "my/greet"},
	} {
		if got, _ := o.names(path, c[0], c[1]); !slices.Contains(got, c[2]) {
			t.Errorf("%s: %v, want %s among them", path, got, c[2])
		}
	}
	for _, path := range []string{"/v1/tools/my/add", "/v1/tools/my%2Fadd"} {
		o.get(path).want(http.StatusOK).has("my/add", "tool", "name").has("object", "tool", "inputSchema", "type")
	}
	o.get("/v1/tools/my/nothing").want(http.StatusNotFound).has(5.0, "code")
	o.get("/v1/tools?pageToken=x").want(http.StatusBadRequest).has(3.0, "code").
		has("type.googleapis.com/mcpedge.admin.v1.ErrorDetail", "details", 0, "@type").has(-32602.0, "details", 0, "code")
}

// TestAdminBodiesOfManyValues: a body of many values is refused before it becomes a message of protobuf.
func TestAdminBodiesOfManyValues(t *testing.T) {
	_, _, o := startAdmin(t)
	r := o.post("/v1/tools/add:call", `{"arguments":{"a":[`+strings.Repeat("1,", 300_000)+`1]}}`)
	if text, _ := r.want(http.StatusBadRequest).body["message"].(string); !strings.Contains(text, "more than 200000 values") {
		t.Errorf("%v", r.body)
	}
}

func TestAdminCalls(t *testing.T) {
	_, _, o := startAdmin(t)
	o.post("/v1/tools/add:call", `{"arguments":{"a":2,"b":3}}`).want(http.StatusOK).
		has(5.0, "result", "structuredContent", "sum").has("complete", "result", "resultType")
	// Without a token nobody is told of progress, and messages are not wanted.
	o.post("/v1/tools/count:call", `{"arguments":{"to":3}}`).want(http.StatusOK).has("counted to 3", "result", "content", 0, "text")
	o.post("/v1/tools/region:call", `{"arguments":{"region":"eu"}}`).want(http.StatusOK).has("in eu", "result", "content", 0, "text")
	// What a model can act on is a result, as in MCP.
	o.post("/v1/tools/add:call", `{"arguments":{"a":2,"b":-3}}`).want(http.StatusOK).has(true, "result", "isError")
	o.post("/v1/tools/add:call", "").want(http.StatusOK).has(true, "result", "isError")
	o.post("/v1/tools/fail_argument:call", `{}`).want(http.StatusOK).has(true, "result", "isError")

	o.get("/v1/resources:read?uri=test%3A%2F%2Fnote").want(http.StatusOK).has("first", "result", "contents", 0, "text")
	o.get("/v1/resources:read?uri=test://bytes").want(http.StatusOK).has("AP8=", "result", "contents", 0, "blob")
	o.post("/v1/resources:read", `{"uri":"test://item/7"}`).want(http.StatusOK).has("item 7", "result", "contents", 0, "text")
	o.post("/v1/prompts/greet:get", `{"arguments":{"name":"Ada"}}`).want(http.StatusOK).
		has("Greet Ada", "result", "messages", 0, "content", "text")
}

func TestAdminErrors(t *testing.T) {
	_, _, o := startAdmin(t, func(c *config.Config) { c.Listen.Body = 1 << 20 })
	for path, status := range map[string]int{
		"/v1/tools/nothing:call":          http.StatusNotFound,
		"/v1/prompts/nothing:get":         http.StatusNotFound,
		"/v1/prompts/greet:get":           http.StatusBadRequest,
		"/v1/tools/fail_denied:call":      http.StatusForbidden,
		"/v1/tools/fail_exhausted:call":   http.StatusTooManyRequests,
		"/v1/tools/fail_unavailable:call": http.StatusServiceUnavailable,
		"/v1/tools/fail_internal:call":    http.StatusInternalServerError,
		"/v1/tools/add:nothing":           http.StatusMethodNotAllowed,
		"/v1/tools/add":                   http.StatusMethodNotAllowed,
		"/v1/nothing":                     http.StatusNotFound,
	} {
		r := o.post(path, `{}`).want(status)
		if message, _ := r.at("message").(string); message == "" || r.at("code") == nil || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s", path, r.text)
		}
		if again := r.header.Get("Retry-After"); (again != "") != (status == 429 || status == 503) {
			t.Errorf("%s: status %d with Retry-After %q", path, status, again)
		}
	}
	o.get("/v1/resources:read?uri=test://nothing").want(http.StatusNotFound).has("test://nothing", "details", 0, "data", "uri")
	o.post("/v1/tools/fail_denied:call", `{}`).has("not you", "message").has("fixture", "details", 0, "data", "backend")
	for name, body := range map[string]string{
		"no JSON": `{"arguments":`, "an array": `[]`, "an unknown member": `{"args":{}}`, "arguments of another type": `{"arguments":[1]}`,
	} {
		if r := o.post("/v1/tools/add:call", body); r.status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", name, r.status, r.text)
		}
	}
	o.post("/v1/tools/echo:call", `{"arguments":{"text":"`+strings.Repeat("x", 2<<20)+`"}}`).want(http.StatusRequestEntityTooLarge).has(11.0, "code")
}

// What a backend asks comes back, and another call brings the answers: as in MCP, with the same state.
func TestAdminRounds(t *testing.T) {
	_, _, o := startAdmin(t)
	first := o.post("/v1/tools/ask_all:call", `{"arguments":{}}`).want(http.StatusOK).
		has("name", "inputRequired", "requests", 0, "key").has("elicitation/create", "inputRequired", "requests", 0, "method").
		has("What is your name?", "inputRequired", "requests", 0, "params", "message").
		has("sampling/createMessage", "inputRequired", "requests", 1, "method").
		has("roots/list", "inputRequired", "requests", 2, "method")
	responses := map[string]json.RawMessage{}
	for i := range 3 {
		key, _ := first.at("inputRequired", "requests", i, "key").(string)
		method, _ := first.at("inputRequired", "requests", i, "method").(string)
		responses[key] = json.RawMessage(answers[method])
	}
	again := func(state any, arguments string) string {
		b, _ := json.Marshal(map[string]any{"arguments": json.RawMessage(arguments), "round": map[string]any{"state": state, "responses": responses}})
		return string(b)
	}
	state := first.at("inputRequired", "state")
	o.post("/v1/tools/ask_all:call", again(state, `{}`)).want(http.StatusOK).has("Ada word 1", "result", "content", 0, "text")
	o.post("/v1/tools/ask_all:call", again(state, `{"other":1}`)).want(http.StatusBadRequest).has(3.0, "code")
	o.post("/v1/tools/ask_all:call", again("forged", `{}`)).want(http.StatusBadRequest).has(3.0, "code")

	one := func(path, asked, key, want string, member ...any) {
		t.Helper()
		r := o.post(path, "{"+asked+"}").want(http.StatusOK).has(key, "inputRequired", "requests", 0, "key")
		state, _ := r.at("inputRequired", "state").(string)
		if asked != "" {
			asked += ","
		}
		o.post(path, fmt.Sprintf(`{%s"round":{"state":%q,"responses":{%q:%s}}}`, asked, state, key, answers["elicitation/create"])).
			want(http.StatusOK).has(want, member...)
	}
	one("/v1/prompts/ask_prompt:get", "", "name", "I am Ada", "result", "messages", 0, "content", "text")
	one("/v1/resources:read", `"uri":"test://asked"`, "name", "for Ada", "result", "contents", 0, "text")
	// Who says what it can be asked is asked nothing else.
	o.post("/v1/tools/ask_name:call", `{"clientCapabilities":{}}`).want(http.StatusBadRequest).has(9.0, "code").has(-32021.0, "details", 0, "code")
}

// What a replica and its backends are doing, while they do it.
func TestAdminStatusAndBackends(t *testing.T) {
	f, e, o := startAdmin(t, func(c *config.Config) { c.Server.Replica = "one" })
	s := newSession(t, e.URL, vNov)
	standalone := s.get("").want(http.StatusOK).events()
	call := newStateless(t, e.URL)
	call.progress = `"p"`
	running := call.call("gate", `{"name":"g"}`).events()
	<-f.started
	r := o.get("/v1/status").want(http.StatusOK).has("one", "replica").has(true, "ready").has("", "reason").
		has(false, "draining").has(1.0, "sessions").has(1.0, "streams").has(1.0, "calls")
	if uptime, _ := r.at("uptime").(string); !strings.HasSuffix(uptime, "s") || r.at("version") == "" || r.at("startTime") == nil {
		t.Errorf("status: %s", r.text)
	}
	o.get("/v1/backends").want(http.StatusOK).has("fixture", "backends", 0, "name").has("ready", "backends", 0, "state").
		has(true, "backends", 0, "present").has(1.0, "backends", 0, "resourceTemplates").has(1.0, "backends", 0, "calls")
	close(f.gate("g"))
	running.awaitMethod("notifications/progress")
	<-f.ended
	s.delete()
	standalone.end()
}

// Whoever leaves cancels the call, as in MCP.
func TestAdminDisconnectCancels(t *testing.T) {
	f, e, _ := startAdmin(t)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+e.Admin+"/v1/tools/gate:call", strings.NewReader(`{"arguments":{"name":"g"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if _, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil {
			t.Error("the call was answered")
		}
	}()
	<-f.started
	leave()
	<-gone
	if err := <-f.ended; err == nil {
		t.Error("the backend's call was not cancelled")
	}
}

// A drain by REST is that of SIGTERM: what runs gets its answer, here and there, and the process leaves.
func TestAdminDrain(t *testing.T) {
	f, e, o := startAdmin(t)
	call := newStateless(t, e.URL)
	call.progress = `"p"`
	stream := call.call("gate", `{"name":"mcp"}`).events()
	rest := make(chan *told, 1)
	go func() {
		r, err := o.try(http.MethodPost, "/v1/tools/gate:call", `{"arguments":{"name":"rest"}}`)
		if err != nil {
			t.Error(err)
		}
		rest <- r
	}()
	<-f.started
	<-f.started
	stream.awaitMethod("notifications/progress")
	for range 2 {
		o.post("/v1/drain", `{}`).want(http.StatusOK)
	}
	await.Until(t, "unready", func() bool { return o.get("/readyz").status == http.StatusServiceUnavailable })
	o.get("/v1/status").want(http.StatusOK).has(true, "draining").has(false, "ready").has("draining", "reason")
	close(f.gate("mcp"))
	stream.awaitMethod("notifications/progress")
	if got := text(t, stream.message().result(t)); got != "passed mcp" {
		t.Errorf("the call by MCP: %q", got)
	}
	close(f.gate("rest"))
	if r := <-rest; r != nil {
		r.want(http.StatusOK).has("passed rest", "result", "content", 0, "text")
	}
	e.AwaitEnd(t)
}

// An idle edge leaves at once, and still answers who told it to.
func TestAdminDrainOfAnIdleEdge(t *testing.T) {
	_, e, o := startAdmin(t)
	o.post("/v1/drain", `{}`).want(http.StatusOK)
	e.AwaitEnd(t)
}

// subset says where want is not in got: objects may have more members in got.
func subset(path string, want, got any) error {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is %v, no object", path, got)
		}
		for k, v := range w {
			if err := subset(path+"."+k, v, g[k]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) < len(w) {
			return fmt.Errorf("%s has not %d elements: %v", path, len(w), got)
		}
		for i, v := range w {
			if err := subset(fmt.Sprintf("%s[%d]", path, i), v, g[i]); err != nil {
				return err
			}
		}
		return nil
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(got)
	if !bytes.Equal(a, b) {
		return fmt.Errorf("%s is %s, want %s", path, b, a)
	}
	return nil
}

// TestAdminIndex: the root of the admin address lists what is there, as text and, to browsers, as links, and lists nothing else.
func TestAdminIndex(t *testing.T) {
	_, _, o := startAdmin(t, func(c *config.Config) { c.Admin.Pprof = false })
	text := o.do("GET", "/", "").text
	page := o.do("GET", "/", "", "Accept", "text/html,*/*;q=0.8")
	if kind := page.header.Get("Content-Type"); kind != "text/html; charset=utf-8" {
		t.Errorf("a browser gets %s", kind)
	}
	paths := 0
	for line := range strings.Lines(text) {
		path, what, _ := strings.Cut(line, " ")
		if strings.TrimSpace(what) == "" {
			t.Errorf("%q says nothing", line)
		}
		if r := o.do("GET", path, ""); r.status != 200 {
			t.Errorf("%s is listed and answers %d", path, r.status)
		}
		if !strings.Contains(page.text, `<a href="`+path+`">`) {
			t.Errorf("the page has no link to %s", path)
		}
		paths++
	}
	if n := strings.Count(page.text, "<a "); paths < 8 || n != paths {
		t.Errorf("the text has %d paths, the page %d links", paths, n)
	}
	for _, list := range []string{"status", "backends", "tools", "prompts", "resources", "resourceTemplates", "skills", "sessions", "tasks"} {
		if !strings.Contains(text, "/v1/"+list+" ") {
			t.Errorf("/v1/%s is not listed:\n%s", list, text)
		}
	}
	if strings.Contains(text, "pprof") {
		t.Errorf("profiles are listed, and not served:\n%s", text)
	}
	if r := o.do("POST", "/", "{}"); r.status != 405 {
		t.Errorf("a POST gets %d", r.status)
	}
}

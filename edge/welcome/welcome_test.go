package welcome

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/transport/web"
)

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func get(t *testing.T, method, accept string, header map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	h := New(Options{Title: "Desk <1>", Path: "/mcp", SSE: "/sse", Web: web.Options{Hosts: []string{"localhost"}}})
	r := httptest.NewRequest(method, "http://localhost:8080/", nil)
	r.Header.Set("Accept", accept)
	for k, v := range header {
		if k == "Host" {
			r.Host = v
		}
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestBrowserGetsAPage(t *testing.T) {
	w := get(t, "GET", browser, nil)
	body := w.Body.String()
	for _, want := range []string{"Desk &lt;1&gt;", "Model Context Protocol", "http://localhost:8080/mcp", "http://localhost:8080/sse", "mcpServers"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") ||
		!strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'") || w.Header().Get("Vary") != "Accept" {
		t.Errorf("status %d, headers %v", w.Code, w.Header())
	}
	for _, foreign := range []string{"<script", "src=", "<link", "@import"} {
		if strings.Contains(body, foreign) {
			t.Errorf("the page has %q", foreign)
		}
	}
	if w := get(t, "GET", browser, map[string]string{"X-Forwarded-Proto": "https"}); !strings.Contains(w.Body.String(), "https://localhost:8080/mcp") {
		t.Error("behind a proxy with TLS the page names another URL")
	}
}

func TestOthersGetJSON(t *testing.T) {
	w := get(t, "GET", "*/*", nil)
	var a content
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if a.Endpoint != "http://localhost:8080/mcp" || len(a.Versions) == 0 || a.Protocol == "" {
		t.Errorf("%+v", a)
	}
}

// The page admits the same hosts and origins as the endpoint. Other paths are not found.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		header map[string]string
		status int
		say    string
	}{
		"foreign host":   {"GET", map[string]string{"Host": "evil.example"}, http.StatusForbidden, "evil.example"},
		"foreign origin": {"GET", map[string]string{"Origin": "https://evil.example"}, http.StatusForbidden, "origin"},
		"a message":      {"POST", nil, http.StatusNotFound, "its endpoint is /mcp"},
	} {
		if w := get(t, c.method, browser, c.header); w.Code != c.status || !strings.Contains(w.Body.String(), c.say) {
			t.Errorf("%s: status %d, body %s", name, w.Code, w.Body)
		}
	}
}

func TestWanted(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		header map[string]string
		want   bool
	}{
		"browser":           {"GET", map[string]string{"Accept": browser}, true},
		"stream":            {"GET", map[string]string{"Accept": "text/event-stream"}, false},
		"both":              {"GET", map[string]string{"Accept": "text/html, text/event-stream"}, false},
		"anything":          {"GET", map[string]string{"Accept": "*/*"}, false},
		"no accept":         {"GET", nil, false},
		"browser's session": {"GET", map[string]string{"Accept": browser, "Mcp-Session-Id": "x"}, false},
		"message":           {"POST", map[string]string{"Accept": browser}, false},
	} {
		r := httptest.NewRequest(c.method, "/mcp", nil)
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		if got := IsPageRequest(r); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Behind a proxy with a path, the page shows the configured URL.
func TestPublicURL(t *testing.T) {
	h := New(Options{URL: "https://tools.example/edge/", Path: "/mcp", SSE: "/sse"})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost:8080/", nil))
	var a content
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || a.Endpoint != "https://tools.example/edge/mcp" || a.SSE != "https://tools.example/edge/sse" {
		t.Errorf("%v, %s", err, w.Body)
	}
}

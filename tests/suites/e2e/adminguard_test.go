package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// TestAdminDoor: no web page reaches the admin address, neither by a name that was pointed at it nor with
// a request that browsers send without asking; probes do, by whatever name.
func TestAdminDoor(t *testing.T) {
	_, _, o := startAdmin(t, func(c *config.Config) {
		c.Listen.Origins, c.Listen.Hosts, c.Admin.Pprof = []string{"https://app.example"}, []string{"mcp.example"}, true
	})
	for _, path := range []string{"/v1/status", "/v1/tools", "/openapi.json", "/debug/pprof/", "/debug/pprof/trace"} {
		for _, h := range [][2]string{
			{"Host", "evil.example"}, {"Host", "mcp.example"}, {"Origin", "https://evil.example"},
			{"Origin", "https://app.example"}, {"Origin", "null"},
		} {
			if r := o.do(http.MethodGet, path, "", h[0], h[1]); r.status != http.StatusForbidden || r.at("code") != 7.0 {
				t.Errorf("%s with %s: status %d, %s", path, h, r.status, r.text)
			}
		}
	}
	o.do(http.MethodGet, "/v1/status", "", "Host", "localhost:1234").want(http.StatusOK)
	o.do(http.MethodGet, "/v1/status", "", "Origin", "http://"+o.addr).want(http.StatusOK)
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		o.do(http.MethodGet, path, "", "Host", "10.0.0.7:9090").want(http.StatusOK)
	}
	for _, path := range []string{"/v1/drain", "/v1/tools/add:call", "/v1/status"} {
		for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"} {
			o.do(http.MethodPost, path, "a=1", "Content-Type", kind).want(http.StatusUnsupportedMediaType)
		}
		o.do(http.MethodPost, path, "{}", "Origin", "https://evil.example").want(http.StatusForbidden)
		o.do(http.MethodPut, path, "{}").want(http.StatusMethodNotAllowed).has(12.0, "code")
	}
	o.do(http.MethodPost, "/v1/status", "{}", "X-HTTP-Method-Override", "GET").want(http.StatusMethodNotAllowed)
	o.do(http.MethodDelete, "/v1/status", "").want(http.StatusMethodNotAllowed)
	o.do(http.MethodOptions, "/v1/drain", "", "Origin", "https://evil.example").want(http.StatusForbidden)
	// Nothing of it was done.
	o.get("/v1/status").want(http.StatusOK).has(false, "draining")
}

// TestAdminIsDescribed: the OpenAPI document holds together, and what it describes is served.
func TestAdminIsDescribed(t *testing.T) {
	_, e, o := startAdmin(t)
	doc := o.get("/openapi.json").want(http.StatusOK).has("2.0", "swagger").has("MCP Edge administration", "info", "title")
	checkReferences(t, doc, doc.body)
	seen := map[string]bool{}
	drained := false
	paths, _ := doc.at("paths").(map[string]any)
	for path, item := range paths {
		for method := range item.(map[string]any) {
			id, _ := doc.at("paths", path, method, "operationId").(string)
			if id == "" || seen[id] || doc.at("paths", path, method, "summary") == nil || doc.at("paths", path, method, "responses", "200") == nil {
				t.Errorf("%s %s: operation %q is without an id of its own, a summary or a response", method, path, id)
			}
			seen[id] = true
			if path == "/v1/drain" {
				drained = true
				continue // at the end
			}
			target := strings.NewReplacer("{name}", "nothing", "{id}", "nothing").Replace(path)
			if r := o.do(strings.ToUpper(method), target, ""); strings.Contains(r.text, "not served here") || r.body == nil {
				t.Errorf("%s %s: status %d: %s", method, path, r.status, r.text)
			}
		}
	}
	if len(seen) != 27 || !drained {
		t.Errorf("%d operations are described: %v", len(seen), seen)
	}
	o.post("/v1/drain", "").want(http.StatusOK)
	e.AwaitEnd(t)
}

// checkReferences follows every $ref below v.
func checkReferences(t *testing.T, doc *told, v any) {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			name, found := strings.CutPrefix(ref, "#/definitions/")
			if !found || doc.at("definitions", name) == nil {
				t.Errorf("the reference %s leads nowhere", ref)
			}
		}
		for _, m := range v {
			checkReferences(t, doc, m)
		}
	case []any:
		for _, m := range v {
			checkReferences(t, doc, m)
		}
	}
}

// TestHostOfThePublicURL: an edge on loopback, behind a proxy that keeps the Host header, serves the
// host of its public URL at every path. Other hosts and origins are refused with the setting that
// would allow them, and counted; the admin address knows no public URL.
func TestHostOfThePublicURL(t *testing.T) {
	_, e, o := startAdmin(t, func(c *config.Config) { c.Listen.PublicURL, c.Listen.SSE = "https://mcp.example.com/", true })
	for path, method := range map[string]string{"/mcp": http.MethodPost, "/sse": http.MethodGet, "/": http.MethodGet} {
		c := newCaller(t, "http://"+e.Host+path)
		for _, host := range []string{"mcp.example.com", "MCP.example.com:443", e.Host, "localhost"} {
			r := c.send(t, method, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Host", host, "Sec-Fetch-Site", "same-origin")
			if r.status == http.StatusForbidden {
				t.Errorf("%s of host %s: %s", path, host, r.body)
			}
			if r.stream != nil {
				r.stream.close()
			}
		}
		for _, refused := range [][3]string{
			{"Host", "other.example.com", "add other.example.com to its setting listen.hosts"},
			{"Origin", "https://evil.example", "add it to the edge's setting listen.origins"},
		} {
			r := c.send(t, method, "{}", refused[0], refused[1])
			if r.status != http.StatusForbidden || !strings.Contains(string(r.body), refused[2]) {
				t.Errorf("%s with %s: %d, %s", path, refused[:2], r.status, r.body)
			}
		}
	}
	r := o.do(http.MethodGet, "/v1/status", "", "Host", "mcp.example.com").want(http.StatusForbidden)
	if !strings.Contains(r.text, "setting admin.hosts") {
		t.Errorf("the admin address says %s", r.text)
	}
	text := o.get("/metrics").want(http.StatusOK).text
	for _, want := range []string{`{mcpedge_http_reason="host"} 4`, `{mcpedge_http_reason="origin"} 3`, `{mcpedge_http_reason="site"} 0`} {
		if !strings.Contains(text, "\nmcpedge_http_refused_total"+want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

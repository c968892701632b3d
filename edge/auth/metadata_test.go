package auth_test

import (
	"net/http/httptest"
	"testing"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// There is a document for the edge and for each endpoint, for pages of every origin.
func TestMetadata(t *testing.T) {
	o := options(issuer.New("https://id.example"))
	o.Metadata = auth.Metadata{Name: "An edge", Scopes: []string{"mcp:read"}, Documentation: "https://docs.example"}
	rest := `,"authorization_servers":["https://id.example"],"scopes_supported":["mcp:read"],"bearer_methods_supported":["header"],` +
		`"resource_name":"An edge","resource_documentation":"https://docs.example"}`
	a := newAuth(t, o)
	get := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, path, nil)
		r.Header.Set("Origin", "https://anywhere.example")
		a.ServeHTTP(w, r)
		return w
	}
	for path, want := range map[string]string{"": resource, "/": resource, "/mcp": resource + "/mcp", "/sse": resource + "/sse"} {
		w := get("GET", auth.MetadataPath+path)
		if w.Code != 200 || w.Body.String() != `{"resource":"`+want+`"`+rest || w.Header().Get("Access-Control-Allow-Origin") != "*" ||
			w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d, %v, %s", path, w.Code, w.Header(), w.Body)
		}
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/message", 404}, {"POST", "/mcp", 405}, {"OPTIONS", "/mcp", 204}, {"HEAD", "/mcp", 200}} {
		if w := get(c.method, auth.MetadataPath+c.path); w.Code != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, w.Code, c.status)
		}
	}
	// Behind a path, with and without it.
	o.Resource = "https://example.com/edge"
	a = newAuth(t, o)
	for _, path := range []string{"/edge/mcp", "/mcp"} {
		if w := get("GET", auth.MetadataPath+path); w.Code != 200 || w.Body.String() != `{"resource":"https://example.com/edge/mcp"`+rest {
			t.Errorf("%s: %d, %s", path, w.Code, w.Body)
		}
	}
	o.Issuers = nil
	a = newAuth(t, o)
	if w := get("GET", auth.MetadataPath); w.Code != 404 {
		t.Errorf("%d without an issuer", w.Code)
	}
}

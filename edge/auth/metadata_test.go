package auth_test

import (
	"net/http"
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

// Try says of an issuer that clients cannot register themselves if no metadata of it names a way, and never that its metadata is invalid
// because of what says so.
func TestTrySaysWhereNoClientRegisters(t *testing.T) {
	i := issuer.New("https://id.example")
	const open = `{"issuer":"https://id.example","jwks_uri":"https://id.example/jwks"`
	for name, c := range map[string]struct {
		openID, oauth string
		closed        bool
	}{
		"neither":                        {open + `}`, "", true},
		"a registration endpoint":        {open + `,"registration_endpoint":"https://id.example/register"}`, "", false},
		"one in the other document":      {open + `}`, open + `,"registration_endpoint":"https://id.example/register"}`, false},
		"documents of clients":           {open + `,"client_id_metadata_document_supported":true}`, "", false},
		"documents are turned off":       {open + `,"client_id_metadata_document_supported":false,"registration_endpoint":""}`, "", true},
		"of other types":                 {open + `,"client_id_metadata_document_supported":"true","registration_endpoint":{}}`, "", true},
		"one type is another":            {open + `,"client_id_metadata_document_supported":true,"registration_endpoint":7}`, "", false},
		"in the document of another one": {open + `}`, `{"issuer":"https://other.example","registration_endpoint":"https://id.example/register"}`, true},
	} {
		o := remote(i)
		o.Transport = direct{"id.example": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := map[string]string{
				"/jwks": string(i.Set()), "/.well-known/openid-configuration": c.openID, "/.well-known/oauth-authorization-server": c.oauth,
			}[r.URL.Path]
			if body == "" {
				http.NotFound(w, r)
				return
			}
			_, _ = w.Write([]byte(body))
		})}
		if tried := newAuth(t, o).Try(t.Context()); tried[0].Err != nil || tried[0].Keys != 1 || tried[0].NoRegistration != c.closed {
			t.Errorf("%s: %+v", name, tried)
		}
	}
	// An issuer whose keys are configured may have no metadata.
	o := remote(i)
	o.Issuers[0].JWKS = "https://id.example/jwks"
	o.Transport = direct{"id.example": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/jwks" {
			t.Errorf("%s is read", r.URL.Path)
		}
		_, _ = w.Write(i.Set())
	})}
	if tried := newAuth(t, o).Try(t.Context()); tried[0].Err != nil || tried[0].NoRegistration {
		t.Errorf("%+v", tried)
	}
}

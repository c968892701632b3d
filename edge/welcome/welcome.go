// Package welcome tells whoever opens the address of the MCP listener in a browser what it is, where the
// endpoint is and how to connect.
package welcome

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"strings"

	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// policy lets the page have its own styles and nothing else: no script, no image, no form.
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page has the names of the fields of about in double braces. A template of the standard library would have the linker keep
// every exported method of the program, which makes it a third larger.
//
//go:embed page.html
var page string

// Options say what is there. Path is required.
type Options struct {
	// Title is what the server calls itself; empty: "MCP Edge".
	Title string
	// URL is that of the edge as clients see it, without the path of an endpoint; empty: what the request names.
	URL string
	// Path of the endpoint, such as "/mcp".
	Path string
	// SSE is the path of HTTP+SSE; empty: it is not served.
	SSE string
	// Web says who may call.
	Web web.Options
}

// Handler serves GET and HEAD: a page to those who accept text/html, JSON to others. Safe for concurrent use.
type Handler struct {
	o     Options
	guard *web.Guard
}

// New makes a handler.
func New(o Options) *Handler {
	if o.Title == "" {
		o.Title = "MCP Edge"
	}
	o.Web.Linked = true
	return &Handler{o: o, guard: web.NewGuard(nil, o.Web)}
}

// Wanted reports whether a request is a browser's that shows a page, rather than a client's for a stream: it
// accepts text/html, not text/event-stream, and names no session.
func Wanted(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Mcp-Session-Id") != "" || r.Header.Get("Last-Event-Id") != "" {
		return false
	}
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	return strings.Contains(accept, "text/html") && !strings.Contains(accept, web.TypeEvents)
}

// about is what the page shows, and what the JSON holds.
type about struct {
	Name string `json:"name"`
	// Protocol is spelled out, for those who do not know it.
	Protocol string `json:"protocol"`
	// Endpoint is the URL for Streamable HTTP, SSE that of HTTP+SSE; empty: not served.
	Endpoint string `json:"endpoint"`
	SSE      string `json:"sse,omitempty"`
	// Versions of the protocol, the newest first; Stateless is the newest without sessions.
	Versions  []string `json:"versions"`
	Stateless string   `json:"-"`
}

// ServeHTTP implements http.Handler. The hosts and origins that may call the endpoint may see this.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, ok := h.guard.Admit(w, r, "GET, HEAD, POST, DELETE, OPTIONS"); !ok {
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.guard.Refuse(w, http.StatusNotFound, "MCP is not served at "+web.Quoted(r.URL.Path)+": its endpoint is "+h.o.Path)
		return
	}
	a := h.about(r)
	var body bytes.Buffer
	kind := web.TypeJSON
	if Wanted(r) {
		kind = "text/html; charset=utf-8"
		a.render(&body)
	} else if err := json.NewEncoder(&body).Encode(a); err != nil {
		h.guard.Refuse(w, http.StatusInternalServerError, "the description cannot be rendered")
		return
	}
	head := w.Header()
	head.Set("Content-Type", kind)
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cache-Control", "no-store")
	head.Add("Vary", "Accept")
	h.guard.Deadline(w)
	_, _ = w.Write(body.Bytes()) // the client is gone: nobody to tell
}

// about names the endpoint as the caller reaches it.
func (h *Handler) about(r *http.Request) about {
	base := "http://"
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		base = "https://"
	}
	base += r.Host
	if h.o.URL != "" {
		base = strings.TrimRight(h.o.URL, "/")
	}
	a := about{
		Name: h.o.Title, Protocol: "Model Context Protocol", Endpoint: base + h.o.Path,
		Versions: revision.Supported(), Stateless: revision.Stateless().Version,
	}
	if h.o.SSE != "" {
		a.SSE = base + h.o.SSE
	}
	return a
}

// render writes the page.
func (a about) render(w io.Writer) {
	versions := make([]string, 0, len(a.Versions))
	for _, v := range a.Versions {
		versions = append(versions, "<code>"+html.EscapeString(v)+"</code>")
	}
	older := ""
	if a.SSE != "" {
		older = "Older clients connect by HTTP+SSE at <code>" + html.EscapeString(a.SSE) + "</code>."
	}
	_, _ = strings.NewReplacer( // the writer is a buffer
		"{{.Name}}", html.EscapeString(a.Name), "{{.Endpoint}}", html.EscapeString(a.Endpoint), "{{.Config}}", html.EscapeString(a.config()),
		"{{.Stateless}}", html.EscapeString(a.Stateless), "{{.Versions}}", strings.Join(versions, ", "), "{{.SSE}}", older,
	).WriteString(w, page)
}

// config is what most clients take in their configuration.
func (a about) config() string {
	type server struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	out, _ := json.MarshalIndent(map[string]any{"mcpServers": map[string]server{"mcpedge": {"http", a.Endpoint}}}, "", "  ") // strings alone
	return string(out)
}

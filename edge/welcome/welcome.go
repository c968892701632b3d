// Package welcome serves a page to browsers that open the address of the MCP listener. It describes
// the server, its endpoint and how to connect.
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

// policy is the Content-Security-Policy of the page. It allows its inline styles, and no script, image or form.
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page has the fields of about in double braces. It is not a html/template, because the linker
// would then keep every exported method, which makes the program a third larger.
//
//go:embed page.html
var page string

// Options describe the server. Path is required.
type Options struct {
	// Title is the name of the server. Empty means "MCP Edge".
	Title string
	// URL is the edge's URL as clients see it, without the path of an endpoint. Empty uses that of
	// the request.
	URL string
	// Path is the path of the endpoint, such as "/mcp".
	Path string
	// SSE is the path of HTTP+SSE. Empty means that it is not served.
	SSE string
	// Web are the hosts and origins that may call.
	Web web.Options
}

// Handler serves GET and HEAD: a page to clients that accept text/html, JSON to others. It is safe
// for concurrent use.
type Handler struct {
	o     Options
	guard *web.Guard
}

// New returns a Handler.
func New(o Options) *Handler {
	if o.Title == "" {
		o.Title = "MCP Edge"
	}
	o.Web.Linked = true
	return &Handler{o: o, guard: web.NewGuard(nil, o.Web)}
}

// IsPageRequest reports whether a request is a browser's request for a page, rather than a client's
// request for a stream: it accepts text/html, not text/event-stream, and names no session.
func IsPageRequest(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Mcp-Session-Id") != "" || r.Header.Get("Last-Event-Id") != "" {
		return false
	}
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	return strings.Contains(accept, "text/html") && !strings.Contains(accept, web.TypeEvents)
}

// content holds the contents of the page and of the JSON.
type content struct {
	Name string `json:"name"`
	// Protocol is the full name, for readers who do not know it.
	Protocol string `json:"protocol"`
	// Endpoint is the URL of Streamable HTTP, SSE that of HTTP+SSE. Empty means not served.
	Endpoint string `json:"endpoint"`
	SSE      string `json:"sse,omitempty"`
	// Versions are those of the protocol, newest first. Stateless is the newest without sessions.
	Versions  []string `json:"versions"`
	Stateless string   `json:"-"`
}

// ServeHTTP implements http.Handler. It admits the hosts and origins that may call the endpoint.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, ok := h.guard.Admit(w, r, "GET, HEAD, POST, DELETE, OPTIONS"); !ok {
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.guard.Refuse(w, http.StatusNotFound, "MCP is not served at "+web.Quoted(r.URL.Path)+": its endpoint is "+h.o.Path)
		return
	}
	a := h.content(r)
	var body bytes.Buffer
	kind := web.TypeJSON
	if IsPageRequest(r) {
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
	_, _ = w.Write(body.Bytes()) // fails only if the client has disconnected
}

// content returns the contents, with the endpoint as the caller reaches it.
func (h *Handler) content(r *http.Request) content {
	base := "http://"
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		base = "https://"
	}
	base += r.Host
	if h.o.URL != "" {
		base = strings.TrimRight(h.o.URL, "/")
	}
	a := content{
		Name: h.o.Title, Protocol: "Model Context Protocol", Endpoint: base + h.o.Path,
		Versions: revision.Supported(), Stateless: revision.Stateless().Version,
	}
	if h.o.SSE != "" {
		a.SSE = base + h.o.SSE
	}
	return a
}

// render writes the page.
func (a content) render(w io.Writer) {
	versions := make([]string, 0, len(a.Versions))
	for _, v := range a.Versions {
		versions = append(versions, "<code>"+html.EscapeString(v)+"</code>")
	}
	older := ""
	if a.SSE != "" {
		older = "Older clients connect by HTTP+SSE at <code>" + html.EscapeString(a.SSE) + "</code>."
	}
	_, _ = strings.NewReplacer( // cannot fail: the writer is a buffer
		"{{.Name}}", html.EscapeString(a.Name), "{{.Endpoint}}", html.EscapeString(a.Endpoint), "{{.Config}}", html.EscapeString(a.config()),
		"{{.Stateless}}", html.EscapeString(a.Stateless), "{{.Versions}}", strings.Join(versions, ", "), "{{.SSE}}", older,
	).WriteString(w, page)
}

// config returns the client configuration that most clients accept.
func (a content) config() string {
	type server struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	out, _ := json.MarshalIndent(map[string]any{"mcpServers": map[string]server{"mcpedge": {"http", a.Endpoint}}}, "", "  ") // cannot fail: only strings
	return string(out)
}

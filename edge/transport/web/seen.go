package web

import (
	"net/http"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Seen returns a request as policy sees it.
func Seen(r *http.Request) mcp.HTTP {
	return mcp.HTTP{Host: r.Host, Path: r.URL.EscapedPath(), Header: r.Header}
}

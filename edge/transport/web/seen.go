package web

import (
	"net/http"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// PolicyRequest returns a request as policy sees it.
func PolicyRequest(r *http.Request) mcp.HTTP {
	return mcp.HTTP{Host: r.Host, Path: r.URL.EscapedPath(), Header: r.Header}
}

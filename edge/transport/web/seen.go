package web

import (
	"net/http"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Seen is a request as who decides on it sees it.
func Seen(r *http.Request) mcp.HTTP {
	return mcp.HTTP{Host: r.Host, Path: r.URL.EscapedPath(), Header: r.Header}
}

package streamable

import (
	"net/http"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Status returns the HTTP status of a response by era and kind. Other kinds are sent in-band, with
// 200: the request was understood, and the response is the error.
func Status(modern bool, kind mcp.Kind) int {
	switch kind {
	case mcp.KindParse, mcp.KindInvalidRequest, mcp.KindUnsupportedVersion,
		mcp.KindSessionRequired, mcp.KindBadEventID:
		return http.StatusBadRequest
	case mcp.KindNoStream:
		return http.StatusMethodNotAllowed
	case mcp.KindSessionNotFound:
		return http.StatusNotFound
	case mcp.KindStateUnavailable, mcp.KindOverloaded:
		return http.StatusServiceUnavailable
	case mcp.KindLimit:
		return http.StatusTooManyRequests
	}
	if !modern {
		return http.StatusOK
	}
	switch kind {
	case mcp.KindMethodNotFound:
		return http.StatusNotFound
	case mcp.KindInvalidParams, mcp.KindHeaderMismatch, mcp.KindMissingCapability, mcp.KindBadState:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

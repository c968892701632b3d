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

// acceptedStatus returns the HTTP status of an exchange that ends without a body: 202 for
// notifications, responses and cancelled requests, 204 for the end of a session.
func acceptedStatus(method string) int {
	if method == http.MethodDelete {
		return http.StatusNoContent
	}
	return http.StatusAccepted
}

package mcp

import (
	"encoding/json"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// NotScope returns why a text is not an OAuth scope (RFC 6749, section 3.3) that clients can be
// asked to request, as the rest of a sentence that begins with it; empty if it is one.
func NotScope(s string) string {
	switch {
	case s == "offline_access":
		return "is between a client and its issuer: leave it out (MCP, \"Authorization\")"
	case s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }):
		return "is not a scope: use printable ASCII without spaces, quotation marks and backslashes"
	}
	return ""
}

// LackingData returns the data of an error for missing scopes: {"scopes":[…]}.
func LackingData(scopes []string) json.RawMessage {
	data := []byte(`{"scopes":[`)
	for i, s := range scopes {
		if i > 0 {
			data = append(data, ',')
		}
		data = jsonrpc.AppendString(data, s)
	}
	return append(data, "]}"...)
}

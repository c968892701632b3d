package mcp

import (
	"encoding/json"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// NotScope says why something is no OAuth scope (RFC 6749, section 3.3) that clients can be told to ask for, as the end of a sentence
// that begins with it; empty: it is one.
func NotScope(s string) string {
	switch {
	case s == "offline_access":
		return "is between a client and its issuer: leave it out (MCP, \"Authorization\")"
	case s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }):
		return "is no scope: use printable ASCII without spaces, quotation marks and backslashes"
	}
	return ""
}

// LackingData is the data of an error by which a caller lacks scopes: {"scopes":[…]}.
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

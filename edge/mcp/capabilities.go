package mcp

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Capabilities is a client's ClientCapabilities object, read once. The zero value declares nothing.
type Capabilities struct {
	// Raw is the object as declared, with members that have no flag. nil means none.
	Raw json.RawMessage

	ElicitForm, ElicitURL      bool
	Sampling                   bool
	SamplingTools, SamplingCtx bool
	Roots, RootsChanged        bool

	// Unknown means that the client declared its capabilities for a session that the request does
	// not name. Such a client gets no requests.
	Unknown bool
}

// Extension reports whether the client declared a protocol extension: `extensions` has its id with
// an object.
func (c *Capabilities) Extension(id string) bool {
	if jsonrpc.TypeOf(c.Raw) != jsonrpc.Object {
		return false
	}
	extensions, ok := jsonrpc.Member(c.Raw, "extensions")
	if !ok || jsonrpc.TypeOf(extensions) != jsonrpc.Object {
		return false
	}
	settings, ok := jsonrpc.Member(extensions, id)
	return ok && jsonrpc.TypeOf(settings) == jsonrpc.Object
}

// ParseCapabilities parses a ClientCapabilities object. An `elicitation` without modes means forms.
// null counts as absent, here and in every member; any other non-object is an error. The result
// aliases raw.
func ParseCapabilities(raw json.RawMessage) (Capabilities, error) {
	if len(raw) == 0 || isNull(raw) {
		return Capabilities{}, nil
	}
	c := Capabilities{Raw: raw}
	err := jsonrpc.Members(raw, func(key []byte, value json.RawMessage) error {
		if jsonrpc.TypeOf(value) != jsonrpc.Object {
			return nil
		}
		switch string(key) {
		case "elicitation":
			c.ElicitForm, c.ElicitURL = hasMember(value, "form"), hasMember(value, "url")
			c.ElicitForm = c.ElicitForm || !c.ElicitURL
		case "sampling":
			c.Sampling = true
			c.SamplingTools, c.SamplingCtx = hasMember(value, "tools"), hasMember(value, "context")
		case "roots":
			c.Roots = true
			v, _ := jsonrpc.Member(value, "listChanged")
			c.RootsChanged = string(v) == "true"
		}
		return nil
	})
	return c, err
}

// hasMember reports whether an object has a member that is not null.
func hasMember(object json.RawMessage, name string) bool {
	value, ok := jsonrpc.Member(object, name)
	return ok && !isNull(value)
}

package mcp

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// The tools of the edge itself, which sets may list.
const (
	// ToolFind finds tools by words.
	ToolFind = "find_tools"
	// ToolCall calls another tool. Its arguments are the name and the arguments of that tool.
	ToolCall = "call_tool"
	// ToolListResources lists resources and templates.
	ToolListResources = "list_resources"
	// ToolReadResource reads a resource. Its argument is the URI of the resource.
	ToolReadResource = "read_resource"
)

// Wrapped is the tools/call that the client sent if it made a request through a tool of the edge.
// The other fields of the call describe the wrapped request, as if the client had made it directly.
type Wrapped struct {
	// Tool is the tool of the edge, one that Wraps.
	Tool string
	// Arguments are the arguments of Tool. nil means that they are unknown, because another replica has begun the call.
	Arguments json.RawMessage
}

// unwrappers change a call of each tool of the edge that wraps a request to that request.
var unwrappers = map[string]func(*Call) error{ToolCall: (*Call).unwrapTool, ToolReadResource: (*Call).unwrapRead}

// Wraps reports whether calls of a tool of the edge are unwrapped.
func Wraps(tool string) bool { return unwrappers[tool] != nil }

// Unwrap replaces a call of a tool that wraps requests by the request that its arguments describe,
// and also replaces Params.Sent, whose text is copied. It fails, and changes nothing, if they
// describe no request. The caller must have checked that no member is duplicated.
func (c *Call) Unwrap() error { return unwrappers[c.Params.Target](c) }

// unwrapTool unwraps a call of ToolCall, whose arguments have a name and perhaps arguments.
func (c *Call) unwrapTool() error {
	p := &c.Params
	values, err := p.members("with the name of a tool and its arguments", "put the arguments of the tool into arguments", "name", "arguments")
	if err != nil {
		return err
	}
	text, ok := jsonrpc.Unquote(values[0])
	if !ok {
		return Errorf(KindInvalidParams, "name is missing or not a string: name the tool to call, as %s shows it", ToolFind)
	}
	if err := CheckName("arguments.name", text); err != nil {
		return err
	}
	arguments := values[1]
	switch jsonrpc.TypeOf(arguments) {
	case jsonrpc.Object:
	case jsonrpc.Null:
		arguments = json.RawMessage("{}")
	default:
		if len(arguments) > 0 {
			return Errorf(KindInvalidParams, "arguments must be an object, not %s", jsonrpc.TypeOf(arguments))
		}
		arguments = json.RawMessage("{}")
	}
	raw := replaced(p.raw, "name", jsonrpc.AppendString(nil, text))
	p.unwrap(replaced(raw, "arguments", arguments), text, arguments)
	return nil
}

// unwrapRead unwraps a call of ToolReadResource, whose arguments have a URI.
func (c *Call) unwrapRead() error {
	p := &c.Params
	values, err := p.members("with the URI of a resource", "send uri", "uri")
	if err != nil {
		return err
	}
	uri, ok := jsonrpc.Unquote(values[0])
	if !ok || uri == "" {
		return Errorf(KindInvalidParams, "uri is missing or not a string: name the resource to read, as %s shows it", ToolListResources)
	}
	if err := CheckURI("arguments.uri", uri); err != nil {
		return err
	}
	c.Method = MethodResourcesRead
	raw := without(p.raw, "name", "arguments", "task", "uri")
	p.unwrap(replaced(raw, "uri", jsonrpc.AppendString(nil, uri)), uri, nil)
	return nil
}

// unwrap makes params those of the request that a call of a tool of the edge describes.
func (p *Params) unwrap(raw json.RawMessage, target string, arguments json.RawMessage) {
	p.Wrapped = &Wrapped{Tool: p.Target, Arguments: p.Arguments}
	p.raw, p.Sent.Target, p.Sent.Arguments = raw, target, arguments
	p.Target, p.Arguments = target, arguments
}

// members returns the named members of the arguments of a tool of the edge; nil for an absent one.
// It fails if the arguments are not an object, or have other members. what names the tool in the
// error, and advice is for other members.
func (p *Params) members(what, advice string, names ...string) ([]json.RawMessage, error) {
	if jsonrpc.TypeOf(p.Arguments) != jsonrpc.Object {
		return nil, Errorf(KindInvalidParams, "%s takes an object %s", p.Target, what)
	}
	out := make([]json.RawMessage, len(names))
	return out, jsonrpc.Members(p.Arguments, func(key string, value json.RawMessage) error {
		for i, name := range names {
			if key == name {
				out[i] = value
				return nil
			}
		}
		return Errorf(KindInvalidParams, "%s does not take %.80q: %s", p.Target, key, advice)
	})
}

// without returns a copy of an object without the named members. The object must be valid.
func without(object json.RawMessage, names ...string) json.RawMessage {
	out := append(make([]byte, 0, len(object)), '{')
	_ = jsonrpc.Members(object, func(key string, value json.RawMessage) error {
		for _, name := range names {
			if key == name {
				return nil
			}
		}
		out = jsonrpc.AppendMember(out, key, value)
		return nil
	})
	return append(out, '}')
}

// Via returns the tool of the edge through which the client made the request, or an empty text.
func (p *Params) Via() string {
	if p.Wrapped != nil {
		return p.Wrapped.Tool
	}
	return ""
}

// Bound returns the method, the name and the arguments of the client's own request, to which a
// state is bound.
func (c *Call) Bound() (method Method, name string, arguments json.RawMessage) {
	if w := c.Params.Wrapped; w != nil {
		return MethodToolsCall, w.Tool, w.Arguments
	}
	return c.Method, c.Params.Sent.Target, c.Params.Sent.Arguments
}

// Tool returns the name of the tool for which a call is charged: the canonical name in tools/call,
// or the tool of the edge through which another request was made. called is false for other
// requests, which are not charged.
func (c *Call) Tool() (name string, called bool) {
	if c.Method == MethodToolsCall {
		return c.Params.Target, true
	}
	return c.Params.Via(), c.Params.Wrapped != nil
}

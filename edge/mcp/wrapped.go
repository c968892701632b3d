package mcp

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// The tools of the edge itself in a set with search.
const (
	// ToolFind finds tools by words.
	ToolFind = "find_tools"
	// ToolCall calls another tool: its arguments have the name and the arguments of that.
	ToolCall = "call_tool"
)

// Unwrap changes the params of a call of ToolCall to those of a call of the tool that its arguments
// name, also in Raw, which is copied. It fails, and changes nothing, if the arguments are not an
// object with a name and perhaps with arguments. The caller has checked that no member is repeated.
func (p *Params) Unwrap() error {
	wrong := func(format string, args ...any) error { return Errorf(KindInvalidParams, format, args...) }
	if jsonrpc.TypeOf(p.Arguments) != jsonrpc.Object {
		return wrong("%s takes an object with the name of a tool and its arguments", ToolCall)
	}
	var name, arguments json.RawMessage
	err := jsonrpc.Members(p.Arguments, func(key string, value json.RawMessage) error {
		switch key {
		case "name":
			name = value
		case "arguments":
			arguments = value
		default:
			return wrong("%s does not take %.80q: put the arguments of the tool into arguments", ToolCall, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	text, ok := jsonrpc.Unquote(name)
	if !ok {
		return wrong("name is missing or not a string: name the tool to call, as %s shows it", ToolFind)
	}
	if err := CheckName("arguments.name", text); err != nil {
		return err
	}
	switch jsonrpc.TypeOf(arguments) {
	case jsonrpc.Object:
	case jsonrpc.Null:
		arguments = json.RawMessage("{}")
	default:
		if len(arguments) > 0 {
			return wrong("arguments must be an object, not %s", jsonrpc.TypeOf(arguments))
		}
		arguments = json.RawMessage("{}")
	}
	p.Wrapped = p.Arguments
	p.Target, p.HasTarget, p.Shown = text, true, ""
	p.Raw = replaced(p.Raw, "name", jsonrpc.AppendString(nil, text))
	p.ReplaceArguments(arguments)
	return nil
}

// Via returns ToolCall if the client called the tool through it, or an empty text.
func (p *Params) Via() string {
	if p.Wrapped != nil {
		return ToolCall
	}
	return ""
}

// Bound returns the name and the arguments of the client's own request, to which a state is bound.
func (p *Params) Bound() (name string, arguments json.RawMessage) {
	if p.Wrapped != nil {
		return ToolCall, p.Wrapped
	}
	return p.Requested(), p.SentArguments()
}

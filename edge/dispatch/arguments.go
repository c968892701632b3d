package dispatch

import (
	"bytes"
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/schema"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// noArguments stands for arguments that were not given.
var noArguments = json.RawMessage(`{}`)

// arguments returns the call's arguments, an object of at most ArgumentValues in which every name stands once.
func (r *round) arguments() (json.RawMessage, error) {
	args := r.call.Params.Arguments
	switch t := jsonrpc.TypeOf(args); {
	case r.unread != nil:
		return nil, r.unread
	case len(args) == 0, t == jsonrpc.Null:
		return noArguments, nil
	case t != jsonrpc.Object:
		return nil, mcp.Errorf(mcp.KindInvalidParams, "params.arguments must be an object, not %s", t)
	}
	return args, r.survey("params.arguments", args)
}

// forTool makes the call's arguments those that the tool's backend is to read, before anything is decided by them: without the
// members that are null where the tool's schema has an optional property that takes none; for a target behind an adapter, in the one
// form in which that is to see them. Arguments that cannot be read stay as they are, for whoever reads them to say.
func (r *round) forTool(t *catalog.Tool) {
	if t.Owner.Adapted() {
		r.canonical(t)
		return
	}
	r.withoutNulls(func(args []byte) []byte { return t.Check.Ready().Input.WithoutNulls(args) })
}

// canonical makes the call's arguments those that the adapter of the tool's backend has for them. What the target would not take is an
// error of arguments.
func (r *round) canonical(t *catalog.Tool) {
	args := r.call.Params.Arguments
	if jsonrpc.TypeOf(args) != jsonrpc.Object {
		return
	}
	out, err := t.Owner.Canonical(t.Proto.GetName(), args)
	switch {
	case err != nil:
		r.unread = mcp.Errorf(mcp.KindInvalidParams, "params.arguments: %v", err)
	case !bytes.Equal(out, args):
		r.replaceArguments(out)
	}
}

// forPrompt is forTool for a prompt, whose arguments are strings.
func (r *round) forPrompt() {
	r.withoutNulls(func(args []byte) []byte {
		out := append(make([]byte, 0, len(args)), '{')
		_ = jsonrpc.Members(args, func(name string, value json.RawMessage) error { // They were surveyed.
			if jsonrpc.TypeOf(value) != jsonrpc.Null {
				out = appendMember(out, name, value)
			}
			return nil
		})
		return append(out, '}')
	})
}

// withoutNulls makes the round's call one with other arguments, if theirs have a null.
func (r *round) withoutNulls(read func(args []byte) []byte) {
	if !bytes.Contains(r.call.Params.Arguments, []byte("null")) {
		return
	}
	args, err := r.arguments()
	if err != nil {
		return
	}
	if changed := read(args); len(changed) != len(args) {
		r.replaceArguments(changed)
	}
}

// replaceArguments makes the round's call one with other arguments. The caller's call is not changed.
func (r *round) replaceArguments(changed json.RawMessage) {
	call := *r.call
	call.Params.Arguments = changed
	params := append(make([]byte, 0, len(call.Params.Raw)), '{')
	_ = jsonrpc.Members(call.Params.Raw, func(name string, value json.RawMessage) error { // The era has parsed them.
		if name == "arguments" {
			value = changed
		}
		params = appendMember(params, name, value)
		return nil
	})
	call.Params.Raw = append(params, '}')
	r.call, r.rewritten = &call, true
}

func appendMember(dst []byte, name string, value []byte) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	return append(append(jsonrpc.AppendString(dst, name), ':'), value...)
}

// survey bounds the values in a member of the params, and refuses names that stand twice in an object: which of
// two values counts is everybody's own choice, so that the edge could check one and the backend take the other.
func (r *round) survey(what string, raw json.RawMessage) error {
	found, ok := jsonrpc.SurveyOf(raw, r.d.opts.ArgumentValues)
	switch {
	case !ok:
		return mcp.Errorf(mcp.KindInvalidParams, "%s is no valid JSON", what)
	case found.TooMany:
		r.d.opts.Telemetry.Hit(telemetry.BoundArguments)
		return mcp.Errorf(mcp.KindInvalidParams, "%s has more than %d values, objects and arrays among them: send fewer", what, r.d.opts.ArgumentValues)
	case found.Repeated:
		return mcp.Errorf(mcp.KindInvalidParams, "%s has the name %q twice in one object: send it once", what, catalog.Clip(found.Duplicate))
	}
	return nil
}

// tooCostly refuses arguments that the tool's schema cannot be held against within bounds.
func (r *round) tooCostly(t *catalog.Tool) error {
	return mcp.Errorf(mcp.KindInvalidParams,
		"params.arguments of tool %q cannot be checked: its schema would be applied to their values more than %d times in all, or to larger strings than fit: send fewer, shorter or less nested values",
		catalog.Clip(t.Name), schema.MaxValues)
}

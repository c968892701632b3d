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

// noArguments replaces absent arguments.
var noArguments = json.RawMessage(`{}`)

// arguments returns the call's arguments: an object of at most ArgumentValues values, without
// duplicate names.
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

// forTool rewrites the call's arguments to those that the tool's backend reads, before any decision
// uses them. For a target behind an adapter, it brings them into the adapter's canonical form.
// Otherwise it removes null members if the tool's schema has an optional property of that name that
// does not accept null. It leaves malformed arguments unchanged; a later stage reports them.
func (r *round) forTool(t *catalog.Tool) {
	if t.Owner.Adapted() {
		r.canonical(t)
		return
	}
	r.withoutNulls(func(args []byte) []byte { return t.Check.Ready().Input.WithoutNulls(args) })
}

// canonical replaces the call's arguments with the canonical form of the adapter of the tool's
// backend. If the target would not accept them, it sets r.unread to an error of kind
// KindInvalidParams.
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
		r.call.Params.Arguments = out
	}
}

// forPrompt is forTool for a prompt, whose arguments are strings.
func (r *round) forPrompt() {
	r.withoutNulls(func(args []byte) []byte {
		out := append(make([]byte, 0, len(args)), '{')
		_ = jsonrpc.Members(args, func(name string, value json.RawMessage) error { // They were surveyed.
			if jsonrpc.TypeOf(value) != jsonrpc.Null {
				out = jsonrpc.AppendMember(out, name, value)
			}
			return nil
		})
		return append(out, '}')
	})
}

// withoutNulls replaces the arguments of the round's call with the result of read, if they contain
// a null.
func (r *round) withoutNulls(read func(args []byte) []byte) {
	if !bytes.Contains(r.call.Params.Arguments, []byte("null")) {
		return
	}
	args, err := r.arguments()
	if err != nil {
		return
	}
	if changed := read(args); len(changed) != len(args) {
		r.call.Params.Arguments = changed
	}
}

// survey bounds the values in a member of the params and rejects objects with duplicate names.
// Parsers differ in which of two values they use, so the edge could check one and the backend use
// the other.
func (r *round) survey(what string, raw json.RawMessage) error {
	found, ok := jsonrpc.SurveyOf(raw, r.d.opts.ArgumentValues)
	switch {
	case !ok:
		return mcp.Errorf(mcp.KindInvalidParams, "%s is not valid JSON", what)
	case found.TooMany:
		r.d.opts.Telemetry.Hit(telemetry.BoundArguments)
		return mcp.Errorf(mcp.KindInvalidParams, "%s has more than %d values, objects and arrays among them: send fewer", what, r.d.opts.ArgumentValues)
	case found.Repeated:
		return mcp.Errorf(mcp.KindInvalidParams, "%s has the name %q twice in one object: send it once", what, catalog.Clip(found.Duplicate))
	}
	return nil
}

// tooCostly returns the error for arguments that cannot be checked against the tool's schema within
// bounds.
func (r *round) tooCostly(t *catalog.Tool) error {
	return mcp.Errorf(mcp.KindInvalidParams,
		"params.arguments of tool %q cannot be checked: its schema would be applied to their values more than %d times in all, or to larger strings than fit: send fewer, shorter or less nested values",
		catalog.Clip(t.ShownName), schema.MaxValues)
}

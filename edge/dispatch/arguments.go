package dispatch

import (
	"encoding/json"

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
	case len(args) == 0, t == jsonrpc.Null:
		return noArguments, nil
	case t != jsonrpc.Object:
		return nil, mcp.Errorf(mcp.KindInvalidParams, "params.arguments must be an object, not %s", t)
	}
	return args, r.survey("params.arguments", args)
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
		return mcp.Errorf(mcp.KindInvalidParams, "%s has the name %q twice in one object: send it once", what, clip(found.Duplicate))
	}
	return nil
}

// tooCostly refuses arguments that the tool's schema cannot be held against within bounds.
func (r *round) tooCostly(t *tool) error {
	return mcp.Errorf(mcp.KindInvalidParams,
		"params.arguments of tool %q cannot be checked: its schema would be applied to their values more than %d times in all, or to larger strings than fit: send fewer, shorter or less nested values",
		clip(t.name), schema.MaxValues)
}

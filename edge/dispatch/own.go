package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// unwrap replaces a call of a tool of the edge that wraps a request by that request, if the set has
// the tool.
//
// Afterwards only Params.Wrapped distinguishes the request from one that a client made directly.
// These read it: resolve, which refuses tools that must be called by their own names; rename, which
// binds the call; readResource, whose result becomes that of a tool; quotas; tasks, which a read
// cannot become; the binding of a state; records; and telemetry.
//
// unwrap sets target.Misused if the arguments describe no request. It returns the error of the
// header that mirrors the name or the URI, or of arguments that cannot be read: see
// round.malformed.
func (r *round) unwrap() error {
	params := &r.call.Params
	if params.Wrapped == nil { // otherwise an earlier round has been unwrapped
		called := r.call.Method == mcp.MethodToolsCall && mcp.Wraps(params.Target) && r.call.Backend == ""
		if !called || !r.d.catalog.HasOwn(r.call.Set, params.Target) {
			return nil
		}
		if _, err := r.arguments(); err != nil {
			return err
		}
		if r.target.Misused = r.call.Unwrap(); r.target.Misused != nil {
			return nil
		}
		r.target.Repeatable = r.call.Method.Repeatable()
	}
	if r.rules.Stateless && r.call.Header != nil {
		return catalog.CheckOwnHeader(r.call.Header, params.Wrapped.Tool, params.Sent.Target)
	}
	return nil
}

// rejectOwnArguments makes the edge answer the call with the error about the arguments of its own tool. A nil
// error changes nothing. The call has no effects.
func (r *round) rejectOwnArguments(why error) {
	if why != nil {
		r.target.Misused, r.target.Repeatable = why, true
	}
}

// malformedOr returns r.malformed, or err if that is nil.
func (r *round) malformedOr(err error) error {
	if r.malformed != nil {
		return r.malformed
	}
	return err
}

// resolveOwn resolves a call of one of the edge's own tools. A valid call that wraps a request was
// replaced by unwrap, unless the set got the tool after that.
func (r *round) resolveOwn(ctx context.Context) error {
	r.target.Repeatable = true
	if disabled := r.named.Disabled(); disabled != nil {
		return r.refuseDisabled(ctx, disabled)
	}
	if r.malformed != nil {
		return r.malformed
	}
	if r.target.Misused == nil && mcp.Wraps(r.call.Params.Target) {
		return settingsChanged()
	}
	return nil
}

// callOwn runs a call of one of the edge's own tools: it answers the call, or refuses the arguments
// of a tool that wraps a request. The result has what the caller may see, as a list does. It
// charges the quotas of a tool with that name.
func (r *round) callOwn(ctx context.Context) (mcp.Reply, error) {
	switch {
	case r.target.Misused == nil:
	case r.named.Own:
		return r.schemaError(r.target.Misused)
	default: // the arguments fit, and name a tool that must be called by its own name
		result, err := translate.ArgumentError(r.rules, r.server(), r.masks(redact.Results).Text(r.target.Misused.Error()))
		if err != nil {
			return mcp.Reply{}, err
		}
		return argumentReply(result, nil)
	}
	args, err := r.arguments()
	if err != nil {
		return mcp.Reply{}, err
	}
	if r.call.Params.Target == mcp.ToolListResources {
		return r.listResources(ctx, args)
	}
	return r.findTools(ctx, args)
}

// structured returns the result of one of the edge's own tools, with the content as text, followed
// by advice for the model unless that is empty.
func (r *round) structured(content []byte, advice string) (mcp.Reply, error) {
	out := &pb.CallToolResult{StructuredContentJson: string(content)}
	if advice != "" {
		for _, text := range []string{string(content), advice} {
			out.Content = append(out.Content, &pb.ContentBlock{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: text}}})
		}
	}
	return translate.ToolResult(r.rules, r.server(), r.call.Envelope, out)
}

// listResources runs a call of mcp.ToolListResources.
func (r *round) listResources(ctx context.Context, args json.RawMessage) (mcp.Reply, error) {
	cursor, err := readListing(args)
	if err != nil {
		return r.schemaError(err)
	}
	if err := r.chargeAndAllow(ctx); err != nil {
		return mcp.Reply{}, err
	}
	page, err := r.d.catalog.ListResources(&r.named, r.rules, &r.call.Principal, cursor)
	if wrong := (*mcp.Error)(nil); errors.As(err, &wrong) && wrong.Kind == mcp.KindBadCursor {
		return r.schemaError(err)
	}
	if err != nil {
		return mcp.Reply{}, err
	}
	return r.structured(page, "")
}

// readListing reads the arguments of mcp.ToolListResources. A null counts as absent.
func readListing(args json.RawMessage) (cursor string, err error) {
	err = jsonrpc.Members(args, func(name string, value json.RawMessage) error {
		ok := true
		switch {
		case name != "cursor":
			return fmt.Errorf("there is no argument %.80q: send no arguments, or cursor", name)
		case jsonrpc.TypeOf(value) != jsonrpc.Null:
			cursor, ok = jsonrpc.Unquote(value)
		}
		if !ok {
			return errors.New("cursor has the wrong type: send nextCursor of the page before, which is a text")
		}
		return nil
	})
	return cursor, err
}

package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// unwrap changes a call of mcp.ToolCall, in a set with search, to one of the tool that it names. After it only these distinguish the two, by
// Params.Wrapped: resolve, which refuses tools that must be called by their own names, rename, which binds the call, the binding of a
// state, and telemetry. It sets r.misused if the arguments name no tool. An error is that of the header that mirrors the name, or of
// arguments that cannot be read.
func (r *round) unwrap() error {
	params := &r.call.Params
	if params.Wrapped == nil { // otherwise the era has unwrapped a later round
		if r.call.Method != mcp.MethodToolsCall || params.Target != mcp.ToolCall || r.call.Backend != "" || !r.d.catalog.Searches(r.call.Set) {
			return nil
		}
		if _, err := r.arguments(); err != nil {
			return err
		}
		if r.misused = params.Unwrap(); r.misused != nil {
			return nil
		}
	}
	if r.rules.Stateless && r.call.Header != nil {
		return catalog.CheckToolHeader(r.call.Header, params.Requested())
	}
	return nil
}

// misuse makes a call one that is answered with what is wrong with the arguments of mcp.ToolCall; nil means nothing. It has no effects.
func (r *round) misuse(why error) {
	if why != nil {
		r.misused, r.target.Misused, r.target.Repeatable = why, why, true
	}
}

// resolveOwn resolves a call of one of the edge's own tools. A call of mcp.ToolCall whose arguments are right has become another one, unless
// search was switched on since unwrap.
func (r *round) resolveOwn(ctx context.Context) error {
	r.target.Repeatable = true
	if disabled := r.named.Disabled(); disabled != nil {
		return r.refuseDisabled(ctx, disabled)
	}
	if r.misuse(r.misused); r.misused == nil && r.call.Params.Target == mcp.ToolCall {
		return settingsChanged()
	}
	return nil
}

// findTools runs a call of mcp.ToolFind, or refuses the arguments of a call of mcp.ToolCall. The edge decides about it as about a list: it
// shows what the caller may see. It spends the quotas of a tool of that name, and waits for one of the places for searches.
func (r *round) findTools(ctx context.Context) (mcp.Reply, error) {
	if r.misused != nil {
		return r.schemaError(r.misused)
	}
	args, err := r.arguments()
	if err != nil {
		return mcp.Reply{}, err
	}
	query, limit, err := readSearch(args)
	if err != nil {
		return r.schemaError(err)
	}
	if err := catalog.CheckSearch(query, limit); err != nil {
		return r.schemaError(err)
	}
	if decider := r.decider(); decider != nil {
		if err := decider.AdmitOwn(ctx, r.rules, r.call); err != nil {
			return mcp.Reply{}, err
		}
	}
	release, err := r.d.acquireSearch(ctx)
	if err != nil {
		return mcp.Reply{}, err
	}
	defer release()
	found := r.named.Find(r.rules, &r.call.Principal, query, limit)
	return translate.ToolResult(r.rules, r.server(), r.call.Envelope, &pb.CallToolResult{StructuredContentJson: string(found)})
}

// maxSearchWait bounds how long a search waits for a place.
const maxSearchWait = time.Second

// acquireSearch takes one of the places for searches, of which there is one for each processor, so that searches do not delay other
// requests; release returns it. It fails when ctx ends, or with KindLimit after maxSearchWait.
func (d *Dispatch) acquireSearch(ctx context.Context) (release func(), _ error) {
	if ctx.Err() != nil {
		return nil, mcp.Errorf(mcp.KindCancelled, "the search was cancelled: %w", context.Cause(ctx))
	}
	timer := time.NewTimer(d.searchWait)
	defer timer.Stop()
	select {
	case d.searches <- struct{}{}:
		return func() { <-d.searches }, nil
	case <-ctx.Done():
		return nil, mcp.Errorf(mcp.KindCancelled, "the search was cancelled: %w", context.Cause(ctx))
	case <-timer.C:
		return nil, &mcp.Error{Kind: mcp.KindLimit, Message: "too many searches run now: try again in a second", RetryAfter: time.Second}
	}
}

// readSearch reads the arguments of mcp.ToolFind. A null counts as absent.
func readSearch(args json.RawMessage) (query string, limit int, err error) {
	limit = catalog.DefaultFound
	err = jsonrpc.Members(args, func(name string, value json.RawMessage) error {
		ok := true
		switch {
		case name != "query" && name != "limit":
			return fmt.Errorf("there is no argument %.80q: send query, and perhaps limit", name)
		case jsonrpc.TypeOf(value) == jsonrpc.Null:
		case name == "query":
			query, ok = jsonrpc.Unquote(value)
		default:
			limit, ok = wholeNumber(value)
		}
		if !ok {
			return fmt.Errorf("%s has the wrong type: send a text as query and a whole number as limit", name)
		}
		return nil
	})
	return query, limit, err
}

// wholeNumber reads a number without a fraction, however it is written. One that is too large for an int32 becomes 0.
func wholeNumber(value json.RawMessage) (int, bool) {
	x, err := strconv.ParseFloat(string(value), 64)
	switch {
	case jsonrpc.TypeOf(value) != jsonrpc.Number || err != nil || x != math.Trunc(x):
		return 0, false
	case math.Abs(x) > math.MaxInt32:
		return 0, true
	}
	return int(x), true
}

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
)

// findTools runs a call of mcp.ToolFind. It waits for one of the places for searches.
func (r *round) findTools(ctx context.Context, args json.RawMessage) (mcp.Reply, error) {
	query, limit, err := readSearch(args)
	if err != nil {
		return r.schemaError(err)
	}
	if err := catalog.CheckSearch(query, limit); err != nil {
		return r.schemaError(err)
	}
	if err := r.chargeAndAllow(ctx); err != nil {
		return mcp.Reply{}, err
	}
	release, err := r.d.acquireSearch(ctx)
	if err != nil {
		return mcp.Reply{}, err
	}
	defer release()
	tools, n := r.named.Find(r.rules, &r.call.Principal, query, limit)
	if n == 0 {
		return r.structured(tools, noneFound)
	}
	return r.structured(tools, "")
}

// noneFound says to the model what to do after a search that found no tool.
const noneFound = "No tool was found: search again with other words, or with fewer. Say what the tool does and with what, such as: create bucket."

// maxSearchWait bounds the wait of a search for its turn.
const maxSearchWait = time.Second

// acquireSearch waits for the semaphore of searches, so that searches do not delay other requests.
// There can be one search for each processor. release releases it. It fails when ctx ends, or with
// KindLimit after maxSearchWait.
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

// wholeNumber parses an integer in any notation. An integer that exceeds an int32 becomes 0.
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

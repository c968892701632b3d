package dispatch

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// unwrap changes a call of mcp.ToolCall, in a set with search, to one of the tool that it names, so
// that nothing after it distinguishes the two. It sets r.misused if the arguments name none. An
// error is that of the header that mirrors the name, or of arguments that cannot be read.
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

// findTools runs a call of mcp.ToolFind, or refuses the arguments of a call of mcp.ToolCall. The
// edge decides about it as about a list: it shows what the caller may see.
func (r *round) findTools() (mcp.Reply, error) {
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
	found, err := r.named.Find(r.rules, &r.call.Principal, query, limit)
	if err != nil {
		return r.schemaError(err)
	}
	return translate.ToolResult(r.rules, r.server(), r.call.Envelope, &pb.CallToolResult{StructuredContentJson: string(found)})
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
			limit, err = strconv.Atoi(string(value))
			ok = err == nil
		}
		if !ok {
			return fmt.Errorf("%s has the wrong type: send a text as query and a whole number as limit", name)
		}
		return nil
	})
	return query, limit, err
}

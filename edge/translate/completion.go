package translate

import (
	"encoding/json"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// Completion is the request of completion/complete.
type Completion struct {
	// Prompt is true for a prompt's argument, false for a variable of a resource template.
	Prompt bool
	// Target is the prompt's name, as clients see it, or the URI template.
	Target string
	// Argument is the argument's name, Value the text typed so far.
	Argument, Value string
	// Arguments are the arguments chosen before, without Argument. nil means none, or that the
	// revision does not send them.
	Arguments map[string]string
}

// ParseCompletion parses the params of completion/complete (Server Features, "Completion").
func ParseCompletion(rules *revision.Rules, call *mcp.Call) (Completion, error) {
	var c Completion
	p := &call.Params
	kind, err := stringMember("params.ref", p.Ref(), "type")
	if err != nil {
		return Completion{}, err
	}
	member := "uri"
	switch kind {
	case "ref/prompt":
		c.Prompt, member = true, "name"
	case "ref/resource":
	default:
		return Completion{}, mcp.Errorf(mcp.KindInvalidParams, "params.ref.type: %q is not known; send \"ref/prompt\" or \"ref/resource\"", kind)
	}
	if c.Target, err = stringMember("params.ref", p.Ref(), member); err != nil {
		return Completion{}, err
	}
	if c.Argument, err = stringMember("params.argument", p.More().Argument, "name"); err != nil {
		return Completion{}, err
	}
	if c.Value, err = stringMember("params.argument", p.More().Argument, "value"); err != nil {
		return Completion{}, err
	}
	if rules.CompletionContext && len(p.More().Context) > 0 {
		if jsonrpc.TypeOf(p.More().Context) != jsonrpc.Object {
			return Completion{}, wrongType("params.context", p.More().Context, "an object, or leave it out")
		}
		arguments, _ := jsonrpc.Member(p.More().Context, "arguments")
		if c.Arguments, err = stringMap("params.context.arguments", arguments); err != nil {
			return Completion{}, err
		}
		delete(c.Arguments, c.Argument)
	}
	return c, nil
}

// stringMember reads a string member of an object in the client's params.
func stringMember(field string, object json.RawMessage, key string) (string, error) {
	if jsonrpc.TypeOf(object) != jsonrpc.Object {
		return "", wrongType(field, object, "an object")
	}
	value, _ := jsonrpc.Member(object, key)
	s, ok := jsonrpc.Unquote(value)
	if !ok {
		return "", wrongType(field+"."+key, value, "a string")
	}
	return s, nil
}

// maxCompletions bounds the values of a result, in every revision.
const maxCompletions = 100

// CompleteResult renders a CompleteResult. Beyond 100 values the rest is left out and hasMore is
// true. A negative total means unknown.
func CompleteResult(r *revision.Rules, s *Server, values []string, total *int32, hasMore bool) json.RawMessage {
	if len(values) > maxCompletions {
		values, hasMore = values[:maxCompletions], true
	}
	dst := append(make([]byte, 0, 256), `{"completion":{"values":`...)
	start := len(dst)
	for _, v := range values {
		dst = jsonrpc.AppendString(append(dst, ','), v)
	}
	dst = closeArray(dst, start)
	if total != nil && *total >= 0 {
		dst = strconv.AppendInt(append(dst, `,"total":`...), int64(*total), 10)
	}
	dst = strconv.AppendBool(append(dst, `,"hasMore":`...), hasMore)
	dst = append(dst, '}')
	return append(append(dst, s.tail[r.Index]...), '}')
}

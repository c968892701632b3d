package translate

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// AppendPrompt appends a Prompt of prompts/list (Server Features, "Prompts", "Data Types") under
// the name that clients see. On error dst is returned unchanged.
func AppendPrompt(dst []byte, r *revision.Rules, p *pb.Prompt, name string) ([]byte, error) {
	if p.GetName() == "" {
		return dst, contractError("name", "empty; send the prompt's name")
	}
	out := jsonrpc.AppendString(append(dst, `{"name":`...), name)
	if r.Titles {
		out = appendText(out, `,"title":`, p.GetTitle())
	}
	out = appendText(out, `,"description":`, p.GetDescription())
	out, err := appendPromptArguments(out, r, p.GetArguments())
	if err == nil {
		out, err = appendIcons(out, r, p.GetIcons())
	}
	if err == nil {
		out, err = appendObjectMeta(out, r, p.GetMetaJson())
	}
	if err != nil {
		return dst, err
	}
	return append(out, '}'), nil
}

func appendPromptArguments(dst []byte, r *revision.Rules, arguments []*pb.PromptArgument) ([]byte, error) {
	if len(arguments) == 0 {
		return dst, nil
	}
	dst = append(dst, `,"arguments":`...)
	start := len(dst)
	for i, a := range arguments {
		if a.GetName() == "" {
			return dst, withElement("arguments", i, contractError("name", "empty; send the argument's name"))
		}
		dst = jsonrpc.AppendString(append(dst, `,{"name":`...), a.GetName())
		if r.Titles {
			dst = appendText(dst, `,"title":`, a.GetTitle())
		}
		dst = appendText(dst, `,"description":`, a.GetDescription())
		if a.GetRequired() {
			dst = append(dst, `,"required":true`...)
		}
		dst = append(dst, '}')
	}
	return closeArray(dst, start), nil
}

// GetPromptRequest returns the request of one round of prompts/get. name is the prompt's own,
// without a prefix. Arguments must be an object of strings, or absent; null counts as absent.
func GetPromptRequest(call *mcp.Call, name string) (*pb.GetPromptRequest, error) {
	arguments, err := stringMap("params.arguments", call.Params.Arguments)
	if err != nil {
		return nil, err
	}
	ctx, err := Context(call)
	if err != nil {
		return nil, err
	}
	return &pb.GetPromptRequest{
		Name: name, Arguments: arguments, Context: ctx,
		InputResponses: inputResponses(call.Responses), State: call.State,
	}, nil
}

// stringMap reads an object of strings. It returns nil for absent and null, and leaves out members
// that are null.
func stringMap(field string, raw json.RawMessage) (map[string]string, error) {
	if len(raw) == 0 || jsonrpc.TypeOf(raw) == jsonrpc.Null {
		return nil, nil
	}
	if jsonrpc.TypeOf(raw) != jsonrpc.Object {
		return nil, wrongType(field, raw, "an object of strings, or leave it out")
	}
	out := make(map[string]string)
	err := jsonrpc.Members(raw, func(key string, value json.RawMessage) error {
		if jsonrpc.TypeOf(value) == jsonrpc.Null {
			return nil
		}
		s, ok := jsonrpc.Unquote(value)
		if !ok {
			return wrongType(field+"."+key, value, "a string")
		}
		out[key] = s
		return nil
	})
	if err != nil {
		return nil, asInvalid(field, err)
	}
	return out, nil
}

// asInvalid converts an error from parsing the client's JSON into one of invalid params.
func asInvalid(field string, err error) *mcp.Error {
	if e, ok := err.(*mcp.Error); ok {
		return e
	}
	return mcp.Errorf(mcp.KindInvalidParams, "%s: %w", field, err)
}

// PromptResult renders a GetPromptResult.
func PromptResult(r *revision.Rules, s *Server, res *pb.GetPromptResult) (json.RawMessage, error) {
	n := 64 + len(res.GetDescription()) + len(res.GetMetaJson()) + len(s.tail[r.Index])
	for _, m := range res.GetMessages() {
		n += 64 + contentSize([]*pb.ContentBlock{m.GetContent()})
	}
	dst := append(make([]byte, 0, n), `{"messages":`...)
	start := len(dst)
	for i, m := range res.GetMessages() {
		role, err := roleName("role", m.GetRole())
		if err != nil {
			return nil, withElement("messages", i, err)
		}
		dst = append(append(dst, `,{"role":"`...), role...)
		if dst, err = appendContent(append(dst, `","content":`...), r, m.GetContent(), i); err != nil {
			return nil, withElement("messages", i, withField("content", err))
		}
		dst = append(dst, '}')
	}
	dst = appendText(closeArray(dst, start), `,"description":`, res.GetDescription())
	dst, err := s.appendTail(dst, r, res.GetMetaJson())
	if err != nil {
		return nil, err
	}
	return append(dst, '}'), nil
}

package translate

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// AppendTool appends a Tool of tools/list (Server Features, "Tools", "Data Types") under the name that
// clients are to see. After an error dst is as it was.
func AppendTool(dst []byte, r *revision.Rules, t *pb.Tool, name string) ([]byte, error) {
	if t.GetName() == "" {
		return dst, broken("name", "empty; send the tool's name")
	}
	out := jsonrpc.AppendString(append(dst, `{"name":`...), name)
	if r.Titles {
		out = appendText(out, `,"title":`, t.GetTitle())
	}
	out = appendText(out, `,"description":`, t.GetDescription())
	out, err := appendInputSchema(append(out, `,"inputSchema":`...), r, t.GetInputSchemaJson())
	if err == nil {
		out, err = appendOutputSchema(out, r, t.GetOutputSchemaJson())
	}
	if err == nil {
		out, err = appendIcons(appendToolAnnotations(out, r, t), r, t.GetIcons())
	}
	if err == nil {
		out, err = appendObjectMeta(appendExecution(out, r, t.GetTaskSupport()), r, t.GetMetaJson())
	}
	if err != nil {
		return dst, err
	}
	return append(out, '}'), nil
}

// appendExecution says whether a client may, or has to, ask for a task.
func appendExecution(dst []byte, r *revision.Rules, t *pb.TaskSupport) []byte {
	if !r.Tasks {
		return dst
	}
	switch s := TaskSupport(t); {
	case s.Optional:
		return append(dst, `,"execution":{"taskSupport":"optional"}`...)
	case s.Required:
		return append(dst, `,"execution":{"taskSupport":"required"}`...)
	}
	return dst
}

// The bounds of what a tool may suggest for how often to ask for a task.
const minPoll, maxPoll = 100 * time.Millisecond, time.Hour

// TaskSupport reads whether calls of a tool may become tasks; nil: they may not. A mode that is not known forbids it, and an interval beyond its
// bounds is brought within them.
func TaskSupport(t *pb.TaskSupport) mcp.TaskSupport {
	s := mcp.TaskSupport{
		Optional: t.GetMode() == pb.TaskMode_TASK_MODE_OPTIONAL,
		Required: t.GetMode() == pb.TaskMode_TASK_MODE_REQUIRED,
	}
	s.AtOnce = t.GetStart() == pb.TaskStart_TASK_START_AT_ONCE || s.Required && t.GetStart() != pb.TaskStart_TASK_START_DEFERRED
	if p := t.GetPollInterval(); p != nil {
		s.Poll = min(max(p.AsDuration(), minPoll), maxPoll).Truncate(time.Millisecond)
	}
	return s
}

// appendToolAnnotations appends a tool's hints; its title is among them where tools have no own.
func appendToolAnnotations(dst []byte, r *revision.Rules, t *pb.Tool) []byte {
	if !r.ToolAnnotations {
		return dst
	}
	a := t.GetAnnotations()
	title := a.GetTitle()
	if title == "" && !r.Titles {
		title = t.GetTitle()
	}
	before := len(dst)
	dst = append(dst, `,"annotations":`...)
	start := len(dst)
	dst = appendText(dst, `,"title":`, title)
	if a != nil {
		dst = appendHint(dst, `,"readOnlyHint":`, a.ReadOnly)
		dst = appendHint(dst, `,"destructiveHint":`, a.Destructive)
		dst = appendHint(dst, `,"idempotentHint":`, a.Idempotent)
		dst = appendHint(dst, `,"openWorldHint":`, a.OpenWorld)
	}
	if len(dst) == start {
		return dst[:before]
	}
	return closeObject(dst, start)
}

// CallToolRequest is one round of tools/call; name is the tool's own, without a prefix. Arguments must
// be an object, or absent; null, which some clients send for none, counts as absent. Half a surrogate pair in them becomes
// U+FFFD, as all readers but some have it. The state aliases the call's.
func CallToolRequest(call *mcp.Call, name string) (*pb.CallToolRequest, error) {
	// One allocation holds what nearly every call has.
	var b struct {
		request pb.CallToolRequest
		context requestContext
	}
	req := &b.request
	switch arguments := call.Params.Arguments; jsonrpc.TypeOf(arguments) {
	case jsonrpc.Object:
		if jsonrpc.HasHalfPair(arguments) {
			arguments = bytes.Clone(arguments)
			jsonrpc.MendSurrogates(arguments)
		}
		req.ArgumentsJson = string(arguments)
	default:
		if len(arguments) > 0 && jsonrpc.TypeOf(arguments) != jsonrpc.Null {
			return nil, wrongType("params.arguments", arguments, "an object, or leave it out")
		}
	}
	req.Name = name
	req.Context = b.context.fill(call)
	req.InputResponses = inputResponses(call.Responses)
	req.State = call.State
	return req, nil
}

// CancelCallRequest tells of a call that was cancelled between two rounds, of which State is the last one's.
func CancelCallRequest(call *mcp.Call, name string) *pb.CancelCallRequest {
	return &pb.CancelCallRequest{Name: name, Context: new(requestContext).fill(call), State: call.State}
}

// wrongType refuses a member of the client's params for its type.
func wrongType(field string, value json.RawMessage, want string) *mcp.Error {
	what := jsonrpc.TypeOf(value).String()
	if len(value) == 0 {
		what = "missing"
	}
	return mcp.Errorf(mcp.KindInvalidParams, "%s: %s; send %s", field, what, want)
}

// ToolResult renders a CallToolResult. Where it has structured content and no text, a text block with
// its serialization is added, whether the revision has structured content or not.
func ToolResult(r *revision.Rules, s *Server, in mcp.Envelope, res *pb.CallToolResult) (mcp.Reply, error) {
	structured := res.GetStructuredContentJson()
	n := 64 + contentSize(res.GetContent()) + 2*stringSize(structured) + len(res.GetMetaJson()) + len(s.tail[r.Index])
	dst := append(in.Begin(n), '{')
	dst, err := appendToolOutput(dst, r, res.GetContent(), structured, res.GetIsError())
	if err != nil {
		return mcp.Reply{}, err
	}
	if dst, err = s.appendTail(dst, r, res.GetMetaJson()); err != nil {
		return mcp.Reply{}, err
	}
	reply := in.Reply(append(dst, '}'))
	reply.ToolError = res.GetIsError()
	return reply, nil
}

// appendToolOutput appends `"content":…`, structuredContent and isError: what a tool's result has in
// common with the tool_result block of sampling.
func appendToolOutput(dst []byte, r *revision.Rules, blocks []*pb.ContentBlock, structured string, isError bool) ([]byte, error) {
	dst, err := appendContents(append(dst, `"content":`...), r, blocks)
	if err != nil {
		return dst, err
	}
	if structured != "" {
		if dst, err = appendStructured(dst, r, structured, len(blocks) == 0, hasText(blocks)); err != nil {
			return dst, err
		}
	}
	if isError {
		dst = append(dst, `,"isError":true`...)
	}
	return dst, nil
}

// appendStructured follows the content array, to which it adds the text block unless there is text.
func appendStructured(dst []byte, r *revision.Rules, raw string, empty, text bool) ([]byte, error) {
	array := len(dst) - 1 // the array's closing bracket
	dst, err := appendJSON(append(dst, `,"structuredContent":`...), "structured_content_json", raw)
	if err != nil {
		return dst, err
	}
	value := dst[array+1+len(`,"structuredContent":`):]
	keep := r.StructuredAny || r.Structured && jsonrpc.TypeOf(value) == jsonrpc.Object
	if text {
		if !keep {
			dst = dst[:array+1]
		}
		return dst, nil
	}
	serialized := string(value)
	dst = dst[:array]
	if !empty {
		dst = append(dst, ',')
	}
	dst = append(appendTextBlock(dst, serialized), '}', ']')
	if keep {
		dst = append(append(dst, `,"structuredContent":`...), serialized...)
	}
	return dst, nil
}

// hasText reports whether a block is text.
func hasText(blocks []*pb.ContentBlock) bool {
	for _, block := range blocks {
		if _, ok := block.GetContent().(*pb.ContentBlock_Text); ok {
			return true
		}
	}
	return false
}

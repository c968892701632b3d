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

// AppendTool appends a Tool of tools/list (Server Features, "Tools", "Data Types") under the name
// that clients see. On error dst is returned unchanged.
func AppendTool(dst []byte, r *revision.Rules, t *pb.Tool, name string) ([]byte, error) {
	if t.GetName() == "" {
		return dst, contractError("name", "empty; send the tool's name")
	}
	out := jsonrpc.AppendString(append(dst, `{"name":`...), name)
	if r.Titles {
		out = appendText(out, `,"title":`, t.GetTitle())
	}
	out = appendText(out, `,"description":`, t.GetDescription())
	out, err := AppendInputSchema(append(out, `,"inputSchema":`...), r, t.GetInputSchemaJson())
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

// appendExecution appends whether a client may or must request a task.
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

// These bound the poll interval that a tool may suggest for its tasks.
const minPoll, maxPoll = 100 * time.Millisecond, time.Hour

// TaskSupport returns whether calls of a tool may become tasks; they may not if t is nil. An
// unknown mode forbids it, and the interval is clamped to its bounds.
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

// appendToolAnnotations appends a tool's hints. They include its title if the revision's tools have
// no title.
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

// CallToolRequest returns the request of one round of tools/call. name is the tool's own, without a
// prefix. Arguments must be an object or absent; null, which some clients send, counts as absent.
// Half a surrogate pair in them becomes U+FFFD, as most JSON parsers read it. The state aliases the
// call's.
func CallToolRequest(call *mcp.Call, name string) (*pb.CallToolRequest, error) {
	// One allocation holds the parts of almost every call.
	var b struct {
		request pb.CallToolRequest
		context requestContext
	}
	req := &b.request
	switch arguments := call.Params.Arguments; jsonrpc.TypeOf(arguments) {
	case jsonrpc.Object:
		if jsonrpc.HasLoneSurrogate(arguments) {
			arguments = bytes.Clone(arguments)
			jsonrpc.ReplaceLoneSurrogates(arguments)
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

// CancelCallRequest returns the notification of a call that was cancelled between two rounds. State
// is that of the last round.
func CancelCallRequest(call *mcp.Call, name string) *pb.CancelCallRequest {
	return &pb.CancelCallRequest{Name: name, Context: new(requestContext).fill(call), State: call.State}
}

// wrongType is the error of a client's param of a wrong type.
func wrongType(field string, value json.RawMessage, want string) *mcp.Error {
	what := jsonrpc.TypeOf(value).String()
	if len(value) == 0 {
		what = "missing"
	}
	return mcp.Errorf(mcp.KindInvalidParams, "%s: %s; send %s", field, what, want)
}

// ToolResult renders a CallToolResult. If it has structured content and no text, a text block with
// the serialization is added, in every revision.
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

// appendToolOutput appends `"content":…`, structuredContent and isError, which a tool's result and
// the tool_result block of sampling share.
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

// appendStructured appends structuredContent after the content array, to which it adds a text block
// unless text is true. empty is true if the array is empty.
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

// hasText reports whether any block is text.
func hasText(blocks []*pb.ContentBlock) bool {
	for _, block := range blocks {
		if _, ok := block.GetContent().(*pb.ContentBlock_Text); ok {
			return true
		}
	}
	return false
}

package catalog

import (
	"encoding/json"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/catalog/search"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// searching is the part of a view that only sets with search have.
type searching struct {
	// directOnly has the tools that mcp.ToolCall refuses, see listedOnly.
	directOnly map[*Tool]bool
	// index has the entries of the view's whole list of tools, by their indexes there. It is made
	// once, at the first search.
	index func() *search.Index
}

// The bounds of a search.
const (
	// maxQuery bounds a query, in characters.
	maxQuery = 1000
	// DefaultFound is the number of tools that a search finds, MaxFound the largest one that can be
	// asked for.
	DefaultFound, MaxFound = 5, 20
	// maxFoundBytes bounds the result of a search. Schemas that do not fit are left out.
	maxFoundBytes = 64 << 10
)

var (
	findTool = &pb.Tool{
		Name:        mcp.ToolFind,
		Title:       "Find tools",
		Description: "Finds tools of this server by words that say what they do. Most of its tools are not listed: search before you conclude that there is none.",
		InputSchemaJson: fmt.Sprintf(`{"type":"object","properties":{`+
			`"query":{"type":"string","minLength":1,"maxLength":%d,"description":"What the tool does, such as: create a storage bucket"},`+
			`"limit":{"type":"integer","minimum":1,"maximum":%d,"default":%d,"description":"How many tools at most"}},`+
			`"required":["query"],"additionalProperties":false}`, maxQuery, MaxFound, DefaultFound),
		OutputSchemaJson: `{"type":"object","properties":{"tools":{"type":"array","description":"The best match first","items":{"type":"object","properties":{` +
			`"name":{"type":"string"},"description":{"type":"string"},` +
			`"inputSchema":{"type":"object","description":"Absent if it is too large for the result"},` +
			`"direct":{"type":"boolean","description":"true: call it by its own name, not with ` + mcp.ToolCall + `"}},` +
			`"required":["name"]}},` +
			`"incomplete":{"type":"boolean","description":"true: some tools cannot be searched now, try again later"}},"required":["tools"]}`,
		Annotations: &pb.ToolAnnotations{ReadOnly: ptr(true), OpenWorld: ptr(false)},
	}
	callTool = &pb.Tool{
		Name:        mcp.ToolCall,
		Title:       "Call a tool",
		Description: "Calls a tool that " + mcp.ToolFind + " has found.",
		InputSchemaJson: `{"type":"object","properties":{` +
			`"name":{"type":"string","description":"The name of the tool","` + paramHeaderKey + `":"` + toolHeader + `"},` +
			`"arguments":{"type":"object","description":"As its inputSchema says"}},` +
			`"required":["name"],"additionalProperties":false}`,
		Annotations: &pb.ToolAnnotations{ReadOnly: ptr(false), Destructive: ptr(true), OpenWorld: ptr(true)},
	}
	// callToolAsTask is callTool where a tool behind it may become a task.
	callToolAsTask = &pb.Tool{
		Name: callTool.Name, Title: callTool.Title, Description: callTool.Description, InputSchemaJson: callTool.InputSchemaJson,
		Annotations: callTool.Annotations, TaskSupport: &pb.TaskSupport{Mode: pb.TaskMode_TASK_MODE_OPTIONAL},
	}
)

// searching returns the data for searches of the set, a function that reports whether tools/list
// shows the tool with an index, and one that returns the variant of one of the edge's own tools.
// kept has the indexes of earlier views. nil has none.
func (s *narrowing) searching(tools *toolSet, kept *indexes) (out *searching, shows func(i int) bool, variant func(*pb.Tool) *pb.Tool) {
	out = &searching{directOnly: make(map[*Tool]bool)}
	asTask := false
	listed := make([]bool, len(tools.List.Entries))
	for i, e := range tools.List.Entries {
		t := tools.ByName[e.key]
		if listedOnly(t) {
			out.directOnly[t] = true
		}
		listed[i] = out.directOnly[t] || s.set.Listed.Has(s.whole.overlay, overlay.KindTool, t.Owner.Name(), t.Proto.GetName())
		asTask = asTask || !listed[i] && t.Support().Optional
	}
	out.index = sync.OnceValue(func() *search.Index { return kept.of(s.set.Name, tools) })
	return out, func(i int) bool { return listed[i] }, func(t *pb.Tool) *pb.Tool {
		if asTask && t == callTool {
			return callToolAsTask
		}
		return t
	}
}

// listedOnly reports whether a tool must be called by its own name, so that its host or an
// intermediary can treat it as what it is:
//
//   - it says that it is destructive, or the overlay does;
//   - its page is shown with it, or `_meta` says who may see it;
//   - its arguments are mirrored in headers;
//   - it can be called as a task only.
func listedOnly(t *Tool) bool {
	destructive := func(x *pb.Tool) bool { return x.GetAnnotations().GetDestructive() }
	if destructive(t.Proto) || destructive(t.overlaid) || t.Tasks.Required || t.awaits == pb.TaskMode_TASK_MODE_REQUIRED {
		return true
	}
	if _, app := jsonrpc.Member([]byte(t.Proto.GetMetaJson()), metaApp); app || len(pagesOf(t.Proto.GetMetaJson())) > 0 {
		return true
	}
	mirrored, _ := paramHeaders(t.overlaid.GetInputSchemaJson())
	return len(mirrored) > 0
}

// forModels reports whether `_meta` of a tool lets models see it (MCP Apps, "Visibility").
func forModels(meta string) bool {
	app, _ := jsonrpc.Member([]byte(meta), metaApp)
	visibility, given := jsonrpc.Member(app, "visibility")
	if !given || jsonrpc.TypeOf(visibility) != jsonrpc.Array {
		return true
	}
	named := false
	jsonrpc.Elements(visibility, func(one json.RawMessage) bool {
		text, _ := jsonrpc.Unquote(one)
		named = named || text == "model"
		return true
	})
	return named
}

// visible returns for each entry of a list whether listed accepts it.
func (l *list) visible(listed func(*policy.Target) bool) []bool {
	out := make([]bool, len(l.Entries))
	for i, e := range l.Entries {
		out[i] = listed(&e.target)
	}
	return out
}

// ListedOnly returns the reason for which the tool must not be called through mcp.ToolCall in the
// target's set, as an error for the model. It returns nil if it may be.
func (t *Target) ListedOnly() error {
	switch {
	case t.view.search == nil || !t.view.search.directOnly[t.Tool]:
		return nil
	case !forModels(t.Tool.Proto.GetMetaJson()):
		return fmt.Errorf("the tool %q is not for models: only its page may call it", Clip(t.shown))
	}
	return fmt.Errorf("the tool %q is listed: call it by its own name, not with %s", Clip(t.shown), mcp.ToolCall)
}

// CheckSearch returns why a query and its limit are refused, for the model, or nil.
func CheckSearch(query string, limit int) error {
	switch {
	case query == "":
		return fmt.Errorf("query is missing: say what the tool does")
	case utf8.RuneCountInString(query) > maxQuery:
		return fmt.Errorf("query has %d characters, at most %d are taken: send a shorter one", utf8.RuneCountInString(query), maxQuery)
	case limit < 1 || limit > MaxFound:
		return fmt.Errorf("limit must be from 1 to %d", MaxFound)
	}
	return nil
}

// Find returns the structured content of a call of mcp.ToolFind, with tools that the caller may see
// in the target's set, and the number n of tools in it. CheckSearch must have accepted query and
// limit.
func (t *Target) Find(rules *revision.Rules, who *mcp.Principal, query string, limit int) (content []byte, n int) {
	tools := t.view.Tools
	out := []byte(`{"tools":[`)
	tail := `]}`
	if t.view.Incomplete() {
		tail = `],"incomplete":true}`
	}
	var scratch []byte
	most := maxFoundBytes - len(tail)
	for _, i := range t.view.search.index().Find(query, len(tools.List.Entries), t.view.visibleTo(who).visible) {
		e, ok := tools.List.Entries[i], false
		if n == limit {
			break
		}
		if scratch, ok = tools.List.appendEntry(scratch[:0], e, rules); !ok {
			continue // It breaks the contract.
		}
		n++
		one := tools.ByName[e.key]
		start := len(out)
		if start > len(`{"tools":[`) {
			out = append(out, ',')
		}
		out = appendFound(out, rules, one.ShownName, tools.shownOf(one), t.view.search.directOnly[one], most)
		if len(out) > most {
			out, n = out[:start], n-1
			break
		}
	}
	return append(out, tail...), n
}

// appendFound appends a tool to the result of a search. It omits the schema if the result would
// exceed most bytes with it. direct means that the tool must be called by its own name.
func appendFound(dst []byte, rules *revision.Rules, name string, shown *pb.Tool, direct bool, most int) []byte {
	dst = jsonrpc.AppendString(append(dst, `{"name":`...), name)
	if text := shown.GetDescription(); text != "" {
		dst = jsonrpc.AppendString(append(dst, `,"description":`...), mcp.ClipText(text))
	}
	if direct {
		dst = append(dst, `,"direct":true`...)
	}
	bare := len(dst)
	if bare+len(shown.GetInputSchemaJson()) >= most {
		return append(dst, '}')
	}
	dst, err := translate.AppendInputSchema(append(dst, `,"inputSchema":`...), rules, shown.GetInputSchemaJson())
	if err != nil || len(dst) >= most {
		dst = dst[:bare]
	}
	return append(dst, '}')
}

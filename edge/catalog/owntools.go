package catalog

import (
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// ownTools is the owner of the entries of the edge's own tools. No backend has an empty name.
const ownTools = ""

// ownTool is a tool of the edge itself. A set lists it in addition to the tools of backends, or
// instead of them. The edge answers its calls (see Target.Own) or unwraps them (see mcp.Wraps).
type ownTool struct {
	// definition is the listed tool. It has the same name in all sets, and no backend's tool has
	// that name there.
	definition *pb.Tool
	// key is the setting of a set that makes it have the tool, and in reports whether it does.
	key string
	in  func(*overlay.Set) bool
	// header is the header that mirrors the argument with the name or the URI of the wrapped
	// request. Its name is empty for a tool that wraps no request.
	header paramHeader
}

// ownToolsOf returns the edge's own tools that a set, which may be nil, has, in the order of lists.
func ownToolsOf(set *overlay.Set) (out []*ownTool) {
	for i := range allOwnTools {
		if t := &allOwnTools[i]; set != nil && t.in(set) {
			out = append(out, t)
		}
	}
	return out
}

// ownToolOf returns the edge's own tool of a name that a set, which may be nil, has, or nil.
func ownToolOf(set *overlay.Set, name string) *ownTool {
	for i := range allOwnTools {
		if t := &allOwnTools[i]; set != nil && t.definition.GetName() == name && t.in(set) {
			return t
		}
	}
	return nil
}

// isOwnTool reports whether a name is that of one of the edge's own tools.
func isOwnTool(name string) bool {
	return slices.ContainsFunc(allOwnTools, func(t ownTool) bool { return t.definition.GetName() == name })
}

// ownToolNotFound is the error for an operator who names one of the edge's own tools.
func ownToolNotFound(name string) error {
	return &disabled.NotFoundError{Message: fmt.Sprintf(
		"%q is a tool of the edge itself, which is disabled with its set: disable the set, or what is called and read through the tool", name)}
}

// allOwnTools are the edge's own tools, in the order of lists.
var allOwnTools = []ownTool{
	{definition: findTool, key: "search", in: searches},
	{definition: callTool, key: "search", in: searches, header: paramHeader{name: paramHeaderPrefix + toolHeader, path: []string{"name"}}},
	{definition: listResourcesTool, key: "as-tools", in: hasResourceTools},
	{definition: readResourceTool, key: "as-tools", in: hasResourceTools,
		header: paramHeader{name: paramHeaderPrefix + uriHeader, path: []string{"uri"}}},
}

func searches(s *overlay.Set) bool         { return s.Search }
func hasResourceTools(s *overlay.Set) bool { return s.ResourceTools }

// The headers that mirror the name of the tool in a call of mcp.ToolCall, and the URI in a call of
// mcp.ToolReadResource, without their prefix.
const (
	toolHeader = "Tool"
	uriHeader  = "Uri"
)

func ptr[T any](v T) *T { return &v }

// toolList returns tools/list of a set that has some of the edge's own tools: these, as variant
// returns them, and the members of tools whose indexes shows accepts. It shares the renderings of
// tools unless the set has search, because it then has few of them.
func (s *narrowing) toolList(tools *toolSet, report *reporter, shows func(int) bool, variant func(*pb.Tool) *pb.Tool) *list {
	out := newList(listTools, report)
	out.hint = tools.List.hint
	for owner := range tools.List.spans {
		out.spans[owner] = span{}
	}
	for _, one := range ownToolsOf(s.set) {
		t := variant(one.definition)
		render := func(dst []byte, r *revision.Rules) ([]byte, error) {
			return translate.AppendTool(dst, r, t, t.GetName())
		}
		out.Entries = append(out.Entries, &entry{key: t.GetName(), hash: keyHash(t.GetName()), render: render})
	}
	out.spans[ownTools] = span{0, len(out.Entries)}
	if !s.set.Search {
		out.own, out.whole = newList(listTools, report), tools.List
		out.own.Entries = slices.Clone(out.Entries)
	}
	for i, e := range tools.List.Entries {
		if !shows(i) {
			continue
		}
		n := len(out.Entries)
		if at := out.spans[e.owner]; at.from < at.to {
			out.spans[e.owner] = span{at.from, n + 1}
		} else {
			out.spans[e.owner] = span{n, n + 1}
		}
		out.Entries, out.numbers = append(out.Entries, e), append(out.numbers, i)
	}
	return out
}

// addOwnTools adds the edge's own tools, and the data for searches, to the view of a set that has
// them.
func (s *narrowing) addOwnTools(n *View, c *viewOptions) {
	if len(ownToolsOf(s.set)) == 0 {
		return
	}
	shows, variant := func(int) bool { return true }, func(t *pb.Tool) *pb.Tool { return t }
	if s.set.Search {
		kept := c.indexes
		if s.whole.private {
			kept = nil
		}
		n.search, shows, variant = s.searching(n.Tools, kept)
	}
	n.listed = s.toolList(n.Tools, c.report, shows, variant)
}

// listedTools returns what tools/list shows of the view.
func (v *View) listedTools() *list {
	if v.listed != nil {
		return v.listed
	}
	return v.Tools.List
}

// callsOwn reports whether a call is one of the edge's own tools in the set of its request.
func (v *View) callsOwn(call *mcp.Call) bool {
	return call.Method == mcp.MethodToolsCall && call.Params.Wrapped == nil && call.Backend == "" && v.hasOwn(call.Set, call.Params.Target)
}

// hasOwn reports whether a set of the view's generation has a tool of the edge.
func (v *View) hasOwn(set, tool string) bool {
	return set != "" && v.sets != nil && ownToolOf((*v.sets)[set], tool) != nil
}

// HasOwn reports whether a set has a tool of the edge now. A request may be resolved later in
// another view: see Target.HasOwn.
func (c *Catalog) HasOwn(set, tool string) bool { return c.views.Shared.Load().hasOwn(set, tool) }

// HasOwn reports whether the set in which the target was resolved has a tool of the edge.
func (t *Target) HasOwn(tool string) bool { return ownToolOf(t.view.set, tool) != nil }

// CheckOwnHeader compares the header of a call that wraps a request with the name or URI of the
// wrapped request. tool is the tool of the edge.
func CheckOwnHeader(h mcp.Header, tool, name string) error {
	at := slices.IndexFunc(allOwnTools, func(t ownTool) bool { return t.definition.GetName() == tool })
	return allOwnTools[at].header.check(h, jsonrpc.AppendString(nil, name))
}

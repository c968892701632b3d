package catalog

import (
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/schema/portable"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// toolSet is the tools of a view.
type toolSet struct {
	ByName map[string]*Tool
	// reserved maps the tool names of backends that are away to them.
	reserved map[string]*backend.Backend
	// outranked are the tools whose names now belong to other backends. Calls that they started
	// continue with them.
	outranked map[ownName]*Tool
	// hidden are the tools that the overlay hides. Nothing calls them, but calls that they started
	// can be cancelled.
	hidden    map[ownName]*Tool
	List      *list
	conflicts []Conflict
	digest    uint64
}

// Tool is one tool of one backend.
type Tool struct {
	Name  string // as shown, with the prefix
	Owner *backend.Backend
	Proto *pb.Tool // as the backend lists it
	// overlaid is Proto with what the overlay changes, and Shown what tools/list shows of that.
	overlaid *pb.Tool
	Shown    *pb.Tool
	// Form is the schema of its arguments in tools/list. nil means as the backend sends it.
	Form *portable.Result
	// stray is true if the tool is shown without the page that its `_meta` names, see strays.
	stray bool
	Check *ToolCheck
	// Tasks says whether a call of it may become a task.
	Tasks mcp.TaskSupport
	// Target is the input of policy rules for the tool.
	Target policy.Target
	// Size points to the expected size of its messages. nil means not looked up yet.
	Size atomic.Pointer[Size]
}

func (m *merge) tools(prev *toolSet, digest uint64, strays strays) *toolSet {
	if prev != nil && prev.digest == digest && prev.List.hint == m.hint(listTools) {
		return prev
	}
	s := &toolSet{ByName: make(map[string]*Tool), reserved: make(map[string]*backend.Backend), outranked: make(map[ownName]*Tool), hidden: make(map[ownName]*Tool), digest: digest}
	s.List = m.list(listTools, "tool", &s.conflicts, func(p part, add func(string, entry) bool) {
		list := portable.NewList(m.showing.work)
		defer m.reportWithheld(p.Backend.Name(), list)
		for _, x := range p.Catalog.Tools {
			if x.GetName() == "" {
				add("", entry{})
				continue
			}
			t := &Tool{Name: p.Backend.Prefix() + x.GetName(), Owner: p.Backend, Proto: x, Tasks: translate.TaskSupport(x.GetTaskSupport())}
			if m.showing.overlay.Tools().Hides(p.Backend.Name(), x.GetName()) {
				s.hidden[ownName{p.Backend.Name(), t.Name}] = t
				continue
			}
			render := func(dst []byte, r *revision.Rules) ([]byte, error) {
				return translate.AppendTool(dst, r, t.Shown, t.Name)
			}
			var before *Tool
			if prev != nil {
				before = prev.ByName[t.Name]
			}
			m.overlay(t, before)
			if !add(t.Name, entry{render: render, target: t.Target}) {
				t.Shown, t.Check = t.overlaid, newToolCheck(p.Backend.Name(), x, m.report)
				s.outranked[ownName{p.Backend.Name(), t.Name}] = t
				continue
			}
			if before != nil && before.Proto == x {
				t.Check = before.Check
			} else {
				t.Check = newToolCheck(p.Backend.Name(), x, m.report)
			}
			_, t.stray = strays[[2]string{p.Backend.Name(), x.GetName()}]
			if t.Shown = t.overlaid; !t.Owner.FullSchemas() {
				t.show(list, before)
			} else if t.stray {
				t.Shown = pageless(t.overlaid)
			}
			s.ByName[t.Name] = t
		}
	}, func(name string, rank int) { s.reserved[name] = m.parts[rank].Backend })
	return s
}

// overlay sets what the overlay changes of a tool. before is the tool of the same name in the previous view, or nil.
func (m *merge) overlay(t, before *Tool) {
	if m.sameOverlay && before != nil && before.Proto == t.Proto {
		t.overlaid, t.Target = before.overlaid, before.Target
		return
	}
	t.overlaid, _ = m.showing.overlay.Tool(t.Owner.Name(), t.Proto)
	hints := HintsOf(t.Proto.GetAnnotations())
	if t.overlaid != t.Proto {
		hints = hints.Stricter(HintsOf(t.overlaid.GetAnnotations()))
	}
	t.Target = policy.Target{Kind: policy.Tool, Method: mcp.MethodToolsCall, Name: t.Name, Backend: t.Owner.Name(), Hints: hints}
}

// Repeatable reports whether repeating a call has no further effect. That is the backend's promise, which the overlay can only take back.
func (t *Tool) Repeatable() bool { return t.Target.Hints.ReadOnly || t.Target.Hints.Idempotent }

// ownName is a backend's name and a tool's or prompt's name as clients see it.
type ownName struct{ backend, name string }

// toolOf returns the tool that a call names, or nil. If the call is bound to a backend, it returns
// that backend's tool.
func (v *View) toolOf(call *mcp.Call) *Tool {
	t := v.Tools.ByName[call.Params.Target]
	if call.Backend == "" || t != nil && t.Owner.Name() == call.Backend {
		return t
	}
	return v.Tools.outranked[ownName{call.Backend, call.Params.Target}]
}

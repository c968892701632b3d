package catalog

import (
	"cmp"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/schema/portable"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// toolSet is the tools of a view.
type toolSet struct {
	// ByName has the tools by the names that calls may use, which are those in lists and aliases.
	ByName map[string]*Tool
	// reserved has the tools of backends that are away, by the same names.
	reserved map[string]reserved
	// byCanonical has all tools by their canonical names. Running calls continue with these, even if
	// another backend now has the name that the client used.
	byCanonical map[canonicalName]*Tool
	// hidden has the tools that no caller sees. Calls of them cannot begin, but running calls can be
	// cancelled.
	hidden map[canonicalName]hidden
	List   *list
	// schemas selects the form of the set's schemas. forms has the tools whose form differs from
	// Tool.Shown. nil means none.
	schemas   overlay.Schemas
	forms     map[*Tool]*pb.Tool
	conflicts []Conflict
	problems  []problem
	digest    uint64
}

// Tool is one tool of one backend.
type Tool struct {
	// Name is the canonical name: the backend's, after its prefix. ShownName is the one in lists,
	// which the overlay may have changed.
	Name, ShownName string
	Owner           *backend.Backend
	Proto           *pb.Tool // the backend's own
	// overlaid is Proto with the overlay's changes. Shown is the form of that in tools/list.
	overlaid *pb.Tool
	Shown    *pb.Tool
	// Form is the schema of its arguments in tools/list. nil means the backend's own schema.
	Form *portable.Result
	// portable is the portable form of a tool that the root shows in full. nil means that no set has
	// shown it.
	portable atomic.Pointer[portable.Result]
	// foreignPage is true if the tool is shown without the page that its `_meta` names, see foreignPages.
	foreignPage bool
	Check       *ToolCheck
	// Tasks says how a call of the tool may become a task.
	Tasks mcp.TaskSupport
	// awaits says how a call must be made if the policy may require an approval: as a task, optional
	// or required. It overrides the tool's own task support. TASK_MODE_UNSPECIFIED means that calls
	// do not wait.
	awaits pb.TaskMode
	// Target is the input of policy rules for the tool.
	Target policy.Target
	// Arguments are the arguments to which the overlay adds a value. nil means none.
	Arguments []overlay.Argument
	// Trials are pinned arguments in audit mode.
	Trials []overlay.Argument
	// MaxTokens bounds its results; longer ones are shortened. 0 means no bound.
	MaxTokens int
	// Size points to the expected size of its messages. nil means that it was not looked up yet.
	Size atomic.Pointer[Size]
}

func (m *merge) tools(prev *toolSet, digest uint64, strays foreignPages) *toolSet {
	if prev != nil && m.sameOverlay && m.sameBackends && m.sameApprovals && prev.digest == digest && prev.List.hint == m.hint(listTools) {
		return prev
	}
	s := &toolSet{ByName: make(map[string]*Tool), reserved: make(map[string]reserved), byCanonical: make(map[canonicalName]*Tool), hidden: make(map[canonicalName]hidden), digest: digest}
	s.List = m.list(listTools, "tool", &s.conflicts, func(p part, add func(string, entry) []string) {
		list := portable.NewList(m.showing.work)
		defer m.report.withheld(p.Backend.Name(), "", list)
		for _, x := range p.Catalog.Tools {
			if x.GetName() == "" {
				add("", entry{})
				continue
			}
			t := &Tool{Name: canonical(listTools, p.Backend, x.GetName()), Owner: p.Backend, Proto: x, Tasks: translate.TaskSupport(x.GetTaskSupport())}
			own := canonicalName{p.Backend.Name(), t.Name}
			change := m.changed(listTools, p, x.GetName())
			if err := m.overlayTool(t, prev, &change); err != nil || change.Hide {
				m.reportUnchanged(&s.problems, p, "tool", x.GetName(), err)
				s.hidden[own] = hidden{tool: t, given: change.Given(), impossible: err}
				continue
			}
			m.reportTrials(&s.problems, p, "tool", x.GetName(), t.Trials)
			t.ShownName, t.MaxTokens = cmp.Or(change.Name, t.Name), change.MaxTokens
			listed := m.shownAs(t)
			render := func(dst []byte, r *revision.Rules) ([]byte, error) {
				return translate.AppendTool(dst, r, listed(), t.ShownName)
			}
			before := prev.of(own)
			keys := add(x.GetName(), entry{render: render, shown: func() (proto.Message, string) { return listed(), t.ShownName }, target: t.Target})
			if len(keys) > 0 || s.byCanonical[own] == nil {
				s.byCanonical[own] = t
			}
			if len(keys) == 0 {
				t.Shown, t.Check = t.overlaid, newToolCheck(p.Backend.Name(), x, m.report)
				continue
			}
			if before != nil && before.Proto == x {
				t.Check = before.Check
			} else {
				t.Check = newToolCheck(p.Backend.Name(), x, m.report)
			}
			_, t.foreignPage = strays[[2]string{p.Backend.Name(), x.GetName()}]
			if t.Shown = t.overlaid; !t.Owner.FullSchemas() {
				t.show(list, before)
			} else {
				t.keepForm(before)
				if t.foreignPage {
					t.Shown = pageless(t.overlaid)
				}
			}
			for _, key := range keys {
				s.ByName[key] = t
			}
		}
	}, func(key, name string, rank int) { s.reserved[key] = m.reserved(listTools, name, rank) })
	if prev != nil {
		s.List.keepSums(prev.List)
	}
	return s
}

// of returns a tool of a view, or nil. The view may be nil.
func (s *toolSet) of(name canonicalName) *Tool {
	if s == nil {
		return nil
	}
	return s.byCanonical[name]
}

// overlayTool applies the overlay's changes to a tool. prev is the previous view's set, or nil. The
// error means that the tool cannot be shown.
func (m *merge) overlayTool(t *Tool, prev *toolSet, change *overlay.Entry) (err error) {
	before := prev.of(canonicalName{t.Owner.Name(), t.Name})
	if m.sameOverlay && before != nil && before.Proto == t.Proto {
		t.overlaid, t.Target, t.Arguments, t.Trials = before.overlaid, before.Target, before.Arguments, before.Trials
		return nil
	}
	if t.overlaid, err = change.Tool(t.Proto); err != nil {
		return err
	}
	schema := t.Proto.GetInputSchemaJson()
	t.Arguments, t.Trials = overlay.Typed(overlay.Adding(change.Arguments), schema), overlay.ToolTrials(change.Trials, schema)
	hints := HintsOf(t.Proto.GetAnnotations())
	if t.overlaid != t.Proto {
		hints = hints.Stricter(HintsOf(t.overlaid.GetAnnotations()))
	}
	t.Target = policy.Target{Kind: policy.Tool, Method: mcp.MethodToolsCall, Name: t.Name, Backend: t.Owner.Name(), Hints: hints}
	return nil
}

// Repeatable reports whether repeating a call has no further effect. That is the backend's promise,
// which the overlay can only revoke.
func (t *Tool) Repeatable() bool { return t.Target.Hints.ReadOnly || t.Target.Hints.Idempotent }

// reserved is a tool or prompt of a backend that is away. name is its canonical name.
type reserved struct {
	owner *backend.Backend
	name  string
}

// reserved returns a remembered name of the part with a rank.
func (m *merge) reserved(kind listKind, name string, rank int) reserved {
	b := m.parts[rank].Backend
	return reserved{b, canonical(kind, b, name)}
}

// toolOf returns the tool that a call names, or nil. A call that is bound to a backend names a tool
// of it by the canonical name.
func (v *View) toolOf(call *mcp.Call) *Tool {
	if call.Backend == "" {
		return v.Tools.ByName[call.Params.Target]
	}
	return v.Tools.byCanonical[canonicalName{call.Backend, call.Params.Target}]
}

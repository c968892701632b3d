package catalog

import (
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/schema/portable"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// showOptions is how listed entries are shown.
type showOptions struct {
	// overlay may be nil.
	overlay *overlay.Overlay
	// access decides which entries a caller sees. nil shows all.
	access Visibility
	// sets may be nil.
	sets *overlay.Sets
	// disabled is what operators have disabled; nil if nothing is.
	disabled *disabled.List
	// work bounds the work of making the portable schemas of one backend. 0 means
	// portable.ListWork.
	work int
}

// show sets the form of a tool in tools/list. Calls use the tool as the backend lists it. before is
// the tool of the same name in the previous view, or nil; results for the same schema are reused.
func (t *Tool) show(list *portable.List, before *Tool) {
	var known *portable.Result
	if before != nil && before.overlaid.GetInputSchemaJson() == t.overlaid.GetInputSchemaJson() {
		known = before.Form
	}
	t.Form = list.Schema(t.overlaid.GetInputSchemaJson(), known)
	if before != nil && before.overlaid == t.overlaid && before.Form == t.Form && before.foreignPage == t.foreignPage {
		t.Shown = before.Shown
		return
	}
	if t.Shown = shown(t.overlaid, t.Form); t.foreignPage {
		t.Shown = pageless(t.Shown)
	}
}

// keepForm keeps the portable form of a tool of the previous view, before, for the sets that show
// it. before may be nil.
func (t *Tool) keepForm(before *Tool) {
	if before != nil && before.overlaid.GetInputSchemaJson() == t.overlaid.GetInputSchemaJson() {
		t.portable.Store(before.portable.Load())
	}
}

// shown returns a tool with another form of its arguments' schema.
func shown(t *pb.Tool, form *portable.Result) *pb.Tool {
	if form.JSON == t.GetInputSchemaJson() && len(form.Notes) == 0 {
		return t
	}
	out := proto.CloneOf(t)
	out.InputSchemaJson = form.JSON
	out.Description = form.Describe(t.GetDescription())
	return out
}

// withheld logs that some schemas of a backend's tools are not shown in a set; empty means the root.
func (r *reporter) withheld(owner, set string, list *portable.List) {
	if n := list.Withheld(); n > 0 {
		about := []any{"backend", owner, "tools", n}
		if set != "" {
			about = append(about, "set", set)
		}
		r.once("withheld\x00"+owner+"\x00"+set,
			"the schemas of a backend's tools are too large together: the arguments of the last tools are listed as any object; send smaller schemas or fewer tools, or set schemas: full",
			about...)
	}
}

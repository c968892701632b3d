package catalog

import (
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/schema/portable"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// showing bounds how tools/list shows the schemas of arguments.
type showing struct {
	// work bounds what it takes to make the portable ones of one backend; 0: portable.ListWork.
	work int
}

// show sets in which form tools/list has a tool; calls go on by the tool as the backend lists it. before is the tool
// of its name in the view before, or nil: what was made of the same schema is taken over.
func (t *Tool) show(list *portable.List, before *Tool) {
	var known *portable.Result
	if before != nil && before.Proto.GetInputSchemaJson() == t.Proto.GetInputSchemaJson() {
		known = before.Form
	}
	t.Form = list.Schema(t.Proto.GetInputSchemaJson(), known)
	if before != nil && before.Proto == t.Proto && before.Form == t.Form && before.stray == t.stray {
		t.Shown = before.Shown
		return
	}
	if t.Shown = shown(t.Proto, t.Form); t.stray {
		t.Shown = pageless(t.Shown)
	}
}

// shown is a tool with another form of its arguments' schema.
func shown(t *pb.Tool, form *portable.Result) *pb.Tool {
	if form.JSON == t.GetInputSchemaJson() && len(form.Notes) == 0 {
		return t
	}
	out := proto.CloneOf(t)
	out.InputSchemaJson = form.JSON
	out.Description = form.Describe(t.GetDescription())
	return out
}

// reportWithheld logs that not all schemas of a backend's tools are shown.
func (m *merge) reportWithheld(owner string, list *portable.List) {
	if n := list.Withheld(); n > 0 {
		m.report.once("withheld\x00"+owner,
			"the schemas of a backend's tools are too large together, and those of the last tools are not shown: their arguments are listed as any object; send smaller schemas or fewer tools, or set schemas: full",
			"backend", owner, "tools", n)
	}
}

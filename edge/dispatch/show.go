package dispatch

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
func (t *tool) show(list *portable.List, before *tool) {
	var known *portable.Result
	if before != nil && before.pb.GetInputSchemaJson() == t.pb.GetInputSchemaJson() {
		known = before.form
	}
	t.form = list.Schema(t.pb.GetInputSchemaJson(), known)
	if before != nil && before.pb == t.pb && before.form == t.form && before.stray == t.stray {
		t.shown = before.shown
		return
	}
	if t.shown = shown(t.pb, t.form); t.stray {
		t.shown = pageless(t.shown)
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

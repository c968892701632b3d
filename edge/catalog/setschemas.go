package catalog

import (
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/schema/portable"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// fullIn reports whether a set shows the schemas of a backend's tools as the backend writes them.
func fullIn(set *overlay.Set, b *backend.Backend) bool {
	switch set.Schemas {
	case overlay.SchemasFull:
		return true
	case overlay.SchemasPortable:
		return false
	case overlay.SchemasAuto:
		return !b.Adapted()
	}
	return b.FullSchemas()
}

// shownOf returns the form in which the set's tools/list shows a tool of it.
func (s *toolSet) shownOf(t *Tool) *pb.Tool {
	if other := s.forms[t]; other != nil {
		return other
	}
	return t.Shown
}

// applySchemas shows the tools of a set in the form of the set's schemas, where that differs from the
// root's form. Calls are still validated by the full schemas. work is that of showOptions.
func (s *narrowing) applySchemas(tools *toolSet, report *reporter, work int) {
	tools.schemas = s.set.Schemas
	lists := make(map[*backend.Backend]*portable.List)
	for i, e := range tools.List.Entries {
		t := tools.ByName[e.key]
		full := fullIn(s.set, t.Owner)
		if full == t.Owner.FullSchemas() {
			continue
		}
		if tools.forms == nil {
			tools.forms = make(map[*Tool]*pb.Tool)
			tools.List.detach()
		}
		other := t.overlaid
		if !full {
			if lists[t.Owner] == nil {
				lists[t.Owner] = portable.NewList(work)
			}
			form := lists[t.Owner].Schema(t.overlaid.GetInputSchemaJson(), t.portable.Load())
			t.portable.Store(form)
			other = shown(t.overlaid, form)
		}
		if t.foreignPage {
			other = pageless(other)
		}
		other = asTask(other, t.awaits)
		tools.forms[t] = other
		own := *e
		own.sum = new(entrySum)
		own.render = func(dst []byte, r *revision.Rules) ([]byte, error) {
			return translate.AppendTool(dst, r, other, t.ShownName)
		}
		tools.List.Entries[i] = &own
	}
	for owner, list := range lists {
		report.withheld(owner.Name(), s.set.Name, list)
	}
}

// detach makes a subset an independent list, whose entries may be rendered differently from those
// of the whole list.
func (l *list) detach() { l.whole, l.numbers = nil, nil }

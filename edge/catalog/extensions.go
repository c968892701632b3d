package catalog

import (
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// extensions adds the extensions of a backend that the edge forwards to clients unchanged, and
// reports the others. If several backends declare one, the first one's settings are used, and later
// ones that differ are conflicts.
func (m *merge) extensions(f *translate.Features, owner *backend.Backend, settings map[string]string) {
	for _, said := range owner.NotCarried(settings) {
		m.report.once("extension\x00"+owner.Name()+"\x00"+said, said, "backend", owner.Name())
	}
	for _, id := range slices.Sorted(maps.Keys(settings)) {
		if !owner.Carries(id) {
			continue
		}
		setting := string(jsonrpc.Compact(nil, []byte(settings[id])))
		kept, taken := f.Extensions[id]
		switch {
		case !taken:
			if f.Extensions == nil {
				f.Extensions = make(map[string]string)
			}
			f.Extensions[id] = setting
		case kept != setting:
			m.conflicts = append(m.conflicts, Conflict{What: "extension", Key: id, Kept: m.extensionOwner(id), Dropped: owner.Name()})
		}
	}
}

// extensionOwner returns the name of the first backend whose settings of an extension are used.
func (m *merge) extensionOwner(id string) string {
	for _, p := range m.parts {
		if _, ok := p.Catalog.Describe.GetExtensionsJson()[id]; ok && p.Backend.Carries(id) {
			return p.Backend.Name()
		}
	}
	return ""
}

package catalog

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// overlaidName is a name of a backend in one list.
type overlaidName struct {
	kind    listKind
	backend *backend.Backend
	name    string
}

// overlay returns the entries of the overlay about a list.
func (m *merge) overlay(kind listKind) overlay.List { return entriesOf(m.showing.overlay, kind) }

// entriesOf returns the entries of an overlay about a list. It returns none for the zero kind.
func entriesOf(o *overlay.Overlay, kind listKind) overlay.List {
	switch kind {
	case listTools:
		return o.Tools()
	case listPrompts:
		return o.Prompts()
	case listResources, listTemplates, listSkills:
		return o.Resources()
	default:
		return overlay.List{}
	}
}

// changed returns the overlay's change of a name that a part lists. A tool is also hidden if it differs from a lock that blocks.
func (m *merge) changed(kind listKind, p part, name string) overlay.Entry {
	entries := m.overlay(kind)
	if !entries.About(p.Backend.Name()) {
		return overlay.Entry{}
	}
	at := overlaidName{kind, p.Backend, name}
	e, known := m.changes[at]
	if !known {
		e = entries.Of(p.Backend.Name(), name)
		if kind != listTools && kind != listPrompts {
			e.Hide = e.Hide || m.hidesListed(entries, kind, p, name, len(p.Catalog.Resources)+len(p.Catalog.Skills))
		}
		e.Hide = e.Hide || m.locked.hides(kind, p.Backend, name)
		if m.changes == nil {
			m.changes = make(map[overlaidName]overlay.Entry)
		}
		m.changes[at] = e
	}
	return e
}

// keys returns the keys by which clients find a name or URI of a part: the one in lists, then
// aliases. It returns none if the overlay hides the name.
func (m *merge) keys(kind listKind, p part, name string) []string {
	e := m.changed(kind, p, name)
	switch {
	case e.Hide:
		return nil
	case e.Name == "":
		return append([]string{canonical(kind, p.Backend, name)}, e.Aliases...)
	}
	return e.Given()
}

// canonical returns the canonical name of a backend's name, as used by policy, quotas, metrics and
// the audit: the name after the backend's prefix. The URIs of resources have no prefix.
func canonical(kind listKind, b *backend.Backend, name string) string {
	if kind == listTools || kind == listPrompts {
		return b.Prefix() + name
	}
	return name
}

// foldOverlay writes the overlay's changes of a part's list to a digest. If the overlay hides some
// of the entries, digest is that of the others: clients must not be notified of changes that they
// cannot see.
func (m *merge) foldOverlay(h io.Writer, kind listKind, p part) (digest uint64, hides bool) {
	if !m.overlay(kind).About(p.Backend.Name()) {
		return 0, false
	}
	switch kind {
	case listTools:
		return foldShown(h, m, kind, p, p.Catalog.Tools, (*pb.Tool).GetName)
	case listPrompts:
		return foldShown(h, m, kind, p, p.Catalog.Prompts, (*pb.Prompt).GetName)
	}
	resources, some := foldShown(h, m, listResources, p, p.Catalog.Resources, (*pb.Resource).GetUri)
	templates, more := foldShown(h, m, listTemplates, p, p.Catalog.Templates, (*pb.ResourceTemplate).GetUriTemplate)
	shown, changed := m.shownSkills(p)
	skills, most := foldShown(h, m, listSkills, p, shown, (*pb.Skill).GetUri)
	if !some && !more && !most && !changed {
		return 0, false
	}
	all := fnv.New64a()
	for _, digest := range []uint64{resources, templates, skills} {
		_, _ = all.Write(binary.BigEndian.AppendUint64(nil, digest))
	}
	return all.Sum64(), true
}

// foldShown is foldOverlay for a list of one kind, whose entries have the names that nameOf returns.
// digest is that of the shown entries, whether or not others are hidden.
func foldShown[T proto.Message](h io.Writer, m *merge, kind listKind, p part, list []T, nameOf func(T) string) (digest uint64, hides bool) {
	shown := make([]T, 0, len(list))
	for _, x := range list {
		e := m.changed(kind, p, nameOf(x))
		e.Fold(h, nameOf(x))
		if !e.Hide {
			shown = append(shown, x)
		}
	}
	return backend.DigestOf(shown), len(shown) < len(list)
}

// reportUnchanged logs that a tool or prompt is hidden because the overlay cannot apply its change,
// and adds it to problems. It ignores a nil error.
func (m *merge) reportUnchanged(problems *[]problem, p part, what, name string, err error) {
	if err != nil {
		*problems = append(*problems, problem{p.Backend.Name(), "the " + what + " " + strconv.Quote(name) + " is hidden, because the catalog's changes of its arguments are impossible: " + err.Error()})
		m.report.once("unchanged\x00"+p.Backend.Name()+"\x00"+what+"\x00"+name+"\x00"+err.Error(),
			"a "+what+" is hidden, because the catalog's changes of its arguments are impossible", "backend", p.Backend.Name(), what, name, "error", err)
	}
}

package catalog

import (
	"strconv"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
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

// changeOf returns the overlay's entry for a backend's own name. The entry hides the name if a
// blocking lock does.
func changeOf(o *overlay.Overlay, l *lockDifferences, kind listKind, b *backend.Backend, name string) overlay.Entry {
	e := entriesOf(o, kind).Of(b.Name(), name)
	e.Hide = e.Hide || l.hides(kind, b, name)
	return e
}

// changed returns changeOf for a listed name. It also hides a URI if another form of it, or its
// skill, is hidden.
func (m *merge) changed(kind listKind, p part, name string) overlay.Entry {
	entries := m.overlay(kind)
	if !entries.About(p.Backend.Name()) {
		return overlay.Entry{}
	}
	at := overlaidName{kind, p.Backend, name}
	e, known := m.changes[at]
	if !known {
		e = changeOf(m.showing.overlay, m.lockDiffs, kind, p.Backend, name)
		if kind != listTools && kind != listPrompts {
			e.Hide = e.Hide || m.hidesListed(entries, kind, p, name, len(p.Catalog.Resources)+len(p.Catalog.Skills))
		}
		if m.changes == nil {
			m.changes = make(map[overlaidName]overlay.Entry)
		}
		m.changes[at] = e
	}
	return e
}

// reportUnchanged logs that a tool or prompt is hidden because the overlay cannot apply its change,
// and adds it to problems. It ignores a nil error.
func (m *merge) reportUnchanged(problems *[]problem, p part, what, name string, err error) {
	if err != nil {
		*problems = append(*problems, problem{p.Backend.Name(), "the " + what + " " + strconv.Quote(name) + unchanged(err)})
		m.report.once("unchanged\x00"+p.Backend.Name()+"\x00"+what+"\x00"+name+"\x00"+err.Error(),
			"a "+what+" is hidden, because the catalog's changes of its arguments are impossible", "backend", p.Backend.Name(), what, name, "error", err)
	}
}

// reportTrials logs that a tool or prompt would be hidden because a pinned argument in audit mode
// is impossible, and adds that to problems.
func (m *merge) reportTrials(problems *[]problem, p part, what, name string, trials []overlay.Argument) {
	for i := range trials {
		err := trials[i].Impossible()
		if err == nil {
			continue
		}
		rule := trials[i].Rule()
		*problems = append(*problems, problem{p.Backend.Name(), "the " + what + " " + strconv.Quote(name) + " would be hidden if " + rule + " were not in audit mode: " + err.Error()})
		m.report.once("untried\x00"+p.Backend.Name()+"\x00"+what+"\x00"+name+"\x00"+rule+"\x00"+err.Error(),
			"a "+what+" would be hidden if the catalog pinned its argument, which has mode: audit", "backend", p.Backend.Name(), what, name, "setting", rule, "error", err)
	}
}

// unchanged says that something is hidden because of an error of its changes.
func unchanged(err error) string {
	return " is hidden, because the catalog's changes of its arguments are impossible: " + err.Error()
}

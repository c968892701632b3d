package catalog

import (
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/lock"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// lockDifferences has the differences between the tools of a view and a lock. It is immutable. nil means
// that there is no lock.
type lockDifferences struct {
	lock *lock.Lock
	// tools maps every tool of the view to its differences; nil means none. The next view reuses
	// them.
	tools map[*pb.Tool][]string
	// differing are the tools that differ, by the backends' own names.
	differing map[overlaidName]bool
	problems  []problem
}

// compares reports whether the tools of a backend are compared with a lock. Snapshots do not have
// discovered backends. Therefore these are compared only if the lock has definitions of them.
func compares(l *lock.Lock, b *backend.Backend) bool {
	return !b.Discovered() || l.HasBackend(b.Name())
}

// compareLocked compares the tools of the parts with the overlay's lock, and reports each
// difference once. before has the previous view's differences, which are kept for the tools of an
// unreachable backend.
func (m *merge) compareLocked(before *lockDifferences) *lockDifferences {
	l := m.showing.overlay.Lock()
	if l == nil {
		return nil
	}
	out := &lockDifferences{lock: l, tools: make(map[*pb.Tool][]string), differing: make(map[overlaidName]bool)}
	for _, p := range m.parts {
		name := p.Backend.Name()
		if !compares(l, p.Backend) {
			continue
		}
		if !p.Catalog.Present && before != nil && before.lock == l {
			for one := range before.differing {
				if one.backend == p.Backend {
					out.differing[one] = true
				}
			}
		}
		for _, t := range p.Catalog.Tools {
			parts, known := before.of(l, t)
			if !known {
				parts = l.Differences(name, p.Catalog.Listed(t))
			}
			if out.tools[t] = parts; len(parts) == 0 {
				continue
			}
			out.differing[overlaidName{listTools, p.Backend, t.GetName()}] = true
			out.problems = append(out.problems, problem{name, "the tool " + strconv.Quote(t.GetName()) + " " + differs(l, parts)})
			if !known {
				m.reportLocked(l, name, t, parts)
			}
		}
	}
	return out
}

// of returns the differences of a tool that were found by a lock.
func (d *lockDifferences) of(l *lock.Lock, t *pb.Tool) (parts []string, known bool) {
	if d == nil || d.lock != l {
		return nil, false
	}
	parts, known = d.tools[t]
	return parts, known
}

// hides reports whether a blocking lock hides a tool of a backend, because the tool differs or is
// not in the lock. That includes the tools of an unreachable backend, which must not keep their
// names from other backends. It is false for other kinds.
func (d *lockDifferences) hides(kind listKind, b *backend.Backend, name string) bool {
	if d == nil || kind != listTools || !d.lock.Blocks() || !compares(d.lock, b) {
		return false
	}
	return !d.lock.Has(b.Name(), name) || d.differing[overlaidName{kind, b, name}]
}

// all returns the problems.
func (d *lockDifferences) all() []problem {
	if d == nil {
		return nil
	}
	return d.problems
}

// differs returns a text about the differences of a tool from a lock, and their effect.
func differs(l *lock.Lock, parts []string) string {
	text := "differs from the catalog-lock: " + strings.Join(parts, ", ")
	if parts[0] == lock.Unknown {
		text = "is not in the catalog-lock"
	}
	if l.Blocks() {
		text += "; it is hidden until the lock has this definition"
	}
	return text
}

// reportLocked logs a difference of a tool once for each lock, so that a backend cannot fill the
// log with further definitions.
func (m *merge) reportLocked(l *lock.Lock, owner string, t *pb.Tool, parts []string) {
	message := "a tool differs from the catalog-lock: review it, and make a new snapshot if it is as intended"
	if l.Blocks() {
		message = "a tool differs from the catalog-lock, and is hidden: review it, and make a new snapshot if it is as intended"
	}
	m.report.once(strings.Join(append([]string{"locked", l.Digest(), owner, t.GetName()}, parts...), "\x00"), message, "backend", owner, "tool", Clip(t.GetName()), "differs", strings.Join(parts, ", "))
}

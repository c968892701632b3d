package catalog

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/translate"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// merge builds one view from the parts.
type merge struct {
	parts   []part
	report  *reporter
	showing showing
	owners  *owners
	// sameOverlay is whether the previous view has the overlay of this one.
	sameOverlay bool
	// conflicts of extensions and pages. The sets keep their own.
	conflicts []Conflict
}

// share returns a part's contribution to one list.
func share(c *backend.Catalog, kind listKind) (served bool, hint backend.Hint, digest uint64) {
	switch kind {
	case listTools:
		return c.HasTools, c.ToolsHint, c.Digest.Tools
	case listResources:
		return c.HasResources, c.ResourcesHint, c.Digest.Resources
	case listTemplates:
		return c.HasResources, c.TemplatesHint, c.Digest.Resources
	case listSkills:
		return c.HasSkills, c.SkillsHint, c.Digest.Resources
	default:
		return c.HasPrompts, c.PromptsHint, c.Digest.Prompts
	}
}

// digest combines the backends' digests with everything else that shapes their entries: names order
// conflicts and cursors, prefixes change names. Equal content has equal digests on every replica.
func (m *merge) digest(kind listKind) uint64 {
	h := fnv.New64a()
	for i, p := range m.parts {
		m.owners.fold(h, i, kind)
		served, _, digest := share(p.Catalog, kind)
		if !served {
			continue
		}
		_, _ = h.Write([]byte(p.Backend.Name() + "\x00" + p.Backend.Prefix() + "\x00"))
		m.foldOverlay(h, kind, p)
		if kind == listTools && p.Backend.FullSchemas() {
			_, _ = h.Write([]byte("full"))
		}
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, digest))
	}
	return h.Sum64()
}

// hint returns the smallest ttl of all parts. It is public only if every part is.
func (m *merge) hint(kind listKind) translate.CacheHint {
	out, found := translate.CacheHint{}, false
	for _, p := range m.parts {
		served, hint, _ := share(p.Catalog, kind)
		if !served {
			continue
		}
		if !found {
			out, found = translate.CacheHint{TTL: hint.TTL, Public: hint.Public}, true
			continue
		}
		out.TTL = min(out.TTL, hint.TTL)
		out.Public = out.Public && hint.Public
	}
	return out
}

// list merges the parts' entries. It calls each for every part, which adds the part's entries. A
// key that belongs to another backend is dropped and becomes a conflict. reserve is called with
// each remembered key of a part whose list is missing, unless the key belongs to another backend.
// nil ignores these keys.
func (m *merge) list(kind listKind, what string, conflicts *[]Conflict, each func(p part, add func(key string, e entry) bool), reserve func(key string, rank int)) *list {
	l := newList(kind, m.report)
	l.hint = m.hint(kind)
	owners := make(map[string]string)
	// forms maps the compared form of a key to the key, so that no backend has a spelling of
	// another's key.
	forms := make(map[string]string)
	claim := func(key string, rank int) bool {
		name, form := m.parts[rank].Backend.Name(), kind.form(key)
		kept, taken := owners[key]
		if by, known := forms[form]; known && by != name && !taken {
			kept, taken = by, true
		}
		if holder, foreign := m.owners.foreign(kind, key, rank); foreign && !taken {
			kept, taken = m.parts[holder].Backend.Name(), true
		}
		if taken {
			*conflicts = append(*conflicts, Conflict{What: what, Key: key, Kept: kept, Dropped: name})
			return false
		}
		owners[key], forms[form] = name, name
		return true
	}
	for rank, p := range m.parts {
		name := p.Backend.Name()
		from := len(l.Entries)
		for _, key := range m.owners.remembered(kind, rank) {
			if _, taken := owners[key]; !taken && !m.hidden(kind, p, key) && claim(key, rank) && reserve != nil {
				reserve(key, rank)
			}
		}
		each(p, func(key string, e entry) bool {
			if key == "" {
				m.report.once("unnamed\x00"+name+"\x00"+kind.String(),
					"a list entry without a name or URI breaks the contract and is left out",
					"backend", name, "list", kind.String())
				return false
			}
			if !claim(key, rank) {
				return false
			}
			e.owner, e.key, e.hash = name, key, keyHash(key)
			l.Entries = append(l.Entries, &e)
			return true
		})
		l.spans[name] = span{from: from, to: len(l.Entries)}
	}
	return l
}

// foldOverlay writes to a digest what the overlay changes of a part's list.
func (m *merge) foldOverlay(h io.Writer, kind listKind, p part) {
	entries, owner := m.shownBy(kind), p.Backend.Name()
	switch kind {
	case listTools:
		for _, t := range p.Catalog.Tools {
			entries.Fold(h, owner, t.GetName())
		}
	case listPrompts:
		for _, x := range p.Catalog.Prompts {
			entries.Fold(h, owner, x.GetName())
		}
	}
}

// shownBy returns the entries of the overlay about a list.
func (m *merge) shownBy(kind listKind) overlay.Entries {
	switch kind {
	case listTools:
		return m.showing.overlay.Tools()
	case listPrompts:
		return m.showing.overlay.Prompts()
	default:
		return overlay.Entries{}
	}
}

// hidden reports whether the overlay hides what a key of a part's list names.
func (m *merge) hidden(kind listKind, p part, key string) bool {
	return m.shownBy(kind).Hides(p.Backend.Name(), strings.TrimPrefix(key, p.Backend.Prefix()))
}

// form returns the form in which keys of different backends are compared: the normal form of a URI,
// and a name unchanged.
func (k listKind) form(key string) string {
	if k == listTools || k == listPrompts {
		return key
	}
	return uris.Normal(key)
}

// rank returns the index of p in m.parts.
func (m *merge) rank(p part) int {
	return slices.IndexFunc(m.parts, func(o part) bool { return o.Backend == p.Backend })
}

// features combines what the backends support. The edge itself reports list changes, because
// backends come and go, whether or not they report any.
func (m *merge) features() translate.Features {
	f := translate.Features{}
	for _, p := range m.parts {
		c := p.Catalog
		f.Tools = f.Tools || c.HasTools
		f.Resources = f.Resources || c.HasResources
		f.Prompts = f.Prompts || c.HasPrompts
		f.Subscribe = f.Subscribe || canSubscribe(c)
		f.Completions = f.Completions || canCompleteTemplates(c) || canCompletePrompts(c)
		m.extensions(&f, p.Backend, c.Describe.GetExtensionsJson())
	}
	m.skillsFeature(&f)
	m.tasksFeature(&f)
	f.ToolsChanged, f.ResourcesChanged, f.PromptsChanged = f.Tools, f.Resources, f.Prompts
	return f
}

// tasksFeature enables tasks if some tool supports them. The extension is the edge's own and does
// not depend on what backends declare.
func (m *merge) tasksFeature(f *translate.Features) {
	for _, p := range m.parts {
		for _, t := range p.Catalog.Tools {
			if s := translate.TaskSupport(t.GetTaskSupport()); s.Optional || s.Required {
				f.Tasks = true
				if f.Extensions == nil {
					f.Extensions = map[string]string{}
				}
				f.Extensions[mcp.ExtensionTasks] = "{}"
				return
			}
		}
	}
}

func canSubscribe(c *backend.Catalog) bool {
	return c.HasResources && c.Describe.GetResources().GetSubscribe()
}

func canCompleteTemplates(c *backend.Catalog) bool {
	return c.HasResources && c.Describe.GetResources().GetCompletion()
}

func canCompletePrompts(c *backend.Catalog) bool {
	return c.HasPrompts && c.Describe.GetPrompts().GetCompletion()
}

// instructions returns the instructions of a single backend unchanged, or those of several
// backends, each under a heading with the backend's name.
func (m *merge) instructions() string {
	if len(m.parts) == 1 {
		return m.parts[0].Catalog.Describe.GetInstructions()
	}
	var out []string
	for _, p := range m.parts {
		if text := strings.TrimSpace(p.Catalog.Describe.GetInstructions()); text != "" {
			out = append(out, "## "+p.Backend.Name()+"\n\n"+text)
		}
	}
	return strings.Join(out, "\n\n")
}

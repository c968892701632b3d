package catalog

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/translate"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// merge makes one view of the parts.
type merge struct {
	parts   []part
	report  *reporter
	showing showing
	owners  *owners
	// conflicts among extensions: the sets keep their own.
	conflicts []Conflict
}

// share is what a part contributes to one list.
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

// digest folds the backends' digests with whatever shapes their entries: names order conflicts and
// cursors, prefixes change names. Equal content is equal on every replica.
func (m *merge) digest(kind listKind) uint64 {
	h := fnv.New64a()
	for i, p := range m.parts {
		m.owners.fold(h, i, kind)
		served, _, digest := share(p.Catalog, kind)
		if !served {
			continue
		}
		_, _ = h.Write([]byte(p.Backend.Name() + "\x00" + p.Backend.Prefix() + "\x00"))
		if kind == listTools && p.Backend.FullSchemas() {
			_, _ = h.Write([]byte("full"))
		}
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, digest))
	}
	return h.Sum64()
}

// hint is the smallest ttl of all parts, and public only when every part is.
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

// list merges the parts' entries: each is called per part and adds what the part contributes. A key that belongs to
// another backend is dropped and becomes a conflict. reserve is called with the keys that are remembered of a part whose list
// is not there, unless they belong to another; nil: nothing is done with them.
func (m *merge) list(kind listKind, what string, conflicts *[]Conflict, each func(p part, add func(key string, e entry) bool), reserve func(key string, rank int)) *list {
	l := newList(kind, m.report)
	l.hint = m.hint(kind)
	owners := make(map[string]string)
	forms := make(map[string]string) // by the form in which a key is compared: no backend has a spelling of another's
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
			if _, taken := owners[key]; !taken && claim(key, rank) && reserve != nil {
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

// form is the form in which a key of a list is compared with those of other backends: a URI's normal form, and a name as it is.
func (k listKind) form(key string) string {
	if k == listTools || k == listPrompts {
		return key
	}
	return uris.Normal(key)
}

// rank is a part's, which is one of m.parts.
func (m *merge) rank(p part) int {
	return slices.IndexFunc(m.parts, func(o part) bool { return o.Backend == p.Backend })
}

// features joins what the backends can do. The edge itself reports list changes, since backends come
// and go, whether or not they report any.
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

// tasksFeature says that there are tasks if some tool has them. The extension is the edge's own, whatever backends announce.
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

// instructions are those of a single backend as they are, and of several each under a heading with its name.
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

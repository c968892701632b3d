package catalog

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// merge builds one view from the parts.
type merge struct {
	parts   []part
	report  *reporter
	showing showOptions
	owners  *owners
	// sameOverlay is true if the previous view has the same overlay, and sameBackends if it has the
	// same backends, to which its tools and prompts point.
	sameOverlay, sameBackends bool
	// sameApprovals is true if neither view has a policy with approvals, or both have the same policy.
	sameApprovals bool
	// lockDiffs has the differences of the tools from the overlay's lock.
	lockDiffs *lockDifferences
	// changes caches the overlay's changes of each name.
	changes map[overlaidName]overlay.Entry
	// skillsBy are the skills of each backend that entries match.
	skillsBy map[*backend.Backend]overlaidSkills
	// conflicts of extensions and pages. The sets keep their own.
	conflicts []Conflict
}

// contribution returns a part's contribution to one list.
func contribution(c *backend.Catalog, kind listKind) (served bool, hint backend.Hint, digest uint64) {
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

// digest combines the backends' digests with everything else, except for the overlay, that shapes
// their entries: the order of names decides conflicts and cursors, and prefixes change names. It is
// a key of the merged lists, including hidden entries. visibleLists.digest is the digest of what clients
// see.
func (m *merge) digest(kind listKind) uint64 {
	h := fnv.New64a()
	for i, p := range m.parts {
		m.owners.fold(h, i, kind)
		served, _, digest := contribution(p.Catalog, kind)
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

// hint returns the smallest ttl of all parts. It is public only if every part is.
func (m *merge) hint(kind listKind) translate.CacheHint {
	out, found := translate.CacheHint{}, false
	for _, p := range m.parts {
		served, hint, _ := contribution(p.Catalog, kind)
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

// list merges the parts' entries. It calls each for every part, which adds the part's entries by
// their names or URIs at the backend. add returns the keys by which clients find the entry: its
// own, then aliases. A key that belongs to another backend is dropped and becomes a conflict; an
// entry without its own key has none. reserve is called with each key of the remembered names of a
// part whose list is missing, unless the key belongs to another backend. nil ignores these names.
func (m *merge) list(kind listKind, what string, conflicts *[]Conflict, each func(p part, add func(name string, e entry) []string), reserve func(key, name string, rank int)) *list {
	l := newList(kind, m.report)
	l.hint = m.hint(kind)
	c := &claims{merge: m, kind: kind, owners: make(map[string]string), forms: make(map[string]string)}
	claim := func(key string, rank int) bool {
		kept, ok := c.claim(key, rank)
		if !ok {
			*conflicts = append(*conflicts, Conflict{What: what, Key: key, Kept: kept, Dropped: m.parts[rank].Backend.Name()})
		}
		return ok
	}
	for rank, p := range m.parts {
		name := p.Backend.Name()
		from := len(l.Entries)
		for _, own := range m.owners.remembered(kind, rank) {
			for _, key := range m.keys(kind, p, own) {
				if _, taken := c.owners[key]; !taken && claim(key, rank) && reserve != nil {
					reserve(key, own, rank)
				}
			}
		}
		each(p, func(own string, e entry) (keys []string) {
			if own == "" {
				m.report.once("unnamed\x00"+name+"\x00"+kind.String(),
					"a list entry without a name or URI breaks the contract and is left out",
					"backend", name, "list", kind.String())
				return nil
			}
			for i, key := range m.keys(kind, p, own) {
				switch {
				case claim(key, rank):
					keys = append(keys, key)
				case i == 0:
					return nil
				}
			}
			if len(keys) > 0 {
				e.owner, e.key, e.aliases, e.hash, e.sum = name, keys[0], keys[1:], keyHash(keys[0]), new(entrySum)
				l.Entries = append(l.Entries, &e)
			}
			return keys
		})
		l.spans[name] = span{from: from, to: len(l.Entries)}
	}
	return l
}

// rank returns the index of p in m.parts.
func (m *merge) rank(p part) int {
	return slices.IndexFunc(m.parts, func(o part) bool { return o.Backend == p.Backend })
}

// features combines the features of the backends. The edge itself reports list changes, because
// backends are added and removed, whether or not they report any.
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

// tasksFeature enables tasks if some tool supports them, or if calls may wait for an approval. The
// extension is the edge's own, and does not depend on the declarations of backends.
func (m *merge) tasksFeature(f *translate.Features) {
	if f.Tools && approves(m.showing.access) != nil {
		enableTasks(f)
		return
	}
	for _, p := range m.parts {
		for _, t := range p.Catalog.Tools {
			if s := translate.TaskSupport(t.GetTaskSupport()); s.Optional || s.Required {
				enableTasks(f)
				return
			}
		}
	}
}

func enableTasks(f *translate.Features) {
	f.Tasks = true
	if f.Extensions == nil {
		f.Extensions = map[string]string{}
	}
	f.Extensions[mcp.ExtensionTasks] = "{}"
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
// backends, each under a heading with the backend's name. It omits those of withheld and of disabled backends.
func (m *merge) instructions() string {
	withheld := func(p part) bool {
		name := p.Backend.Name()
		return m.showing.disabled.HasBackend(name) || m.showing.overlay.Tools().Withholds(name)
	}
	if len(m.parts) == 1 && !withheld(m.parts[0]) {
		return m.parts[0].Catalog.Describe.GetInstructions()
	}
	var out []string
	for _, p := range m.parts {
		if withheld(p) {
			continue
		}
		if text := strings.TrimSpace(p.Catalog.Describe.GetInstructions()); text != "" {
			out = append(out, "## "+p.Backend.Name()+"\n\n"+text)
		}
	}
	return strings.Join(out, "\n\n")
}

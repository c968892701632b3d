package catalog

import (
	"encoding/binary"
	"hash/fnv"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// seen is what callers with one entitlement see of a view's lists. It is immutable.
type seen struct {
	tools, resources, templates, prompts, skills *list
	digest                                       mcp.Digest
	// own means that callers with another entitlement may see other lists.
	own bool
	// entitlement distinguishes cursors. 0 means that the lists are the same for all callers.
	entitlement uint64
}

func (s *seen) list(kind listKind) *list {
	switch kind {
	case listTools:
		return s.tools
	case listResources:
		return s.resources
	case listTemplates:
		return s.templates
	case listSkills:
		return s.skills
	default:
		return s.prompts
	}
}

// These bound what a view caches: entitlements, and different lists. A list takes some 40 bytes for
// each entry, and again as many for each requested revision.
const (
	maxEntitlements  = 512
	maxFilteredLists = 256
)

// filtered caches what entitlements see of a view. Entitlements that see the same entries share
// their list. The zero value is empty. It is safe for concurrent use.
type filtered struct {
	once  sync.Once
	Seen  *lru.Cache[string, *seen] // by entitlement
	Lists *lru.Cache[string, *list] // by kind and the set of entries
}

func (f *filtered) init() {
	f.Seen, _ = lru.New[string, *seen](maxEntitlements)
	f.Lists, _ = lru.New[string, *list](maxFilteredLists)
}

// seenBy returns what a caller sees. A nil access shows everything.
func (v *View) seenBy(access Visibility, who *mcp.Principal) *seen {
	entitlement, listed := "", (func(*policy.Target) bool)(nil)
	if access != nil {
		entitlement, listed = access.Lists(who)
	}
	if listed == nil {
		return &seen{
			tools: v.Tools.List, resources: v.Resources.List, templates: v.Resources.TemplateList, prompts: v.Prompts.List,
			skills: v.Resources.skillList, digest: v.Digest,
		}
	}
	v.Filtered.once.Do(v.Filtered.init)
	if s, ok := v.Filtered.Seen.Get(entitlement); ok {
		return s
	}
	s := &seen{
		tools: v.Filtered.list(v.Tools.List, listed), resources: v.Filtered.list(v.Resources.List, listed),
		templates: v.Filtered.list(v.Resources.TemplateList, listed), prompts: v.Filtered.list(v.Prompts.List, listed),
		skills: v.Filtered.list(v.Resources.skillList, listed),
		own:    true, entitlement: max(1, keyHash(entitlement)),
	}
	resources := []*list{s.resources, s.templates}
	if v.Features.Skills {
		resources = append(resources, s.skills)
	}
	s.digest = mcp.Digest{
		Tools:     digestOf(v.Digest.Tools, s.tools),
		Resources: digestOf(v.Digest.Resources, resources...),
		Prompts:   digestOf(v.Digest.Prompts, s.prompts),
	}
	v.Filtered.Seen.Add(entitlement, s)
	return s
}

// list returns the entries of l that listed accepts.
func (f *filtered) list(l *list, listed func(*policy.Target) bool) *list {
	visible := make([]byte, 1+(len(l.Entries)+7)/8)
	visible[0] = byte(l.kind)
	n := 0
	for i := range l.Entries {
		if listed(&l.Entries[i].target) {
			visible[1+i/8] |= 1 << (i % 8)
			n++
		}
	}
	if n == len(l.Entries) {
		return l
	}
	if known, ok := f.Lists.Get(string(visible)); ok {
		return known
	}
	out := newList(l.kind, l.report)
	out.hint, out.whole = l.hint, l
	out.Entries, out.numbers = make([]*entry, 0, n), make([]int, 0, n)
	for owner := range l.spans {
		out.spans[owner] = span{}
	}
	for i := range l.Entries {
		if visible[1+i/8]&(1<<(i%8)) == 0 {
			continue
		}
		e := l.Entries[i]
		s := out.spans[e.owner]
		if s.from == s.to { // the first of its backend, whose entries are consecutive
			s.from, s.to = len(out.Entries), len(out.Entries)
		}
		s.to++
		out.spans[e.owner] = s
		out.Entries, out.numbers = append(out.Entries, e), append(out.numbers, i)
	}
	f.Lists.Add(string(visible), out)
	return out
}

// digestOf returns the digest of filtered lists. all is the digest of the unfiltered ones.
func digestOf(all uint64, lists ...*list) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, all))
	for _, l := range lists {
		for i := range l.Entries {
			_, _ = h.Write(binary.BigEndian.AppendUint64(nil, l.Entries[i].hash))
		}
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

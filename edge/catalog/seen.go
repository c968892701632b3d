package catalog

import (
	"encoding/binary"
	"hash/fnv"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// seen has the lists of a view for callers with one entitlement. It is immutable.
type seen struct {
	tools, resources, templates, prompts, skills *list
	digest                                       mcp.Digest
	// visible has an element for each entry of the view's whole list of tools, if it has search. nil
	// means that all are visible.
	visible []bool
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

// These bound the cache of a view: the entitlements, and the different lists. A list takes some 40
// bytes for each entry, and again as many for each requested revision.
const (
	maxEntitlements  = 512
	maxFilteredLists = 256
)

// filtered caches the lists of a view by entitlement. Entitlements that see the same entries share
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

// seenBy returns the lists that a caller sees.
func (v *View) seenBy(who *mcp.Principal) *seen {
	entitlement, listed := "", (func(*policy.Target) bool)(nil)
	if v.access != nil {
		entitlement, listed = v.access.Lists(who)
	}
	if listed == nil {
		return &seen{
			tools: v.listedTools(), resources: v.Resources.List, templates: v.Resources.TemplateList, prompts: v.Prompts.List,
			skills: v.Resources.skillList, digest: v.Digest, entitlement: v.cursors(nil),
		}
	}
	v.Filtered.once.Do(v.Filtered.init)
	if s, ok := v.Filtered.Seen.Get(entitlement); ok {
		return s
	}
	s := &seen{
		tools: v.Filtered.list(v.listedTools(), listed), resources: v.Filtered.list(v.Resources.List, listed),
		templates: v.Filtered.list(v.Resources.TemplateList, listed), prompts: v.Filtered.list(v.Prompts.List, listed),
		skills: v.Filtered.list(v.Resources.skillList, listed),
		own:    true, entitlement: v.cursors(&entitlement),
	}
	if v.search != nil {
		s.visible = v.Tools.List.visible(listed)
	}
	resources := []*list{s.resources, s.templates}
	if v.Features.Skills {
		resources = append(resources, s.skills)
	}
	s.digest = mcp.Digest{
		Tools:     digestOf(s.tools),
		Resources: digestOf(resources...),
		Prompts:   digestOf(s.prompts),
	}
	v.Filtered.Seen.Add(entitlement, s)
	return s
}

// cursors returns what distinguishes the cursors of lists: that of the entitlement, nil for none, and
// of the view's set. 0 means that both are absent.
func (v *View) cursors(entitlement *string) uint64 {
	switch {
	case v.set == nil && entitlement == nil:
		return 0
	case v.set == nil:
		return max(1, keyHash(*entitlement))
	case entitlement == nil:
		return max(1, keyHash("set\x00"+v.set.Name))
	}
	return max(1, keyHash("set\x00"+v.set.Name+"\x00"+*entitlement))
}

// list returns the entries of l that listed accepts, and the edge's own.
func (f *filtered) list(l *list, listed func(*policy.Target) bool) *list {
	visible := make([]byte, 1+(len(l.Entries)+7)/8)
	visible[0] = byte(l.kind)
	n := 0
	for i := range l.Entries {
		if e := l.Entries[i]; e.owner == ownTools || listed(&e.target) {
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
	out := l.subset(func(i int) bool { return visible[1+i/8]&(1<<(i%8)) != 0 })
	f.Lists.Add(string(visible), out)
	return out
}

// subset returns the list of the entries whose indexes member accepts. It shares the renderings of
// l.
func (l *list) subset(member func(i int) bool) *list {
	out := newList(l.kind, l.report)
	out.hint, out.whole = l.hint, l
	for owner := range l.spans {
		out.spans[owner] = span{}
	}
	for i := range l.Entries {
		if !member(i) {
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
	return out
}

// digestOf returns the digest of lists as a caller sees them: of their entries in the newest
// revision of each era. It does not depend on entries that the caller does not see.
func digestOf(lists ...*list) uint64 {
	h := fnv.New64a()
	for _, l := range lists {
		for _, r := range []*revision.Rules{revision.Negotiate(""), revision.Stateless()} {
			out := l.under(r)
			for i := range out.items {
				text := out.body[out.items[i].from:out.items[i].to]
				_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
				_, _ = h.Write(text)
			}
			_, _ = h.Write([]byte{0})
		}
	}
	return h.Sum64()
}

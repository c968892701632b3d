package catalog

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/internal/weighted"
)

// visibleLists has the lists of a view for callers with one entitlement. It is immutable.
type visibleLists struct {
	tools, resources, templates, prompts, skills *list
	// digest is that of the lists as clients see them. It is made at its first use.
	digest func() mcp.Digest
	// visible has an element for each entry of the view's whole list of tools, if it has search. nil
	// means that all are visible.
	visible []bool
	// own is true if callers with another entitlement may see other lists.
	own bool
	// entitlement distinguishes cursors. 0 means that the lists are the same for all callers.
	entitlement uint64
}

func (s *visibleLists) list(kind listKind) *list {
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
	// maxPinnedBytes bounds the templates with values of callers, in bytes.
	maxPinnedBytes = 16 << 20
)

// filtered caches the lists of a view by entitlement. Entitlements that see the same entries share
// their list. The zero value is empty. It is safe for concurrent use.
type filtered struct {
	once sync.Once
	// all is for callers from whom nothing is hidden, and who have no value of a pinned variable.
	all     *visibleLists
	Visible *lru.Cache[string, *visibleLists] // by entitlement
	// Pinned is Visible of a view with pinned variables, by entitlement and values.
	Pinned *weighted.Cache[string, *visibleLists]
	Lists  *lru.Cache[string, *list] // by kind and the set of entries
}

// filters returns the cache of the view.
func (v *View) filters() *filtered {
	f := &v.Filtered
	f.once.Do(func() {
		f.Visible, _ = lru.New[string, *visibleLists](maxEntitlements)
		f.Lists, _ = lru.New[string, *list](maxFilteredLists)
		f.Pinned = weighted.New[string, *visibleLists](maxEntitlements, maxPinnedBytes)
		f.all, _ = v.visible(f, nil, nil, nil)
	})
	return f
}

// visibleTo returns the lists that a caller sees.
func (v *View) visibleTo(who *mcp.Principal) *visibleLists {
	entitlement, listed := "", (func(*policy.Target) bool)(nil)
	if v.access != nil {
		entitlement, listed = v.access.Lists(who)
	}
	f := v.filters()
	if pinned := v.Resources.pinned; pinned != nil {
		return v.pinnedTo(f, entitlement, listed, pinned.valuesFor(who))
	}
	if listed == nil {
		return f.all
	}
	if s, ok := f.Visible.Get(entitlement); ok {
		return s
	}
	s, _ := v.visible(f, &entitlement, listed, nil)
	f.Visible.Add(entitlement, s)
	return s
}

// pinnedTo returns the lists that a caller with the given values of pinned variables sees.
func (v *View) pinnedTo(f *filtered, entitlement string, listed func(*policy.Target) bool, values []string) *visibleLists {
	key := strconv.Quote(entitlement)
	for _, value := range values {
		key += strconv.Quote(value)
	}
	if s, ok := f.Pinned.Get(key); ok {
		return s
	}
	s, weight := v.visible(f, &key, listed, values)
	f.Pinned.Add(key, s, len(key)+weight)
	return s
}

// visible returns the lists of the objects that no operator has disabled and that listed accepts, for
// callers with the given values of pinned variables. A nil listed accepts all. weight is the size of
// the templates that only these callers have.
func (v *View) visible(f *filtered, entitlement *string, listed func(*policy.Target) bool, values []string) (s *visibleLists, weight int) {
	shows := func(t *policy.Target) bool { return !v.disables(t) && (listed == nil || listed(t)) }
	of := func(l *list) *list {
		return f.list(l, func(e *entry) bool { return shows(&e.target) || e.owner == ownTools && !v.disables(&e.target) })
	}
	ofURIs := func(l *list) *list {
		return f.list(l, func(e *entry) bool { return shows(&e.target) && v.Resources.showsPinned(l.kind, e, values) })
	}
	s = &visibleLists{
		tools: of(v.listedTools()), resources: ofURIs(v.Resources.List), prompts: of(v.Prompts.List),
		skills: ofURIs(v.Resources.skillList), own: listed != nil || v.Resources.pinned != nil, entitlement: v.cursors(entitlement),
	}
	s.templates, weight = v.Resources.templatesFor(of(v.Resources.TemplateList), values)
	if v.search != nil && (listed != nil || v.refused != nil) {
		s.visible = v.Tools.List.visible(shows)
	}
	s.digest = sync.OnceValue(func() mcp.Digest {
		return mcp.Digest{Tools: digestOf(s.tools), Resources: digestOf(s.resources, s.templates, s.skills), Prompts: digestOf(s.prompts)}
	})
	return s, weight
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

// list returns the entries of l that shows accepts.
func (f *filtered) list(l *list, shows func(*entry) bool) *list {
	visible := make([]byte, 1+(len(l.Entries)+7)/8)
	visible[0] = byte(l.kind)
	n := 0
	for i := range l.Entries {
		if shows(l.Entries[i]) {
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

// digestOf returns the digest of lists as a caller sees them. Entries that the caller does not see
// have no effect on it.
func digestOf(lists ...*list) uint64 {
	h := fnv.New64a()
	for _, l := range lists {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(l.Entries))))
		for _, e := range l.Entries {
			_, _ = h.Write(binary.BigEndian.AppendUint64(nil, l.sumOf(e)))
		}
	}
	return h.Sum64()
}

// Digest returns the digest of the lists as callers see them from whom the policy hides nothing.
func (v *View) Digest() mcp.Digest { return v.filters().all.digest() }

// content returns a digest of everything that backends list, including hidden entries.
func (v *View) content() mcp.Digest {
	return mcp.Digest{Tools: v.Tools.digest, Resources: v.Resources.digest, Prompts: v.Prompts.digest}
}

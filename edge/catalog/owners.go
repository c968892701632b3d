package catalog

import (
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/ownership"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// owners decides which backend of a view owns a name or a URI. Its parts are in order of
// precedence; a rank is an index of one. The first of these rules decides:
//
//   - the grants of the platform: the longest prefix of names, or of URIs, that a configuration
//     reserves for one backend;
//   - the precedence: the first backend that lists a name, or that lists, matches or claims a URI.
//     A missing list counts as it was last read.
//
// URIs are compared in normal form, see uris.Normal, so that no spelling belongs to another
// backend. It is immutable.
type owners struct {
	parts []part
	names []*ownership.Names // one for each part, never nil
	// granted are the granted prefixes of names, uris those of URIs.
	granted, uris ownership.Prefixes
	// served are the URI prefixes that backends claim, and the directories of skills.
	served ownership.Prefixes
	// heads are the literal beginnings of templates. headless is the rank of the first template
	// without one.
	heads    ownership.Prefixes
	headless int
	// exact are the directories of skills and the pages of tools.
	exact map[string]int
}

func newOwners(parts []part) *owners {
	o := &owners{parts: parts, names: make([]*ownership.Names, len(parts)), headless: len(parts), exact: map[string]int{}}
	for i := range parts {
		p := &parts[i]
		if p.names == nil {
			p.names = namesOf(p.Catalog, p.kept)
		}
		o.names[i] = p.names
		if !p.Backend.Discovered() { // The prefixes of Services may be shared, and reserve nothing.
			o.granted.Add(p.Backend.Prefix(), i)
		}
		for _, uri := range p.Backend.URIs() {
			o.uris.Add(uris.Normal(uri), i)
		}
	}
	o.granted.Build()
	o.uris.Build()
	for i := range parts {
		o.claim(i)
	}
	o.served.Build()
	o.heads.Build()
	return o
}

// claim records the URIs of a part that are not entries of the list of resources.
func (o *owners) claim(i int) {
	exact := func(uri string) {
		uri = uris.Normal(uri)
		if _, taken := o.exact[uri]; !taken && ownership.Allows(o.uris.Longest(uri), i) {
			o.exact[uri] = i
		}
	}
	n := o.names[i]
	for _, uri := range n.Pages {
		exact(uri)
	}
	for _, uri := range n.Skills {
		if root, ok := strings.CutSuffix(uri, SkillFile); ok {
			exact(root)
			o.served.Add(uris.Normal(root)+"/", i)
		}
	}
	for _, text := range n.Prefixes {
		if o.mayServe(text, i) {
			o.served.Add(uris.Normal(text), i)
		}
	}
	for _, text := range n.Templates {
		if head := headOf(text); head != "" {
			o.heads.Add(head, i)
		} else {
			o.headless = min(o.headless, i)
		}
	}
}

// mayServe reports whether a backend may claim a URI prefix. A backend with granted URIs may claim
// only those.
func (o *owners) mayServe(text string, i int) bool {
	allowed := o.uris.Longest(uris.Normal(text))
	return ownership.Allows(allowed, i) && (allowed != nil || len(o.parts[i].Backend.URIs()) == 0)
}

// headOf returns the literal beginning of a URI template, in normal form.
func headOf(template string) string {
	head, _, _ := strings.Cut(template, "{")
	return uris.Normal(head)
}

// foreign reports whether a key of a part's list belongs to a part of another rank, which it
// returns. It does not compare the keys of lists, and matches no templates: see covered.
func (o *owners) foreign(kind listKind, key string, rank int) (holder int, foreign bool) {
	var allowed []int
	switch kind {
	case listTools, listPrompts:
		allowed = o.granted.Longest(key)
	case listTemplates:
		allowed = o.uris.Longest(headOf(key))
	default:
		key = uris.Normal(key)
		allowed = o.uris.Longest(key)
		if first := o.first(key, rank, allowed); first < rank {
			return first, true
		}
	}
	if ownership.Allows(allowed, rank) {
		return 0, false
	}
	return allowed[0], true
}

// first returns the lowest allowed rank below most that owns a URI other than by lists of resources
// and templates. It returns most if there is none.
func (o *owners) first(uri string, most int, allowed []int) int {
	if i, ok := o.exact[uri]; ok && i < most {
		most = i
	}
	return o.served.First(uri, most, allowed)
}

// covered reports whether a template of an earlier backend may match a URI. It compares only the
// templates' beginnings, because no template is matched while a view is made.
func (o *owners) covered(uri string, rank int) (holder int, covered bool) {
	uri = uris.Normal(uri)
	allowed := o.uris.Longest(uri)
	holder = o.heads.First(uri, rank, allowed)
	if o.headless < holder && ownership.Allows(allowed, o.headless) {
		holder = o.headless
	}
	return holder, holder < rank
}

// remembered returns the remembered names or URIs of a missing list, as the backend uses them.
func (o *owners) remembered(kind listKind, rank int) []string {
	if !o.away(rank, kind) {
		return nil
	}
	n := o.names[rank]
	switch kind {
	case listTools:
		return n.Tools
	case listPrompts:
		return n.Prompts
	case listResources:
		return n.Resources
	case listTemplates:
		return n.Templates
	default:
		return n.Skills
	}
}

// away reports whether the list of a part is missing.
func (o *owners) away(rank int, kind listKind) bool {
	return missing(o.parts[rank].Catalog).Has(kindOfList[kind])
}

// kindOfList maps lists to kinds.
var kindOfList = [...]backend.Kinds{
	listTools: backend.Tools, listResources: backend.Resources, listTemplates: backend.Resources, listPrompts: backend.Prompts,
	listSkills: backend.Resources,
}

// missing returns the kinds of lists that a catalog lacks.
func missing(c *backend.Catalog) backend.Kinds {
	if !c.Present {
		return allKinds
	}
	return c.Unread
}

// granteeAway returns the first backend among allowed whose resources are missing, or nil.
func (o *owners) granteeAway(allowed []int) *backend.Backend {
	for _, i := range allowed {
		if o.away(i, listResources) {
			return o.parts[i].Backend
		}
	}
	return nil
}

// isAway reports whether the resources of a backend are missing.
func (o *owners) isAway(b *backend.Backend) bool {
	i := slices.IndexFunc(o.parts, func(p part) bool { return p.Backend == b })
	return i < 0 || o.away(i, listResources)
}

// fold adds to a digest everything that affects a part's share of a list beside the list itself.
func (o *owners) fold(h hash.Hash, rank int, kind listKind) {
	p := &o.parts[rank]
	_, _ = io.WriteString(h, strings.Join(p.Backend.URIs(), "\x00"))
	for _, list := range keptLists(p.kept, kindOfList[kind]) {
		for _, key := range list {
			_, _ = io.WriteString(h, "\x00"+key)
		}
		_, _ = h.Write([]byte{1})
	}
}

func keptLists(n *ownership.Names, kind backend.Kinds) [][]string {
	switch {
	case n == nil:
		return nil
	case kind == backend.Tools:
		return [][]string{n.Tools}
	case kind == backend.Prompts:
		return [][]string{n.Prompts}
	}
	return [][]string{n.Resources, n.Templates, n.Skills, n.Prefixes, n.Pages}
}

// sameURIs reports whether URIs outside the lists of resources have the same owners in both.
func (o *owners) sameURIs(prev *owners) bool {
	return slices.EqualFunc(o.parts, prev.parts, func(a, b part) bool {
		return a.Backend == b.Backend && a.kept == b.kept && missing(a.Catalog) == missing(b.Catalog) &&
			slices.Equal(a.names.Prefixes, b.names.Prefixes) && slices.Equal(a.names.Pages, b.names.Pages)
	})
}

// arrange sorts parts by precedence, and gives those with missing lists their remembered names. It
// reuses names that before has gathered.
func arrange(parts []part, before *View, names *ownership.Registry) []part {
	holders := make([]ownership.Holder, len(parts))
	for i := range parts {
		p := &parts[i]
		if missing(p.Catalog) != 0 {
			p.kept = names.Kept(p.Backend.Name())
		}
		if before != nil {
			at := slices.IndexFunc(before.Parts, func(b part) bool { return b.Backend == p.Backend && b.Catalog == p.Catalog && b.kept == p.kept })
			if at >= 0 {
				p.names = before.Parts[at].names
			}
		}
		if p.names == nil {
			p.names = namesOf(p.Catalog, p.kept)
		}
		holders[i] = ownership.Holder{Name: p.Backend.Name(), Configured: !p.Backend.Discovered()}
		if p.Catalog.Present {
			holders[i].Names = p.names
		}
	}
	out := make([]part, 0, len(parts))
	for _, i := range names.Update(holders) {
		out = append(out, parts[i])
	}
	return out
}

// set replaces a part's catalog by a caller's own.
func (p *part) set(c *backend.Catalog) {
	if c != p.Catalog {
		p.Catalog, p.kept, p.names = c, nil, nil
	}
}

// dropLists removes the lists of a part, because those of the caller cannot be read.
func (p *part) dropLists(names *ownership.Registry) {
	p.Catalog, p.kept, p.names = p.Catalog.Unlisted(), names.Kept(p.Backend.Name()), nil
}

// namesOf gathers the names of a catalog. For missing lists it uses kept, which may be nil.
func namesOf(c *backend.Catalog, kept *ownership.Names) *ownership.Names {
	n := &ownership.Names{}
	if kept == nil {
		kept = n
	}
	away := missing(c)
	if n.Tools = kept.Tools; !away.Has(backend.Tools) {
		n.Tools = sorted(c.Tools, (*pb.Tool).GetName)
	}
	if n.Prompts = kept.Prompts; !away.Has(backend.Prompts) {
		n.Prompts = sorted(c.Prompts, (*pb.Prompt).GetName)
	}
	if away.Has(backend.Resources) {
		n.Resources, n.Templates, n.Skills, n.Prefixes = kept.Resources, kept.Templates, kept.Skills, kept.Prefixes
	} else if c.HasResources {
		n.Resources = sorted(c.Resources, (*pb.Resource).GetUri)
		n.Templates = sorted(c.Templates, (*pb.ResourceTemplate).GetUriTemplate)
		n.Skills = sorted(c.Skills, (*pb.Skill).GetUri)
		n.Prefixes = sortedTexts(slices.Clone(c.Describe.GetResources().GetUriPrefixes()))
	}
	switch {
	case away.Has(backend.Tools) || away.Has(backend.Resources):
		n.Pages = kept.Pages
	case c.HasResources: // A backend without resources serves no page.
		var pages []string
		for _, t := range c.Tools {
			for _, uri := range pagesOf(t.GetMetaJson()) {
				if strings.HasPrefix(uri, pageScheme) {
					pages = append(pages, uri)
				}
			}
		}
		n.Pages = sortedTexts(pages)
	}
	return n
}

func sorted[T any](entries []T, key func(T) string) []string {
	if len(entries) == 0 {
		return nil
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = key(e)
	}
	return sortedTexts(out)
}

// sortedTexts sorts texts in place and removes duplicates and the empty text.
func sortedTexts(texts []string) []string {
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) > 0 && texts[0] == "" {
		texts = texts[1:]
	}
	return texts
}

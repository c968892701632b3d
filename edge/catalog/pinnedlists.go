package catalog

import (
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// needListed makes pinned.listed.
func (s *resourceSet) needListed() {
	if s.pinned == nil {
		return
	}
	s.pinned.listed = sync.OnceValue(func() map[neededBy]need {
		out := map[neededBy]need{}
		for i := range s.owners.parts {
			p := &s.owners.parts[i]
			if len(s.pinned.by[p.Backend]) == 0 {
				continue
			}
			of := len(p.Catalog.Resources) + len(p.Catalog.Skills)
			for _, x := range p.Catalog.Skills {
				of += len(x.GetFiles())
			}
			of = 1 + of/listWork
			put := func(kind listKind, key string, n need) {
				if n.never || len(n.values) > 0 {
					out[neededBy{kind, p.Backend.Name(), key}] = n
				}
			}
			for _, x := range p.Catalog.Resources {
				put(listResources, x.GetUri(), s.needOf(p.Backend, s.spelled.sent(p.Backend, x.GetUri()), of))
			}
			for _, x := range p.Catalog.Skills {
				put(listSkills, x.GetUri(), s.needOfSkill(p.Backend, x, of))
			}
		}
		return out
	})
}

// needOfSkill returns what a skill and its files need of callers.
func (s *resourceSet) needOfSkill(owner *backend.Backend, x *pb.Skill, of int) need {
	out := s.needOf(owner, s.spelled.sent(owner, x.GetUri()), of)
	for _, f := range x.GetFiles() {
		one := s.needOf(owner, s.spelled.sent(owner, f.GetUri()), of)
		out.never = out.never || one.never
		for pin, value := range one.values {
			out.add(pin, value)
		}
	}
	return out
}

// showsPinned reports whether a caller with the given values sees an entry of a list, as far as pins
// decide.
func (s *resourceSet) showsPinned(kind listKind, e *entry, values []string) bool {
	if s.pinned == nil {
		return true
	}
	return s.pinned.listed()[neededBy{kind, e.owner, e.key}].met(values)
}

// templatesFor returns a list of templates as a caller with the given values sees it: pinned
// variables are replaced by the values, and templates without a value are omitted. weight is the
// size of what it does not share with l.
func (s *resourceSet) templatesFor(l *list, values []string) (out *list, weight int) {
	if s.pinned == nil || !slices.ContainsFunc(l.Entries, func(e *entry) bool { return s.pinnedEntry(e) != nil }) {
		return l, 0
	}
	out = newList(l.kind, l.report)
	out.hint = l.hint
	for owner := range l.spans {
		out.spans[owner] = span{}
	}
	for _, e := range l.Entries {
		if t := s.pinnedEntry(e); t != nil {
			text, ok := t.bound(values)
			if !ok {
				continue
			}
			e = e.boundTo(text)
		}
		s := out.spans[e.owner]
		if s.from == s.to {
			s.from, s.to = len(out.Entries), len(out.Entries)
		}
		s.to++
		out.spans[e.owner] = s
		out.Entries = append(out.Entries, e)
		weight += len(e.key) + entryWeight
	}
	return out, weight
}

// entryWeight is an estimate of the bytes of an entry with its renderings.
const entryWeight = 1 << 10

// pinnedEntry returns the pinned template of an entry of a list of templates, or nil.
func (s *resourceSet) pinnedEntry(e *entry) *pinnedTemplate {
	if t := s.byText[e.key]; t != nil {
		return t.pin
	}
	return nil
}

// boundTo returns the entry of a template with another text. Its key, to which cursors refer, is kept.
func (e *entry) boundTo(text string) *entry {
	own := *e
	object, _ := e.shown()
	x := proto.CloneOf(object.(*pb.ResourceTemplate))
	x.UriTemplate = text
	own.render = func(dst []byte, r *revision.Rules) ([]byte, error) { return translate.AppendTemplate(dst, r, x) }
	own.shown = func() (proto.Message, string) { return x, "" }
	own.sum = new(entrySum)
	return &own
}

package config

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/policy"
)

// partSet is an owner's Set. Its members are objects of the owner's backends, and its audience is
// its own.
type partSet struct {
	Title        string     `yaml:"title"`
	Instructions string     `yaml:"instructions"`
	Include      SetMembers `yaml:"include"`
	Exclude      SetMembers `yaml:"exclude"`
	When         *string    `yaml:"when" also:"if,condition,expression"`
	Scopes       Names      `yaml:"scopes" also:"need,scope,required"`
}

// set returns the settings as a Set.
func (s *partSet) set() Set {
	return Set{Title: s.Title, Instructions: s.Instructions, Include: s.Include, Exclude: s.Exclude, When: s.When, Scopes: s.Scopes}
}

// OwnedSet is a Set of the platform or of an owner.
type OwnedSet struct {
	Set
	// Within are the only backends that the set can select from. nil means all.
	Within []string
	// Place is the file and the line of the condition of an owner's set; empty without one.
	Place string
}

// OwnedSets returns Sets, and those of the owners that are in force, by name.
func (c *Config) OwnedSets() map[string]OwnedSet {
	out := make(map[string]OwnedSet, len(c.Sets))
	for name, s := range c.Sets {
		out[name] = OwnedSet{Set: s}
	}
	c.inForce(func(g *Include, p *part) {
		placed := p.text.locator()
		for name, s := range p.settings.Sets {
			if _, taken := out[name]; taken {
				continue
			}
			one := OwnedSet{Set: s.set(), Within: g.Owns.Backends}
			if s.When != nil {
				one.Place = placed("sets." + name + ".when: ")
			}
			out[name] = one
		}
	})
	return out
}

// eachSet calls fn for each of Sets, and then for those in the files of Include, sorted by name.
// placed prefixes a note with its place in such a file.
func (c *Config) eachSet(fn func(name string, s *Set, placed func(note string) string)) {
	for _, name := range slices.Sorted(maps.Keys(c.Sets)) {
		s := c.Sets[name]
		fn(name, &s, unplaced)
	}
	c.inForce(func(_ *Include, p *part) {
		for _, name := range slices.Sorted(maps.Keys(p.settings.Sets)) {
			one := p.settings.Sets[name]
			s := one.set()
			fn(name, &s, p.text.locate)
		}
	})
}

// hasSets reports whether there is a set, also in the files of Include.
func (c *Config) hasSets() (has bool) {
	c.eachSet(func(string, *Set, func(string) string) { has = true })
	return has
}

// ownedSet matches the patterns of IncludeOwns.Sets.
var ownedSet = regexp.MustCompile(`^[a-z0-9-]{1,63}\*?$`)

// maxIncludedSets bounds the sets of one owner.
const maxIncludedSets = 50

// grantsSet reports whether the files may define a set of a name.
func (g *Include) grantsSet(name string) bool {
	return g.grants(MaySets) && slices.ContainsFunc(g.Owns.Sets, func(text string) bool {
		start, open := strings.CutSuffix(text, "*")
		return name == text || open && strings.HasPrefix(name, start)
	})
}

// validateOwnSets calls wrong for each mistake in Owns.Sets of Include[i].
func (c *Config) validateOwnSets(i int, wrong func(format string, args ...any)) {
	g := &c.Include[i]
	switch {
	case g.grants(MaySets) && len(g.Owns.Sets) == 0:
		wrong("owns: sets: it is missing: name the sets that the files may define, as crm or crm-*")
	case !g.grants(MaySets) && len(g.Owns.Sets) > 0:
		wrong("owns: sets: may does not have sets, so that the files define none: add it, or take these out")
	}
	for _, text := range g.Owns.Sets {
		if !ownedSet.MatchString(text) {
			wrong("owns: sets: %q: write the name of a set, or the beginning of names and one *, as crm-*", text)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(c.Sets)) {
			if one := (Include{May: Names{MaySets}, Owns: IncludeOwns{Sets: Names{text}}}); one.grantsSet(name) {
				wrong("owns: sets: %q matches the set %q, which is under sets: take one of them out", text, name)
			}
		}
		for other := range c.Include[:i] {
			for _, taken := range c.Include[other].Owns.Sets {
				if mayBeSame(text, taken) {
					wrong("owns: sets: %q and %q of include[%d] overlap: a set would belong to both", text, taken, other)
				}
			}
		}
	}
}

// mayBeSame reports whether two patterns of IncludeOwns.Sets match a common name.
func mayBeSame(a, b string) bool {
	x, openX := strings.CutSuffix(a, "*")
	y, openY := strings.CutSuffix(b, "*")
	return x == y || openX && strings.HasPrefix(y, x) || openY && strings.HasPrefix(x, y)
}

// invalidSets returns the errors of the sets of a part. before are the parts of the owner before it.
func (c *Config) invalidSets(g *Include, p *part, before []part) (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(p.settings.Sets)) {
		one := p.settings.Sets[name]
		s := one.set()
		errs = append(errs, c.invalidSet(name, &s)...)
		if !g.grantsSet(name) {
			wrong("sets.%s: the grant %q has the names %s", name, g.Label(), quoteAll(g.Owns.Sets))
		}
		for _, other := range before {
			if _, twice := other.settings.Sets[name]; twice {
				wrong("sets.%s: it is in %s, too: keep one", name, other.name)
			}
		}
		for key, members := range map[string]*SetMembers{"include": &s.Include, "exclude": &s.Exclude} {
			for _, backend := range members.Backends {
				if !strings.Contains(backend, "*") && !slices.Contains(g.Owns.Backends, backend) {
					wrong("sets.%s.%s.backends: %q is not the owner's: %s", name, key, backend, g.allows())
				}
			}
		}
		if s.When != nil {
			if _, err := policy.CompileOwnedCondition(*s.When); err != nil {
				wrong("sets.%s.when: %w", name, err)
			}
		}
	}
	for _, text := range p.settings.patterns() {
		if n := strings.Count(text, "*"); n > maxIncludedStars {
			wrong("sets: the pattern %.80q has %d stars, and at most %d are allowed: use several", text, n, maxIncludedStars)
		}
	}
	return errs
}

// patterns returns the patterns of all sets.
func (s *partSettings) patterns() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Sets)) {
		one := s.Sets[name]
		for _, members := range []*SetMembers{&one.Include, &one.Exclude} {
			out = slices.Concat(out, members.Backends, members.Groups, members.Tools, members.Prompts, members.Resources)
		}
	}
	return out
}

// withoutSets returns the sets that are not equal to one of the same name.
func withoutSets(sets, other map[string]partSet) map[string]partSet {
	out := map[string]partSet{}
	for name, s := range sets {
		if o, there := other[name]; !there || !reflect.DeepEqual(s, o) {
			out[name] = s
		}
	}
	return out
}

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// validateParts returns the errors of the files of Include[i], each with the file and the line. The
// other settings, and the owners before it, are valid.
func (c *Config) validateParts(i int, parts []part) error {
	g := &c.Include[i]
	if err := g.tooMany(parts); err != nil {
		return err
	}
	var errs []error
	var all overlay.Entries
	for n := range parts {
		errs = append(errs, c.validatePart(g, &parts[n], parts[:n])...)
		parts[n].catalog().addTo(&all, parts[n].text.locate)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, err := range append(c.validateEntries(all), c.takenNames(i, &all)...) {
		errs = append(errs, fmt.Errorf("config %w", err))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return c.validateRestriction(g, parts)
}

// validatePart returns the errors of one file. before are the files of the owner before it.
func (c *Config) validatePart(g *Include, p *part, before []part) []error {
	own := p.catalog().entries()
	errs := g.foreign(slices.Concat(own.Tools, own.Prompts, own.Resources))
	errs = append(errs, p.catalog().invalidArguments()...)
	errs = append(errs, c.foreignClaims(g, p.catalog())...)
	errs = append(errs, c.invalidRules(g, p)...)
	errs = append(errs, c.invalidSets(g, p, before)...)
	return append([]error{g.withoutGrant(p)}, p.placed(errs)...)
}

// validateRestriction returns the errors of the rules of all files together: names that are used
// twice, in several files or by the platform, and the cost.
func (c *Config) validateRestriction(g *Include, parts []part) error {
	r := g.restriction(parts)
	if err := r.Validate(); err != nil {
		return fmt.Errorf("config %s: %w", g.File, err)
	}
	if err := g.costs(parts); err != nil {
		return err
	}
	settings := c.ownPolicy()
	settings.Restrictions = []policy.Restriction{r}
	if _, err := policy.Compile(settings); err != nil {
		return fmt.Errorf("config %s: %w", g.File, err)
	}
	return nil
}

// withoutGrant returns an error if a part has a section that the grant does not allow any more.
func (g *Include) withoutGrant(p *part) error {
	entries, rules := p.settings.size()
	if entries > len(p.settings.patterns()) && !g.grants(MayCatalog) || rules > 0 && !g.grants(MayPolicy) || len(p.settings.Sets) > 0 && !g.grants(MaySets) {
		return fmt.Errorf("config %s: %s", p.name, g.allows())
	}
	return nil
}

// tooMany returns an error if parts have more entries or rules than one owner may have.
func (g *Include) tooMany(parts []part) error {
	entries, rules, sets := 0, 0, 0
	for i := range parts {
		sets += len(parts[i].settings.Sets)
		e, r := parts[i].settings.size()
		entries, rules = entries+e, rules+r
	}
	if entries > maxIncludedEntries || rules > maxIncludedRules {
		return fmt.Errorf("config %s: there are %d entries and patterns of sets, and %d rules and scopes: have at most %d and %d", g.File, entries, rules, maxIncludedEntries, maxIncludedRules)
	}
	if sets > maxIncludedSets {
		return fmt.Errorf("config %s: there are %d sets: have at most %d", g.File, sets, maxIncludedSets)
	}
	return nil
}

// maxIncludedStars bounds the stars of a pattern in an owner's file. Names and URIs of requests are
// compared with each pattern, and the time of a comparison grows with its stars.
const maxIncludedStars = 8

// placed prefixes errors, which begin with a key, with the file and the line.
func (p *part) placed(errs []error) (out []error) {
	for _, err := range errs {
		if err != nil {
			out = append(out, p.text.place(err))
		}
	}
	return out
}

// foreign returns an error for each entry about a backend, and each name, that is not the owner's.
func (g *Include) foreign(list []overlay.Entry) (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, e := range list {
		switch {
		case e.Backend == "":
			wrong("%s: backend: it is missing: the owner has several, %s", e.Place, quoteAll(g.Owns.Backends))
		case !slices.Contains(g.Owns.Backends, e.Backend):
			wrong("%s: backend: %q is not the owner's: %s", e.Place, e.Backend, g.allows())
		}
		if n := strings.Count(e.Names.String(), "*"); n > maxIncludedStars {
			wrong("%s: the pattern has %d stars, and at most %d are allowed: use several entries", e.Place, n, maxIncludedStars)
		}
		if len(e.Groups) > 0 {
			wrong("%s: groups: the platform's file puts tools, prompts and resources into groups, which sets include", e.Place)
		}
		for i, name := range e.Given() {
			key := "aliases"
			if i == 0 && e.Name != "" {
				key = "name"
			}
			switch {
			case len(g.Owns.Prefixes) == 0:
				wrong("%s: %s: %.200q: the grant %q has no prefixes, so that its files give no names", e.Place, key, name, g.Label())
			case !slices.ContainsFunc(g.Owns.Prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }):
				wrong("%s: %s: %.200q does not begin with a prefix of the grant %q: %s", e.Place, key, name, g.Label(), quoteAll(g.Owns.Prefixes))
			}
		}
	}
	return errs
}

// takenNames returns an error for each name in Include[i] that the platform, or the owner of an
// earlier Include, has given to another object.
func (c *Config) takenNames(i int, own *overlay.Entries) (errs []error) {
	others := c.Catalog.entries()
	for n := range i {
		if t := c.teamOf(n); !t.hidden {
			for at := range t.parts {
				t.parts[at].catalog().addTo(&others, t.parts[at].text.locate)
			}
		}
	}
	errs = append(errs, clashes(others.Tools, own.Tools)...)
	return append(errs, clashes(others.Prompts, own.Prompts)...)
}

// clashes returns an error for each name of own entries that others give to another object.
func clashes(others, own []overlay.Entry) (errs []error) {
	for _, e := range own {
		for _, o := range others {
			same := o.Backend == e.Backend && o.Names.String() == e.Names.String()
			for _, name := range e.Given() {
				if !same && slices.Contains(o.Given(), name) {
					errs = append(errs, fmt.Errorf("%s: name: %q is given to %q in %s: choose another one", e.Place, name, o.Names.String(), o.Place))
				}
			}
		}
	}
	return errs
}

// invalidRules returns the errors of the rules, scopes and approvals of a part.
func (c *Config) invalidRules(g *Include, p *part) (errs []error) {
	own := &p.settings.Policy
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("policy."+format, args...)) }
	for i, r := range own.Rules {
		if strings.Contains(r.Name, "/") { // Names are qualified with a slash.
			wrong("rules[%d] %s: name: use a name without a slash", i, r.Name)
		}
		if policy.Effect(r.Then) == policy.Allow {
			wrong("rules[%d] %s: then: \"allow\" is the platform's: rules of the grant %q have deny or hide", i, r.Name, g.Label())
		}
	}
	for i, a := range own.Approve {
		if strings.Contains(a.Name, "/") {
			wrong("approve[%d] %s: name: use a name without a slash", i, a.Name)
		}
	}
	if why := c.notApprovable(g.Owns.Backends, true); why != "" && len(own.Approve) > 0 {
		wrong("approve: %s", why)
	}
	if len(errs) > 0 {
		return errs
	}
	one := g.restriction([]part{*p})
	return flatten(one.Validate(), "policy.")
}

// flatten returns the errors that err joins, each with a prefix.
func flatten(err error, prefix string) (out []error) {
	joined, isJoined := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !isJoined:
		return []error{fmt.Errorf("%s%w", prefix, err)}
	}
	for _, one := range joined.Unwrap() {
		out = append(out, flatten(one, prefix)...)
	}
	return out
}

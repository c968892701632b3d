package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// validateParts returns the errors of the files of Include[i], each with the file and the line. The
// other settings, and the owners before it, are valid.
func (c *Config) validateParts(i int, parts []part) error {
	g := &c.Include[i]
	var errs []error
	var all overlay.Entries
	if err := g.tooMany(parts); err != nil {
		return err
	}
	for n := range parts {
		p := &parts[n]
		errs = append(errs, g.withoutGrant(p))
		own := p.catalog().entries()
		for _, list := range [][]overlay.Entry{own.Tools, own.Prompts, own.Resources} {
			errs = append(errs, p.placed(g.foreign(list))...)
		}
		errs = append(errs, p.placed(p.catalog().invalidArguments())...)
		errs = append(errs, p.placed(c.foreignClaims(g, p.catalog()))...)
		errs = append(errs, p.placed(c.invalidRules(g, p))...)
		errs = append(errs, p.placed(c.invalidSets(g, p, parts[:n]))...)
		p.catalog().addTo(&all, p.text.locate)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if errs = append(c.validateEntries(all), c.takenNames(i, &all)...); len(errs) > 0 {
		for n := range errs {
			errs[n] = fmt.Errorf("config %w", errs[n])
		}
		return errors.Join(errs...)
	}
	// Names of rules that are used twice, in several files or by the platform.
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

// costs returns an error if the expressions of an owner may take more time than one owner may.
func (g *Include) costs(parts []part) error {
	var total, greatest uint64
	var costliest string
	for i := range parts {
		p := &parts[i]
		placed := p.text.locator()
		for _, one := range p.expressions() {
			cost, err := policy.EstimatedCost(one.text)
			if err != nil {
				continue
			}
			total += cost
			if cost > greatest {
				greatest, costliest = cost, fmt.Sprintf("%s in %s", one.key, placed(one.key+": "))
			}
		}
	}
	if total <= policy.MaxOwnerCost {
		return nil
	}
	return fmt.Errorf("config %s: the conditions and values have an estimated cost of %d together, and at most %d is allowed: simplify them, first of all %s",
		g.File, total, policy.MaxOwnerCost, costliest)
}

// expression is an expression in a file of an owner. key is its place in the file.
type expression struct{ key, text string }

// expressions returns the conditions of rules, approvals and sets, and the values of arguments and variables.
func (p *part) expressions() (out []expression) {
	for i, r := range p.settings.Policy.Rules {
		out = append(out, expression{fmt.Sprintf("policy.rules[%d].when", i), r.When})
	}
	for i, a := range p.settings.Policy.Approve {
		out = append(out, expression{fmt.Sprintf("policy.approve[%d].when", i), a.When}, expression{fmt.Sprintf("policy.approve[%d].approvers", i), a.Approvers})
	}
	for _, name := range slices.Sorted(maps.Keys(p.settings.Sets)) {
		if when := p.settings.Sets[name].When; when != nil {
			out = append(out, expression{fmt.Sprintf("sets.%s.when", name), *when})
		}
	}
	values := func(what string, i int, arguments map[string]CatalogArgument) {
		for _, name := range slices.Sorted(maps.Keys(arguments)) {
			if from := arguments[name].From; from != "" {
				out = append(out, expression{fmt.Sprintf("catalog.%ss[%d].%s.%s.from", what, i, pinsOf(what), name), from})
			}
		}
	}
	for i, e := range p.settings.Catalog.Tools {
		values("tool", i, e.Arguments)
	}
	for i, e := range p.settings.Catalog.Prompts {
		values("prompt", i, e.Arguments)
	}
	for i, e := range p.settings.Catalog.Resources {
		values("resource", i, asArguments(e.Variables))
	}
	return out
}

// withoutGrant returns an error if a part has a section that the grant does not allow any more.
func (g *Include) withoutGrant(p *part) error {
	entries, rules := p.settings.size()
	entries -= len(p.settings.patterns())
	if entries > 0 && !g.grants(MayCatalog) || rules > 0 && !g.grants(MayPolicy) || len(p.settings.Sets) > 0 && !g.grants(MaySets) {
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

// foreignClaims returns an error for each pinned argument or variable whose value has an attribute of the caller
// that its backend does not receive otherwise.
func (c *Config) foreignClaims(g *Include, s *Catalog) (errs []error) {
	check := func(what string, i int, backend string, arguments map[string]CatalogArgument) {
		for _, name := range slices.Sorted(maps.Keys(arguments)) {
			text := arguments[name].From
			from, err := policy.CompileOwnedValue(text)
			if text == "" || err != nil {
				continue
			}
			if not := c.unsent(backend, from); len(not) > 0 {
				errs = append(errs, fmt.Errorf("catalog.%ss[%d]: %s.%s: from: the backend %q does not receive %s: the platform gives it claims, with claims or metadata, and the grant %q cannot",
					what, i, pinsOf(what), name, backend, strings.Join(not, ", "), g.Label()))
			}
		}
	}
	for i, e := range s.Tools {
		check("tool", i, e.Backend, e.Arguments)
	}
	for i, e := range s.Prompts {
		check("prompt", i, e.Backend, e.Arguments)
	}
	for i, e := range s.Resources {
		check("resource", i, e.Backend, asArguments(e.Variables))
	}
	return errs
}

// unsent returns the variables of a value that a backend does not receive: claims other than those
// in its settings and, with kind: reflect, variables that are not in its metadata.
func (c *Config) unsent(backend string, from *policy.Value) (out []string) {
	var sent Names
	var attributes []string
	isContract := true
	if at := slices.IndexFunc(c.Backends, func(b Backend) bool { return b.Name == backend }); at >= 0 {
		b := &c.Backends[at]
		sent = b.ForwardedClaims()
		isContract = b.Kind != KindReflect || b.Identity == IdentitySigned
		attributes = b.metadataAttributes()
	} else if k := c.Kubernetes; k != nil {
		b := k.settingsOf(backend)
		sent, isContract = b.ForwardedClaims(), b.Kind == KindContract || b.Kind == "" && !k.Reflect || b.Identity == IdentitySigned
		attributes = append(attributes, b.metadataAttributes()...)
	}
	for _, name := range from.Claims() {
		if !slices.Contains(sent, name) {
			out = append(out, policy.Claims+"."+name)
		}
	}
	for _, name := range from.Attributes() {
		if !isContract && !slices.Contains(attributes, name) {
			out = append(out, name)
		}
	}
	return out
}

// metadataAttributes returns the attributes of callers that the metadata of a backend has.
func (b *Backend) metadataAttributes() (out []string) {
	for _, v := range b.Metadata {
		if value, err := policy.CompileValue(v.From); v.From != "" && err == nil {
			out = append(out, value.Attributes()...)
		}
	}
	return out
}

// invalidRules returns the errors of the rules, scopes and approvals of a part.
func (c *Config) invalidRules(g *Include, p *part) (errs []error) {
	for i, r := range p.settings.Policy.Rules {
		if strings.Contains(r.Name, "/") { // Names are qualified with a slash.
			errs = append(errs, fmt.Errorf("policy.rules[%d] %s: name: use a name without a slash", i, r.Name))
		}
		if policy.Effect(r.Then) == policy.Allow {
			errs = append(errs, fmt.Errorf("policy.rules[%d] %s: then: \"allow\" is the platform's: rules of the grant %q have deny or hide", i, r.Name, g.Label()))
		}
	}
	for i, a := range p.settings.Policy.Approve {
		if strings.Contains(a.Name, "/") {
			errs = append(errs, fmt.Errorf("policy.approve[%d] %s: name: use a name without a slash", i, a.Name))
		}
	}
	if why := c.notApprovable(g.Owns.Backends, true); why != "" && len(p.settings.Policy.Approve) > 0 {
		errs = append(errs, fmt.Errorf("policy.approve: %s", why))
	}
	if len(errs) > 0 {
		return errs
	}
	one := g.restriction([]part{*p})
	err := one.Validate()
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return flatten(joined.Unwrap(), "policy.")
	}
	return flatten([]error{err}, "policy.")
}

// flatten returns the errors of joined errors, each with a prefix.
func flatten(errs []error, prefix string) (out []error) {
	for _, err := range errs {
		if err == nil {
			continue
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			out = append(out, flatten(joined.Unwrap(), prefix)...)
			continue
		}
		out = append(out, fmt.Errorf("%s%w", prefix, err))
	}
	return out
}

// isBlank reports whether a text has no settings: only space, comments and the marks of documents.
func isBlank(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line != "---" && line != "..." && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

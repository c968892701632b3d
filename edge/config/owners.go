package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/policy"
)

// OwnerState is the state of an owner's files.
type OwnerState string

// Owner states.
const (
	// OwnerInForce: the files as they were read last.
	OwnerInForce OwnerState = "in-force"
	// OwnerStale: earlier files are in force, because the current ones cannot be used.
	OwnerStale OwnerState = "stale"
	// OwnerHidden: nothing, and the owner's backends are hidden. The files are missing, or cannot be used
	// and no earlier content is known.
	OwnerHidden OwnerState = "hidden"
)

// Owner is the state of the files of an Include.
type Owner struct {
	// Name is the label of the Include, and Pattern its File.
	Name, Pattern string
	// Files are the names of the files that are in force.
	Files []string
	State OwnerState
	// Digest identifies the files in force, in hexadecimal. It is empty if State is OwnerHidden.
	Digest string
	// Err is why the files cannot be used; nil if State is OwnerInForce. Its text has no values of the
	// files.
	Err error
}

// team has the settings in force of one Include's files. It is immutable.
type team struct {
	label string
	// parts are in force unless hidden is set. Then they are those that were used last, if any.
	parts  []part
	hidden bool
	err    error
}

// teamOf returns the settings in force of Include[i].
func (c *Config) teamOf(i int) *team {
	if i < len(c.teams) {
		return &c.teams[i]
	}
	return &team{label: c.Include[i].Label(), hidden: true, err: errors.New("its files were not read")}
}

// Owners returns the states of the owners, in the order of Include.
func (c *Config) Owners() (out []Owner) {
	for i := range c.Include {
		t := c.teamOf(i)
		o := Owner{Name: c.Include[i].Label(), Pattern: c.Include[i].File, Err: withoutSecrets(t.err)}
		switch {
		case t.hidden:
			o.State = OwnerHidden
		case t.err != nil:
			o.State = OwnerStale
		default:
			o.State = OwnerInForce
		}
		if !t.hidden {
			for _, p := range t.parts {
				o.Files = append(o.Files, p.name)
			}
			o.Digest = digest(c.File, t.settings())
		}
		out = append(out, o)
	}
	return out
}

// settings returns the settings of the parts.
func (t *team) settings() (out []partSettings) {
	for _, p := range t.parts {
		out = append(out, p.settings)
	}
	return out
}

// Unusable returns an error for each owner whose files cannot be used.
func (c *Config) Unusable() error {
	var errs []error
	for _, o := range c.Owners() {
		if o.Err != nil {
			errs = append(errs, fmt.Errorf("%w\nThe files of %q cannot be used: %s", o.Err, o.Name, consequence(o.State)))
		}
	}
	return errors.Join(errs...)
}

func consequence(s OwnerState) string {
	if s == OwnerStale {
		return "what was read before stays in force"
	}
	return "its backends are hidden"
}

// takeIncluded puts the files of Include in force, separately for each owner. last has the previous
// settings. The other settings must be valid.
func (c *Config) takeIncluded(read Included, last []team) {
	c.teams = nil
	taken := map[string]string{c.File: "the settings"}
	for i := range c.Include {
		var files IncludedFiles
		if i < len(read) {
			files = read[i]
		}
		var before *team
		if at := slices.IndexFunc(last, func(t team) bool { return t.label == c.Include[i].Label() }); at >= 0 {
			before = &last[at]
		}
		c.teams = append(c.teams, c.resolve(i, files, before, taken))
		for _, f := range files.Files {
			taken[f.Name] = fmt.Sprintf("include[%d]", i)
		}
	}
}

// resolve returns the settings of Include[i] to put in force. before has the previous ones, or is
// nil. taken maps the names of files to their owners.
func (c *Config) resolve(i int, read IncludedFiles, before *team, taken map[string]string) team {
	g := &c.Include[i]
	t := team{label: g.Label()}
	var errs []error
	if read.Err != "" {
		errs = append(errs, fmt.Errorf("config: %s", read.Err))
	}
	add := func(f IncludedFile) {
		p, blank, err := g.newPart(f)
		switch {
		case taken[f.Name] != "":
			err = fmt.Errorf("config %s: it also belongs to %s: use a pattern that does not match it", f.Name, taken[f.Name])
		case f.Err != "":
			err = fmt.Errorf("config %s: %s", f.Name, f.Err)
		case blank:
			err = fmt.Errorf("config %s: it is empty: write catalog: {} if it is to set nothing", f.Name)
		}
		if err != nil {
			errs = append(errs, err)
			return
		}
		t.parts = append(t.parts, *p)
	}
	there := false
	for _, f := range read.Files {
		there = there || f.Err == "" && !isBlank(f.Text)
		add(f)
	}
	if len(read.Files) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("config %s: there is no such file", g.File))
	}
	if len(errs) == 0 {
		errs = append(errs, c.validateParts(i, t.parts))
	}
	if err := errors.Join(errs...); err != nil {
		return c.fallBack(i, before, there, err)
	}
	if err := before.missing(t.parts); err != nil {
		return c.fallBack(i, before, there, err)
	}
	return t
}

// fallBack returns the settings in force instead of files that cannot be used because of err. These
// are the previous settings if the grant still allows them, and none otherwise. there is false if
// no file is there: the backends of Owns are then hidden.
func (c *Config) fallBack(i int, before *team, there bool, err error) team {
	t := team{label: c.Include[i].Label(), hidden: true, err: err}
	if before == nil || len(before.parts) == 0 || c.validateParts(i, before.parts) != nil {
		return t
	}
	t.parts, t.hidden = before.parts, !there
	return t
}

// missing returns an error for each file that was in force and is not among the parts, unless they
// have all that it said.
func (t *team) missing(parts []part) error {
	if t == nil {
		return nil
	}
	var errs []error
	for _, was := range t.parts {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == was.name }) && !within(&was.settings, parts) {
			errs = append(errs, fmt.Errorf("config %s: it no longer exists: put it back, or let it have catalog: {} before you delete it", was.name))
		}
	}
	return errors.Join(errs...)
}

// within reports whether parts have every entry and rule of other settings.
func within(s *partSettings, parts []part) bool {
	for i := range parts {
		p := &parts[i].settings
		s = &partSettings{
			partCatalog{without(s.Catalog.Tools, p.Catalog.Tools), without(s.Catalog.Prompts, p.Catalog.Prompts), without(s.Catalog.Resources, p.Catalog.Resources)},
			partPolicy{without(s.Policy.Rules, p.Policy.Rules), without(s.Policy.Scopes, p.Policy.Scopes), without(s.Policy.Approve, p.Policy.Approve)},
			withoutSets(s.Sets, p.Sets),
		}
	}
	return len(s.Sets)+len(s.Catalog.Tools)+len(s.Catalog.Prompts)+len(s.Catalog.Resources)+len(s.Policy.Rules)+len(s.Policy.Scopes)+len(s.Policy.Approve) == 0
}

// without returns the elements of a list that are not equal to one of another list.
func without[T any](list, other []T) (out []T) {
	for _, x := range list {
		if !slices.ContainsFunc(other, func(y T) bool { return reflect.DeepEqual(x, y) }) {
			out = append(out, x)
		}
	}
	return out
}

// hiddenBackends are the backends of owners that are hidden.
func (c *Config) hiddenBackends() (out []string) {
	for i := range c.Include {
		if c.teamOf(i).hidden {
			out = append(out, c.Include[i].Owns.Backends...)
		}
	}
	return out
}

// inForce calls fn for each part that is in force, in the order of Include.
func (c *Config) inForce(fn func(g *Include, p *part)) {
	for i := range c.Include {
		if t := c.teamOf(i); !t.hidden {
			for n := range t.parts {
				fn(&c.Include[i], &t.parts[n])
			}
		}
	}
}

// restrictions returns the rules, scopes and approvals of the owners.
func (c *Config) restrictions() (out []policy.Restriction) {
	for i := range c.Include {
		if t := c.teamOf(i); !t.hidden {
			if r := c.Include[i].restriction(t.parts); len(r.Rules)+len(r.Scopes)+len(r.Approve) > 0 {
				out = append(out, r)
			}
		}
	}
	return out
}

// restriction returns the rules, scopes and approvals of parts.
func (g *Include) restriction(parts []part) policy.Restriction {
	out := policy.Restriction{Owner: g.Label(), Backends: g.Owns.Backends}
	for i := range parts {
		s := parts[i].settings.Policy.settings()
		placed := parts[i].text.locator()
		for n := range s.Rules {
			out.Places = append(out.Places, placed(fmt.Sprintf("policy.rules[%d]: ", n)))
		}
		out.Rules, out.Scopes = append(out.Rules, s.Rules...), append(out.Scopes, s.Scopes...)
		out.Approve = append(out.Approve, s.Approve...)
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

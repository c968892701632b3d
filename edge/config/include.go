package config

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Include reads settings from the files of another owner, such as a team. It grants what these
// files may set; the files cannot.
type Include struct {
	// Name of the grant in logs, metrics and the names of rules; empty uses File.
	Name string `yaml:"name"`
	// File is the name of a file, or a pattern with *, ? and [a-z] in its elements, relative to the
	// settings file. If it matches no readable file, the backends of Owns are hidden.
	File string `yaml:"file" also:"files,path,glob,pattern" names:"pattern"`
	// Owns lists what the files may set.
	Owns IncludeOwns `yaml:"owns"`
	// May are the sections that the files may have: MayCatalog, MayPolicy, MaySets.
	May Names `yaml:"may" also:"sections,allow"`
}

// IncludeOwns lists what the files of an Include may set.
type IncludeOwns struct {
	// Backends are names of backends. A backend belongs to at most one Include.
	Backends Names `yaml:"backends" also:"backend"`
	// Prefixes begin the names and aliases that the files may give. Empty: they may give none.
	Prefixes Names `yaml:"prefixes" also:"prefix"`
	// Sets are the names of the sets that the files may define: a name, or the beginning of names and *.
	Sets Names `yaml:"sets" also:"set"`
}

// The values of Include.May.
const (
	// MayCatalog grants catalog, except default.
	MayCatalog = "catalog"
	// MayPolicy grants rules that deny or hide and required scopes, for the own backends.
	MayPolicy = "policy"
	// MaySets grants sets of the own backends, with names of IncludeOwns.Sets.
	MaySets = "sets"
)

// maxIncludeName bounds the names of grants in bytes.
const maxIncludeName = 128

// Label returns the name of the grant.
func (g *Include) Label() string {
	if g.Name != "" {
		return g.Name
	}
	return g.File
}

// grants reports whether the files may have a section.
func (g *Include) grants(section string) bool { return slices.Contains(g.May, section) }

// allows describes the grant, for errors.
func (g *Include) allows() string {
	var keys []string
	if g.grants(MayCatalog) {
		keys = append(keys, "catalog.tools", "catalog.prompts", "catalog.resources")
	}
	if g.grants(MayPolicy) {
		keys = append(keys, "policy.rules", "policy.scopes")
	}
	if g.grants(MaySets) {
		keys = append(keys, "sets")
	}
	return fmt.Sprintf("the grant %q allows %s of %s", g.Label(), strings.Join(keys, ", "), quoteAll(g.Owns.Backends))
}

func quoteAll(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(out, ", ")
}

// grantsPolicy reports whether any Include may have rules.
func (c *Config) grantsPolicy() bool {
	return slices.ContainsFunc(c.Include, func(g Include) bool { return g.grants(MayPolicy) })
}

// validateIncludes returns the errors of Include. Those of the files are not among them, see Owners.
func (c *Config) validateIncludes() (errs []error) {
	for i := range c.Include {
		wrong := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("include[%d]: "+format, append([]any{i}, args...)...))
		}
		g := &c.Include[i]
		if why := notFilePattern(g.File); why != "" {
			wrong("file: %q: %s", g.File, why)
		}
		if len(g.Label()) > maxIncludeName || strings.ContainsFunc(g.Label(), func(r rune) bool { return !unicode.IsPrint(r) }) {
			wrong("name: %.80q: use at most %d characters that can be printed", g.Label(), maxIncludeName)
		}
		if at := slices.IndexFunc(c.Include[:i], func(o Include) bool { return o.Label() == g.Label() }); at >= 0 {
			wrong("name: %q is that of include[%d], too: give each its own", g.Label(), at)
		}
		for _, section := range g.May {
			if section != MayCatalog && section != MayPolicy && section != MaySets {
				wrong("may: %q: use catalog, policy and sets", section)
			}
		}
		if len(g.May) == 0 {
			wrong("may: it is missing: write what the files may have: catalog, policy, sets")
		}
		c.validateOwns(i, wrong)
		c.validateOwnSets(i, wrong)
	}
	return errs
}

// validateOwns calls wrong for each mistake in the Owns of an Include.
func (c *Config) validateOwns(i int, wrong func(format string, args ...any)) {
	owns := &c.Include[i].Owns
	if len(owns.Backends) == 0 {
		wrong("owns: backends: it is missing: name the backends of the owner")
	}
	for at, name := range owns.Backends {
		switch {
		case name == "" || strings.ContainsAny(name, "*?"):
			wrong("owns: backends: %q is not a name: write the name of each backend, without a pattern", name)
		case slices.Contains(owns.Backends[:at], name):
			wrong("owns: backends: %q is there twice: keep one", name)
		case c.Kubernetes == nil && !c.Demo && !hasBackend(c.Backends, name):
			wrong("owns: backends: %q is not a backend: use the name of one under backends", name)
		}
		for other := range c.Include[:i] {
			if slices.Contains(c.Include[other].Owns.Backends, name) {
				wrong("owns: backends: %q belongs to include[%d], too: a backend has one owner", name, other)
			}
		}
	}
	for _, prefix := range owns.Prefixes {
		if prefix == "" || !ValidPrefix(prefix) {
			wrong("owns: prefixes: %q: use at most 63 letters, digits, and _ . - /", prefix)
			continue
		}
		for other := range c.Include[:i] {
			for _, taken := range c.Include[other].Owns.Prefixes {
				if overlap(prefix, taken) {
					wrong("owns: prefixes: %q and %q of include[%d] overlap: a name would belong to both", prefix, taken, other)
				}
			}
		}
		for _, b := range c.Backends {
			if b.Prefix != "" && overlap(prefix, b.Prefix) && !slices.Contains(owns.Backends, b.Name) {
				wrong("owns: prefixes: %q overlaps with the prefix %q of the backend %q, to which such names belong", prefix, b.Prefix, b.Name)
			}
		}
	}
}

// overlap reports whether a name can begin with both prefixes.
func overlap(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// notFilePattern returns the reason for which a text is not a valid pattern of files, or an empty
// text.
func notFilePattern(text string) string {
	patterned := false
	for element := range strings.SplitSeq(text, "/") {
		_, err := path.Match(element, "")
		switch {
		case err != nil:
			return "it is not a pattern: write *, ? or [a-z] in names, and \\ before such a character that stands for itself"
		case strings.Contains(element, "**"):
			return "** is not read: write a * for each directory"
		case element == ".." && patterned:
			return "it leaves a directory that a pattern has matched: write the path without .."
		}
		patterned = patterned || hasMeta(element)
	}
	if text == "" || strings.HasSuffix(text, "/") {
		return "it is not a file: write a name, or a pattern such as teams/crm/*.yaml"
	}
	return ""
}

// hasMeta reports whether an element of a path is a pattern.
func hasMeta(element string) bool { return strings.ContainsAny(element, `*?[\`) }

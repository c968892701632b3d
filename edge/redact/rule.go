package redact

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/internal/pattern"
	"github.com/mcpedge/mcpedge/internal/regexcost"
)

// Rule is one entry of the setting redact.
type Rule struct {
	// Name is the unique name of the rule. Metrics and the default of Replace contain it.
	Name string
	// Pattern is the name of a pattern (see Named) or a regular expression (RE2). Exactly one of
	// Pattern and Path is set.
	Pattern string
	// Path selects a value in structured content or in arguments. It begins with "result." or
	// "arguments.", followed by names of members that dots separate. "*" matches any name. A path
	// also applies to the elements of arrays.
	Path string
	// Replace is the replacement. If it is a JSON number, it replaces numbers as a number. Empty
	// means "[REDACTED:NAME]".
	Replace string
	// In lists the names of the places in which the rule applies. Empty means all.
	In []string
	// Backends and Tools are patterns of names (see internal/pattern): the rule applies to texts
	// that come from these. Empty means all. They have an effect in Results, Questions and Progress,
	// and for log messages of backends. A rule with Tools applies only to calls of tools.
	Backends, Tools []string
	// Dry counts matches and replaces nothing.
	Dry bool
}

// Bounds of the settings.
const (
	// MaxRules bounds the number of rules.
	MaxRules = 64
	// maxExpression bounds the instructions of one expression, and maxExpressions the sum for all
	// expressions.
	maxExpression, maxExpressions = 1_000, 10_000
	// maxReplace bounds the length of a replacement, in bytes.
	maxReplace = 200
)

// exceeded replaces a text that exceeds a bound.
const exceeded = "[REDACTED]"

// rule is a compiled Rule.
type rule struct {
	name string
	// find returns the secrets in a text. It subtracts the cost beyond one search of the text from
	// left. nil for a rule with a path.
	find    func(text string, left *int64) []match
	weight  int64
	root    string // "result" or "arguments", for a rule with a path
	path    []string
	replace string
	// numeric is true if replace is a JSON number.
	numeric         bool
	in              [placeCount]bool
	backends, tools pattern.List
	dry             bool
	counts          [placeCount]*count
}

// Masker has the rules in force. It is immutable after CountIn, and safe for concurrent use.
type Masker struct {
	rules []*rule
	// views has the View of each place for texts of unknown origin.
	views [placeCount]*View
	// limited is true if a rule has backends or tools.
	limited bool
	// over counts the texts that exceeded a bound.
	over [placeCount]*count
}

// Compile returns the Masker of rules, or nil without rules. The error joins one error for each
// invalid rule, which begins with the rule's place in the settings.
func Compile(rules []Rule) (*Masker, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	if len(rules) > MaxRules {
		return nil, fmt.Errorf("redact: %d entries: at most %d are possible; put expressions together with |", len(rules), MaxRules)
	}
	m := &Masker{}
	var errs []error
	names := map[string]bool{}
	left := int64(maxExpressions)
	for i := range rules {
		r, err := compile(&rules[i])
		if err == nil && names[r.name] {
			err = fmt.Errorf("name: %q is used twice: give each entry its own", r.name)
		}
		if err == nil && !isNamed(rules[i].Pattern) {
			if left -= r.weight; left < 0 {
				err = fmt.Errorf("pattern: with it the expressions need more than %d instructions together: repeat less in them", maxExpressions)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("redact[%d] %s: %w", i, rules[i].Name, err))
			continue
		}
		names[r.name] = true
		m.rules = append(m.rules, r)
		m.limited = m.limited || r.backends != nil || r.tools != nil
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := m.stable(rules); err != nil {
		return nil, err
	}
	for place := range placeCount {
		m.views[place] = m.view(place, func(*rule) bool { return true })
	}
	m.CountIn(new(Counts))
	return m, nil
}

func compile(from *Rule) (*rule, error) {
	r := &rule{name: from.Name, replace: from.Replace, backends: pattern.NewList(from.Backends), tools: pattern.NewList(from.Tools), dry: from.Dry}
	switch {
	case r.name == "" || len(r.name) > 64 || strings.ContainsFunc(r.name, func(c rune) bool { return c < ' ' || c > '~' }):
		return nil, fmt.Errorf("name: %.70q: give it one of 1 to 64 printable characters of ASCII", r.name)
	case (from.Pattern == "") == (from.Path == ""):
		return nil, errors.New("pattern: give it either a pattern or a path")
	case len(r.replace) > maxReplace:
		return nil, fmt.Errorf("replace: it has %d bytes: at most %d are possible", len(r.replace), maxReplace)
	}
	if r.replace == "" {
		r.replace = "[REDACTED:" + r.name + "]"
	}
	r.numeric = jsonrpc.TypeOf([]byte(r.replace)) == jsonrpc.Number && jsonrpc.Valid([]byte(r.replace))
	for place := range placeCount {
		r.in[place] = len(from.In) == 0
	}
	for _, name := range from.In {
		place := slices.Index(placeNames[:], name)
		if place < 0 {
			return nil, fmt.Errorf("in: %q is not a place: write %s", name, strings.Join(placeNames[:], ", "))
		}
		r.in[place] = true
	}
	if from.Path != "" {
		return r, r.setPath(from.Path)
	}
	return r, r.setPattern(from.Pattern)
}

func (r *rule) setPath(path string) error {
	root, rest, _ := strings.Cut(path, ".")
	r.root, r.path = root, strings.Split(rest, ".")
	if root != rootResult && root != rootArguments {
		return fmt.Errorf("path: %q begins with neither %q nor %q: write the one in which the value is", path, rootResult+".", rootArguments+".")
	}
	if slices.Contains(r.path, "") || len(r.path) > maxPath {
		return fmt.Errorf("path: %q: write the names of 1 to %d members after %s, separated by dots", path, maxPath, root)
	}
	return nil
}

// maxPath bounds the number of names in a path.
const maxPath = 32

// word matches a text that is probably meant as the name of a pattern.
var word = regexp.MustCompile(`\A[a-z][a-z-]*\z`)

func (r *rule) setPattern(text string) error {
	if find, weight, ok := named(text); ok {
		r.find, r.weight = func(text string, _ *int64) []match { return find(text) }, weight
		return nil
	}
	if word.MatchString(text) {
		return fmt.Errorf("pattern: there is no named pattern %q: write one of %s, or (?:%s) for that word", text, strings.Join(Named(), ", "), text)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return fmt.Errorf("pattern: it is not a valid RE2 expression: %w", err)
	}
	if r.weight = regexcost.Instructions(tree, maxExpression); r.weight > maxExpression {
		return fmt.Errorf("pattern: it needs more than %d instructions: repeat less in it", maxExpression)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return fmt.Errorf("pattern: it is not a valid RE2 expression: %w", err)
	}
	if re.MatchString("") {
		return errors.New("pattern: it matches the empty text: write one that matches the secret alone")
	}
	r.find = expression(re, longest(tree), r.weight)
	return nil
}

// stable returns an error if a rule matches a replacement.
func (m *Masker) stable(rules []Rule) error {
	var errs []error
	for i, of := range m.rules {
		for _, r := range m.rules {
			if r.find == nil || r.dry || of.dry {
				continue
			}
			for _, text := range []string{of.replace, exceeded} {
				if left := int64(maxWork); len(r.find(text, &left)) > 0 {
					errs = append(errs, fmt.Errorf("redact[%d] %s: replace: the pattern of %q matches %q: write another text, or a narrower pattern", i, rules[i].Name, r.name, text))
				}
			}
		}
	}
	return errors.Join(errs...)
}

package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// Redaction is an entry of the setting redact. It replaces matches of a pattern, or a value, in
// some places.
type Redaction struct {
	// Name is in metrics and in the text that replaces. It is required, and unique.
	Name string `yaml:"name"`
	// Pattern is a named pattern (redact.Named) or a regular expression (RE2). Path names a value
	// instead: see redact.Rule. Exactly one of them is set.
	Pattern string `yaml:"pattern" also:"patterns,regex"`
	Path    string `yaml:"path"`
	// Replace is the replacement. Empty means "[REDACTED:NAME]".
	Replace string `yaml:"replace" also:"with"`
	// In lists the places in which it applies: results, questions, progress, logs, spans, audit,
	// dev. Empty means all.
	In Names `yaml:"in"`
	// Backends and Tools are patterns of names, see internal/pattern; empty means all.
	Backends Names `yaml:"backends" also:"backend"`
	Tools    Names `yaml:"tools" also:"tool"`
	// Mode is ModeEnforce or ModeAudit; empty means ModeEnforce.
	Mode string `yaml:"mode"`
}

// The values of Redaction.Mode.
const (
	// ModeEnforce replaces matches.
	ModeEnforce = "enforce"
	// ModeAudit counts matches and replaces nothing.
	ModeAudit = "audit"
)

// Masker compiles Redact. It returns nil if that is empty.
func (c *Config) Masker() (*redact.Masker, error) {
	rules := make([]redact.Rule, 0, len(c.Redact))
	var errs []error
	for i := range c.Redact {
		r := &c.Redact[i]
		if r.Mode != "" && r.Mode != ModeEnforce && r.Mode != ModeAudit {
			errs = append(errs, fmt.Errorf("redact[%d] %s: mode: %q: use %s or %s", i, r.Name, r.Mode, ModeEnforce, ModeAudit))
		}
		rules = append(rules, redact.Rule{
			Name: r.Name, Pattern: r.Pattern, Path: r.Path, Replace: r.Replace, In: r.In, Backends: r.Backends, Tools: r.Tools, Dry: r.Mode == ModeAudit,
		})
	}
	m, err := redact.Compile(rules)
	return m, errors.Join(append(errs, err)...)
}

// idleRedactions returns a note for each name in an entry of Redact that matches no existing
// object, so that the entry has no effect for it.
func (c *Config) idleRedactions(targets []policy.Target) (notes []string) {
	for i := range c.Redact {
		r := &c.Redact[i]
		for _, one := range pattern.NewList(r.Backends) {
			if !slices.ContainsFunc(targets, func(t policy.Target) bool { return one.Match(t.Backend) }) {
				notes = append(notes, fmt.Sprintf("redact: %s: backends: no backend that lists something has a name that %q names", r.Name, one.String()))
			}
		}
		for _, one := range pattern.NewList(r.Tools) {
			if !slices.ContainsFunc(targets, func(t policy.Target) bool { return t.Kind == policy.Tool && one.Match(t.Name) }) {
				notes = append(notes, fmt.Sprintf("redact: %s: tools: no backend lists what %q names", r.Name, one.String()))
			}
		}
	}
	return notes
}

package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// argumentsOf returns the changes of arguments of the entry at a place, and the pins in audit mode.
// Both are sorted by name and omit invalid ones.
func argumentsOf(place string, settings map[string]CatalogArgument) (changes, trials []overlay.Argument) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		s := settings[name]
		a, err := s.argument(name)
		a.Place = place
		switch {
		case err != nil:
		case s.Mode == modeAudit:
			trials = append(trials, a)
		default:
			changes = append(changes, a)
		}
	}
	return changes, trials
}

// argument returns the change of the argument with a name. The error begins with the invalid key.
func (s *CatalogArgument) argument(name string) (overlay.Argument, error) {
	a := overlay.Argument{Name: name, Description: s.Description}
	pins := set(s.From)
	if s.Value != nil {
		pins++
	}
	switch {
	case name == "":
		return a, fmt.Errorf("the name of an argument is empty")
	case pins > 1:
		return a, fmt.Errorf("give value or from, not both")
	case pins > 0 && (s.Default != nil || s.Description != ""):
		return a, fmt.Errorf("a pinned argument is not shown: leave default and description out")
	case s.Mode != "" && s.Mode != modeEnforce && s.Mode != modeAudit:
		return a, fmt.Errorf("mode: %q: use enforce or audit", s.Mode)
	case pins == 0 && s.Mode != "":
		return a, fmt.Errorf("mode: only a pinned argument has a mode: give value or from, or leave mode out")
	case pins == 0 && s.Default == nil && s.Description == "":
		return a, fmt.Errorf("nothing is set: give value, from, default or description")
	case s.From != "":
		from, err := policy.CompileOwnedValue(s.From)
		if err != nil {
			return a, fmt.Errorf("from: %w; for a fixed value write value in place of from", err)
		}
		a.Pin = from
	case s.Value != nil:
		raw, err := jsonOf(s.Value)
		if err != nil {
			return a, fmt.Errorf("value: %w", err)
		}
		a.Pin = overlay.Fixed(raw)
	case s.Default != nil:
		raw, err := jsonOf(s.Default)
		if err != nil {
			return a, fmt.Errorf("default: %w", err)
		}
		a.Default = raw
	}
	return a, nil
}

// jsonOf returns a value of a YAML file as compact JSON.
func jsonOf(value any) (json.RawMessage, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("it is not a value that JSON has: %w", err)
	}
	return raw, nil
}

// invalidArguments returns the errors in the arguments and variables of all entries.
func (c *Catalog) invalidArguments() (errs []error) {
	for i := range c.Tools {
		errs = append(errs, c.badArguments("tool", i)...)
	}
	for i := range c.Prompts {
		errs = append(errs, c.badArguments("prompt", i)...)
	}
	for i := range c.Resources {
		errs = append(errs, badVariables(i, c.Resources[i].Variables)...)
	}
	return errs
}

// badArguments returns the errors in the arguments of an entry. what is "tool" or "prompt", and i
// is the index of the entry.
func (c *Catalog) badArguments(what string, i int) (errs []error) {
	var settings map[string]CatalogArgument
	switch what {
	case "tool":
		settings = c.Tools[i].Arguments
	case "prompt":
		settings = c.Prompts[i].Arguments
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		s := settings[name]
		_, err := s.argument(name)
		if err == nil && what == "prompt" {
			err = s.text()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("catalog.%ss[%d]: arguments.%s: %w", what, i, name, err))
		}
	}
	return errs
}

// text returns an error if a value of a prompt's argument is not a text.
func (s *CatalogArgument) text() error {
	for key, value := range map[string]any{"value": s.Value, "default": s.Default} {
		if _, ok := value.(string); !ok && value != nil {
			return fmt.Errorf("%s: arguments of prompts are texts: put it in quotes", key)
		}
	}
	return nil
}

// pinnedClaims are the claims on which pinned arguments and variables depend.
func (c *Catalog) pinnedClaims() (out []string) {
	if c == nil {
		return nil
	}
	var all []CatalogArgument
	for i := range c.Tools {
		all = slices.AppendSeq(all, maps.Values(c.Tools[i].Arguments))
	}
	for i := range c.Prompts {
		all = slices.AppendSeq(all, maps.Values(c.Prompts[i].Arguments))
	}
	for i := range c.Resources {
		for _, s := range c.Resources[i].Variables {
			all = append(all, CatalogArgument{From: s.From})
		}
	}
	for i := range all {
		if all[i].From == "" {
			continue
		}
		if from, err := policy.CompileOwnedValue(all[i].From); err == nil {
			out = append(out, from.Claims()...)
		}
	}
	return out
}

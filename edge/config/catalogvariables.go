package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// variablesOf returns the pinned variables of the entry at a place, sorted by name, without invalid
// ones.
func variablesOf(place string, settings map[string]CatalogVariable) (out []overlay.Argument) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		s := settings[name]
		if pin, err := s.pin(name); err == nil {
			out = append(out, overlay.Argument{Name: name, Pin: pin, Place: place})
		}
	}
	return out
}

// pin returns the value of the variable with a name. The error begins with the invalid key.
func (s *CatalogVariable) pin(name string) (overlay.Pin, error) {
	text, isText := s.Value.(string)
	switch {
	case name == "":
		return nil, errors.New("the name of a variable is empty")
	case s.Value != nil && s.From != "":
		return nil, errors.New("give value or from, not both")
	case s.From != "":
		from, err := policy.CompileOwnedValue(s.From)
		if err != nil {
			return nil, fmt.Errorf("from: %w; for a fixed value write value in place of from", err)
		}
		return from, nil
	case s.Value == nil:
		return nil, errors.New("nothing is set: give value or from")
	case !isText:
		return nil, errors.New("value: variables of templates are texts: put it in quotes")
	case text == "", text == ".", text == "..":
		return nil, fmt.Errorf("value: %q is no value that a URI keeps: use another one", text)
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	return overlay.Fixed(raw), nil
}

// badVariables returns the errors in the variables of an entry for resources.
func badVariables(i int, settings map[string]CatalogVariable) (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		s := settings[name]
		if _, err := s.pin(name); err != nil {
			errs = append(errs, fmt.Errorf("catalog.resources[%d]: variables.%s: %w", i, name, err))
		}
	}
	return errs
}

// asArguments returns variables as arguments with the same expressions.
func asArguments(variables map[string]CatalogVariable) map[string]CatalogArgument {
	out := make(map[string]CatalogArgument, len(variables))
	for name, s := range variables {
		out[name] = CatalogArgument{Value: s.Value, From: s.From}
	}
	return out
}

// computed is an argument or a variable that an expression pins, at entry and pin of the settings.
type computed struct{ entry, pin, backend, from string }

// computed returns the arguments and variables that expressions pin.
func (c *Catalog) computed() (out []computed) {
	add := func(entry, pins, backend string, arguments map[string]CatalogArgument) {
		for _, name := range slices.Sorted(maps.Keys(arguments)) {
			if from := arguments[name].From; from != "" {
				out = append(out, computed{entry, pins + "." + name, backend, from})
			}
		}
	}
	for i, e := range c.Tools {
		add(fmt.Sprintf("catalog.tools[%d]", i), "arguments", e.Backend, e.Arguments)
	}
	for i, e := range c.Prompts {
		add(fmt.Sprintf("catalog.prompts[%d]", i), "arguments", e.Backend, e.Arguments)
	}
	for i, e := range c.Resources {
		add(fmt.Sprintf("catalog.resources[%d]", i), "variables", e.Backend, asArguments(e.Variables))
	}
	return out
}

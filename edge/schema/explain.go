package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	// maxDetails bounds the violations in one error, maxDetail the bytes of each, and maxShown what
	// each quotes of the value.
	maxDetails = 5
	maxDetail  = 256
	maxShown   = 512
)

// explain turns the validator's error into one line for people: its innermost violations. doc is
// the decoded schema.
func explain(err error, doc any) error {
	var wrong *jsonschema.SchemaValidationError
	if errors.As(err, &wrong) {
		err = wrong.Err
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	var lines []string
	more := false
	var walk func(e *jsonschema.ValidationError, where string)
	walk = func(e *jsonschema.ValidationError, where string) {
		shorten(e)
		if where == "" {
			where = pointerTo(e)
		}
		if len(e.Causes) == 0 {
			if more = len(lines) == maxDetails; !more {
				lines = append(lines, clip(where+inWords(e, doc)))
			}
			return
		}
		below := "" // Causes have a location of their own, except those about a name.
		if k, ok := e.ErrorKind.(*kind.PropertyNames); ok {
			below = fmt.Sprintf("%sthe name '%s': ", where, k.Property)
		}
		for _, c := range e.Causes {
			if more {
				return
			}
			walk(c, below)
		}
	}
	walk(invalid, "")
	if more {
		lines = append(lines, "and more")
	}
	return errors.New(strings.Join(lines, "; "))
}

// shorten cuts what a violation quotes of the value, because the error is one line, and printing
// copies it several times. What it quotes of the schema is converted to JSON.
func shorten(e *jsonschema.ValidationError) {
	for i, name := range e.InstanceLocation {
		e.InstanceLocation[i] = cut(name, maxShown)
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Pattern:
		k.Got = cut(k.Got, maxShown)
	case *kind.Format:
		if s, ok := k.Got.(string); ok {
			k.Got = cut(s, maxShown)
		}
		k.Err = errors.New(cut(k.Err.Error(), maxShown))
	case *kind.AdditionalProperties:
		k.Properties = k.Properties[:min(len(k.Properties), maxDetail)]
		for i, name := range k.Properties {
			k.Properties[i] = cut(name, maxShown)
		}
	case *kind.PropertyNames:
		k.Property = cut(k.Property, maxShown)
	case *kind.Enum:
		k.Want = slices.Clone(k.Want) // shared with the schema
		for i, v := range k.Want {
			k.Want[i] = inJSON(v)
		}
	case *kind.Const:
		k.Want = inJSON(k.Want)
	}
}

// null prints as in JSON.
type null struct{}

func (null) String() string { return "null" }

// inJSON converts a value of the schema for a violation, because nil would print as Go's <nil>.
func inJSON(v any) any {
	if v == nil {
		return null{}
	}
	return v
}

// clip bounds a client's or a backend's text for messages and logs.
func clip(s string) string { return cut(s, maxDetail) }

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

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
	// maxDetails bounds the violations that one error names, maxDetail the bytes that each takes, and maxShown
	// what is quoted in it of the value.
	maxDetails = 5
	maxDetail  = 256
	maxShown   = 512
)

// explain makes the validator's error one line for people: its innermost violations. doc is the decoded schema.
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
		below := "" // Causes have a location of their own, but for those about a name.
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

// shorten cuts what a violation quotes of the value: it is shown in a line, and printing copies it several times. What it quotes of the
// schema becomes JSON.
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
		k.Want = slices.Clone(k.Want) // the schema's
		for i, v := range k.Want {
			k.Want[i] = inJSON(v)
		}
	case *kind.Const:
		k.Want = inJSON(k.Want)
	}
}

// null is shown as JSON has it.
type null struct{}

func (null) String() string { return "null" }

// inJSON is a value that a schema wants as a violation is to show it: nil would be Go's <nil>.
func inJSON(v any) any {
	if v == nil {
		return null{}
	}
	return v
}

// clip keeps what a client or a backend sent from filling messages and logs.
func clip(s string) string { return cut(s, maxDetail) }

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

package schema

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// pointerTo returns the location of a violation as a JSON Pointer (RFC 6901), followed by a
// separator. It is empty for the whole value.
func pointerTo(e *jsonschema.ValidationError) string {
	if len(e.InstanceLocation) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("at '")
	for _, name := range e.InstanceLocation {
		b.WriteString("/" + pointerEscapes.Replace(name))
	}
	b.WriteString("': ")
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1", "\n", " ")

// inWords returns one violation on one line, without its location and causes: the actual and the
// wanted value. doc is the decoded schema of e.
func inWords(e *jsonschema.ValidationError, doc any) string {
	switch k := e.ErrorKind.(type) {
	case *kind.OneOf:
		if len(k.Subschemas) > 1 {
			if all, given := members(e.SchemaURL, doc, k.Subschemas); len(given) > 1 {
				return fmt.Sprintf("at most one of %s may be present, but %s are", strings.Join(all, ", "), strings.Join(given, " and "))
			}
		}
	case *kind.FalseSchema:
		return "no value is allowed"
	case *kind.Minimum:
		return numbersIn("at least", k.Got, k.Want)
	case *kind.Maximum:
		return numbersIn("at most", k.Got, k.Want)
	case *kind.ExclusiveMinimum:
		return numbersIn("more than", k.Got, k.Want)
	case *kind.ExclusiveMaximum:
		return numbersIn("less than", k.Got, k.Want)
	case *kind.MultipleOf:
		return numbersIn("a multiple of", k.Got, k.Want)
	case *kind.MinLength:
		return countIn("character", "at least", k.Got, k.Want)
	case *kind.MaxLength:
		return countIn("character", "at most", k.Got, k.Want)
	case *kind.MinItems:
		return countIn("item", "at least", k.Got, k.Want)
	case *kind.MaxItems:
		return countIn("item", "at most", k.Got, k.Want)
	case *kind.MinProperties:
		return countIn("member", "at least", k.Got, k.Want)
	case *kind.MaxProperties:
		return countIn("member", "at most", k.Got, k.Want)
	}
	// Other violations use the library's words.
	bare := jsonschema.ValidationError{ErrorKind: e.ErrorKind}
	return strings.ReplaceAll(strings.TrimPrefix(bare.Error(), "at '': "), "\n", " ")
}

func numbersIn(relation string, got, want *big.Rat) string {
	return fmt.Sprintf("got %s, want %s %s", decimal(got), relation, decimal(want))
}

func countIn(what, relation string, got, want int) string {
	if got != 1 {
		what += "s"
	}
	return fmt.Sprintf("got %d %s, want %s %d", got, what, relation, want)
}

// maxDigits bounds the digits of a number that is shown exactly.
const maxDigits = 40

// decimal returns a number in JSON: exact, or rounded if it has more than maxDigits digits.
func decimal(r *big.Rat) string {
	if places, exact := r.FloatPrec(); exact && places <= maxDigits {
		if text := r.FloatString(places); len(text) <= maxDigits {
			return text
		}
	}
	return new(big.Float).SetRat(r).Text('g', -1)
}

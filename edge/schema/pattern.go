package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpedge/mcpedge/internal/regexcost"
)

const (
	// maxPattern bounds the instructions of one compiled pattern, and maxPatterns those of all
	// patterns of a schema. A repetition multiplies its operand, and each instruction takes 40
	// bytes.
	maxPattern  = 10_000
	maxPatterns = 200_000
)

// pattern is a compiled regular expression with its size.
type pattern struct {
	*regexp.Regexp
	// size is an upper bound of its instructions. Matching takes at most as many steps for each
	// byte.
	size int64
}

// patterns compiles the patterns of one schema.
type patterns struct {
	left int64
	// sealed is set once the schema is compiled. Later calls are for values of the format "regex".
	sealed bool
}

// compile implements jsonschema.RegexpEngine.
func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if p.sealed {
		return nil, nil // the caller uses only the error
	}
	size := regexcost.Instructions(tree, maxPattern)
	if size > maxPattern {
		return nil, fmt.Errorf("the pattern %s needs more than %d instructions: repeat less in it", clip(text), maxPattern)
	}
	if p.left -= size; p.left < 0 {
		return nil, fmt.Errorf("the schema's patterns together need more than %d instructions: repeat less in them", maxPatterns)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &pattern{re, size}, nil
}

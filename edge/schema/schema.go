package schema

import (
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Schema checks JSON by a JSON Schema. The zero value accepts everything. It is safe for concurrent
// use.
type Schema struct {
	compiled *jsonschema.Schema
	// doc is the decoded schema.
	doc  any
	root *node
	// object is true if, with compiled nil, only an object is accepted. The value need not be
	// decoded then.
	object     bool
	multiplies bool
}

const (
	// MaxBytes bounds the text of a schema.
	MaxBytes = 256 << 10
	// MaxParts bounds the objects and booleans in a schema, each of which may be a schema. The time
	// of compiling is quadratic in their number.
	MaxParts = 5000
	// MaxValues bounds the values in the checked text. More could not be checked within MaxCost.
	MaxValues = MaxCost / visitPoints
	// location is the base of relative references. Nothing is loaded from it.
	location = "mcpedge:///schema"
)

// Compile compiles a schema, by default of dialect 2020-12. The empty text accepts everything.
// References lead only into the schema itself and the dialects' own schemas: nothing is fetched
// (MCP, "Tools", "Security Considerations"). The error is one line for people.
func Compile(text string) (*Schema, error) { return read(text, jsonschema.NewCompiler()) }

// CompileForm compiles the schema of a form, whose formats (email, uri, date, date-time) are
// checked (MCP, "Elicitation").
func CompileForm(text string) (*Schema, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	return read(text, c)
}

// Fits returns an error if a schema exceeds a bound of Compile, MaxBytes or MaxParts. text is valid
// JSON.
func Fits(text string) error {
	if err := fitsBytes(text); err != nil || len(text) < MaxParts*len("{}") {
		return err
	}
	doc, err := Decode([]byte(text))
	if err != nil {
		return err
	}
	return fitsParts(doc)
}

func fitsBytes(text string) error {
	if len(text) > MaxBytes {
		return fmt.Errorf("it has %d bytes, at most %d are read", len(text), MaxBytes)
	}
	return nil
}

func fitsParts(doc any) error {
	if n := parts(doc); n > MaxParts {
		return fmt.Errorf("it has %d objects and booleans that may be schemas, at most %d are compiled", n, MaxParts)
	}
	return nil
}

func read(text string, c *jsonschema.Compiler) (*Schema, error) {
	if text == "" {
		return &Schema{}, nil
	}
	if err := fitsBytes(text); err != nil {
		return nil, err
	}
	if !jsonrpc.Valid([]byte(text)) {
		return nil, errors.New("it is not valid JSON")
	}
	doc, err := Decode([]byte(text))
	if err != nil {
		return nil, err
	}
	if free, object := unconstrained(doc); free {
		return &Schema{object: object}, nil
	}
	if err := fitsParts(doc); err != nil {
		return nil, err
	}
	return compile(doc, c)
}

func compile(doc any, c *jsonschema.Compiler) (s *Schema, err error) {
	// The schema comes from a backend: a panic in the compiler must not end the process.
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("compiling it failed: %v", p)
		}
	}()
	engine := &patterns{left: maxPatterns}
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(engine.compile)
	if err := c.AddResource(location, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(location)
	if err != nil {
		return nil, explain(err, doc)
	}
	root, err := newGraph(compiled, c.Compile)
	if err != nil {
		return nil, err
	}
	engine.sealed = true
	return &Schema{compiled: compiled, doc: doc, root: root, multiplies: multiplies(root)}, nil
}

// Multiplies reports whether a check of 64 KiB of ordinary arguments can exceed MaxCost, because a
// schema is applied several times to the same value at each level of a recursion.
func (s *Schema) Multiplies() bool { return s.multiplies }

// Trivial reports whether the schema accepts everything, or every object.
func (s *Schema) Trivial() bool { return s.compiled == nil }

// ErrCost means that a check would exceed MaxCost, or the value MaxValues. Nothing was checked.
var ErrCost = errors.New("checking it would take too long")

// Prepare parses valid JSON and computes the cost of its check. The error is ErrCost, or one line
// for people that describes a fault of the text.
func (s *Schema) Prepare(raw []byte) (Check, error) {
	if s.compiled == nil {
		if t := jsonrpc.TypeOf(raw); s.object && t != jsonrpc.Object {
			return Check{}, fmt.Errorf("got %s, want object", t)
		}
		return Check{}, nil
	}
	value, values, err := decodeUpTo(raw, MaxValues)
	if err != nil {
		return Check{}, err
	}
	points := cost(s.root, value)
	if points > MaxCost {
		return Check{}, ErrCost
	}
	return Check{schema: s, value: value, cost: points, held: valueBytes*int64(values) + int64(len(raw))}, nil
}

// Check is a prepared check. The zero Check accepts.
type Check struct {
	schema *Schema
	value  any
	cost   int64
	held   int64
}

// valueBytes is the memory of a decoded value beside its text.
const valueBytes = 200

// Bytes returns an upper bound of the memory that Run needs until its error is dropped, without the
// memory of Held. It is at most MaxCost.
func (c *Check) Bytes() int64 { return c.cost }

// Held returns the approximate memory of the decoded value that the Check holds. It is 0 if nothing
// is checked.
func (c *Check) Held() int64 { return c.held }

// Run runs the check. The error lists in one line up to five places where the value does not match.
func (c *Check) Run() (err error) {
	if c.schema == nil {
		return nil
	}
	// The schema comes from a backend and the value from a client: a panic must not end the
	// process.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the value cannot be checked: %v", p)
		}
	}()
	if err := c.schema.compiled.Validate(c.value); err != nil {
		return explain(err, c.schema.doc)
	}
	return nil
}

// Validate calls Prepare and Run.
func (s *Schema) Validate(raw []byte) error {
	c, err := s.Prepare(raw)
	if err != nil {
		return err
	}
	return c.Run()
}

// noLoader refuses every document outside the schema.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside the schema, and nothing is fetched: put it into $defs", url)
}

// parts counts the values that may be schemas.
func parts(doc any) int64 {
	return total(doc, func(v any) int64 {
		switch v.(type) {
		case bool, map[string]any:
			return 1
		}
		return 0
	})
}

// total returns the sum of what of returns for a decoded value and all values in it.
func total(v any, of func(v any) int64) int64 {
	n := of(v)
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			n += total(x, of)
		}
	case []any:
		for _, x := range v {
			n += total(x, of)
		}
	}
	return n
}

// unconstrained reports whether a schema accepts everything, or every object.
func unconstrained(doc any) (free, object bool) {
	if doc == true {
		return true, false
	}
	members, ok := doc.(map[string]any)
	if !ok {
		return false, false
	}
	for key, value := range members {
		switch key {
		case "$schema", "$comment", "title", "description", "examples", "default", "deprecated":
		case "type":
			object = true
			if value != "object" {
				return false, false
			}
		case "properties":
			if m, ok := value.(map[string]any); !ok || len(m) > 0 {
				return false, false
			}
		case "required":
			if a, ok := value.([]any); !ok || len(a) > 0 {
				return false, false
			}
		case "additionalProperties":
			if value != true {
				return false, false
			}
		default:
			return false, false
		}
	}
	return true, object
}

package schema

import (
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Schema checks JSON by a JSON Schema. The zero value accepts everything. Safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	// doc is the schema as decoded.
	doc  any
	root *node
	// object: with nothing compiled, any object will do, so that no value need be decoded.
	object     bool
	multiplies bool
}

const (
	// MaxBytes bounds the text of a schema.
	MaxBytes = 256 << 10
	// MaxParts bounds the objects and booleans in a schema, each of which may be a schema of its own: compiling
	// takes time with their square.
	MaxParts = 5000
	// MaxValues bounds the values in what is checked: more could not be looked at within MaxCost.
	MaxValues = MaxCost / visitPoints
	// location is a base for relative references; nothing is ever loaded from it.
	location = "mcpedge:///schema"
)

// Compile compiles a schema of dialect 2020-12 unless it names another. The empty text accepts everything.
// References lead only into the schema itself and the dialects' own: nothing is fetched (MCP, "Tools",
// "Security Considerations"). The error is one line for people.
func Compile(text string) (*Schema, error) { return read(text, jsonschema.NewCompiler()) }

// CompileForm is Compile of the schema of a form, whose formats (email, uri, date, date-time) are checked (MCP, "Elicitation").
func CompileForm(text string) (*Schema, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	return read(text, c)
}

// Fits returns the bound of Compile that a schema exceeds, MaxBytes or MaxParts; nil if it exceeds none. text is valid JSON.
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
		return nil, errors.New("it is no valid JSON")
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
	// The schema is a backend's: a fault in compiling it must not end the process.
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

// Multiplies reports whether ordinary arguments of 64 KiB can take a check beyond MaxCost: because a schema is
// applied several times to the same value, again at each level where it recurs.
func (s *Schema) Multiplies() bool { return s.multiplies }

// Trivial reports whether nothing, or only that a value is an object, is asked.
func (s *Schema) Trivial() bool { return s.compiled == nil }

// ErrCost is that a check would cost more than MaxCost, or the value has more than MaxValues. Nothing was checked.
var ErrCost = errors.New("checking it would take too long")

// Prepare reads a text that is known to be valid JSON and computes what checking it costs. The error is ErrCost,
// or what is wrong with the text in one line for people.
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

// Check is a check that is ready to be run. The zero Check accepts.
type Check struct {
	schema *Schema
	value  any
	cost   int64
	held   int64
}

// valueBytes is what a decoded value takes beside its text.
const valueBytes = 200

// Bytes is an upper bound of the memory that Run comes to hold, until its error is dropped. It is at most MaxCost.
// What the Check holds already is Held.
func (c *Check) Bytes() int64 { return c.cost }

// Held is about how much memory the value takes that Prepare made and the Check holds; 0 where nothing is checked.
func (c *Check) Held() int64 { return c.held }

// Run checks. The error says in one line for people where the value does not fit, up to five places.
func (c *Check) Run() (err error) {
	if c.schema == nil {
		return nil
	}
	// The schema is a backend's, the value a client's: together they must not end the process.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the value cannot be checked: %v", p)
		}
	}()
	return explain(c.schema.compiled.Validate(c.value), c.schema.doc)
}

// Validate is Prepare and Run.
func (s *Schema) Validate(raw []byte) error {
	c, err := s.Prepare(raw)
	if err != nil {
		return err
	}
	return c.Run()
}

// noLoader refuses every document that is not part of the schema.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside the schema, and nothing is fetched: put it into $defs", url)
}

// parts counts what may be a schema.
func parts(doc any) int64 {
	return total(doc, func(v any) int64 {
		switch v.(type) {
		case bool, map[string]any:
			return 1
		}
		return 0
	})
}

// total adds up what of says of a decoded value and of all values in it.
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

// unconstrained reports whether a schema says nothing, or no more than that the value is an object.
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

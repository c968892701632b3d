package dispatch

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// schema validates JSON by a JSON Schema. The zero value accepts everything. Safe for concurrent use.
type schema struct {
	compiled *jsonschema.Schema
	// object: with nothing compiled, any object will do, so that no value need be decoded.
	object bool
	// maxDepth is how deep a value may nest to be checked at all; 0: as deep as it likes.
	maxDepth int
}

const (
	maxSchemaBytes = 256 << 10
	// schemaURL is a base for relative references; nothing is ever loaded from it.
	schemaURL = "mcpedge:///schema"
	// maxDetails bounds the violations that one error names.
	maxDetails = 5
)

// compileSchema compiles a schema of dialect 2020-12 unless it names another. References lead only into
// the schema itself and the dialects' own: nothing is fetched (MCP, "Tools", "Security Considerations").
func compileSchema(text string) (s *schema, err error) {
	if text == "" {
		return &schema{}, nil
	}
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("it has %d bytes, at most %d are read", len(text), maxSchemaBytes)
	}
	if !jsonrpc.Valid([]byte(text)) {
		return nil, errors.New("it is no valid JSON")
	}
	doc, err := decode([]byte(text))
	if err != nil {
		return nil, err
	}
	if free, object := unconstrained(doc); free {
		return &schema{object: object}, nil
	}
	// The schema is a backend's: a fault in compiling it must not end the process.
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("compiling it failed: %v", p)
		}
	}()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, err
	}
	return &schema{compiled: compiled, maxDepth: checkableDepth(doc)}, nil
}

// noLoader refuses every document that is not part of the schema.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside the schema, and nothing is fetched: put it into $defs", url)
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

// validate checks a JSON text that is known to be valid JSON. The error is one line for people. What
// nests deeper than the schema can be checked for passes: the backend has the last word.
func (s *schema) validate(raw []byte) (err error) {
	if s.compiled == nil {
		if t := jsonrpc.TypeOf(raw); s.object && t != jsonrpc.Object {
			return fmt.Errorf("got %s, want object", t)
		}
		return nil
	}
	if s.maxDepth > 0 && depth(raw) > s.maxDepth {
		return nil
	}
	value, err := decode(raw)
	if err != nil {
		return err
	}
	// The schema is a backend's, the value a client's: together they must not end the process.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the value cannot be checked: %v", p)
		}
	}()
	err = s.compiled.Validate(value)
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return errors.New(details(invalid))
	}
	return err
}

// details joins the innermost violations.
func details(e *jsonschema.ValidationError) string {
	var lines []string
	more := false
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) > 0 {
			for _, c := range e.Causes {
				walk(c)
			}
			return
		}
		if len(lines) == maxDetails {
			more = true
			return
		}
		lines = append(lines, clip(strings.ReplaceAll(e.Error(), "\n", " ")))
	}
	walk(e)
	if more {
		lines = append(lines, "and more")
	}
	return strings.Join(lines, "; ")
}

package capability

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

type toolHandler func(ctx context.Context, c *Call, arguments string) (*mcpedgev1.CallToolResult, error)

type tool struct {
	listed  *Tool // never written after registration
	handler toolHandler
}

// ToolOption adjusts a tool.
type ToolOption func(*Tool)

// Title is the tool's name for people.
func Title(title string) ToolOption { return func(t *Tool) { t.Title = title } }

// Icons are shown with the tool.
func Icons(icons ...*Icon) ToolOption { return func(t *Tool) { t.Icons = icons } }

// Meta is the tool's `_meta`, a JSON object; it panics on anything else.
func Meta(object string) ToolOption {
	mustBeObject("_meta of a tool", object)
	return func(t *Tool) { t.MetaJson = object }
}

// ReadOnly says that the tool changes nothing. The edge relies on it: a call may be run again after
// a replica was lost. MCP: readOnlyHint.
func ReadOnly() ToolOption {
	return func(t *Tool) { hints(t).ReadOnly = proto.Bool(true) }
}

// Idempotent says that the same call again changes nothing more. The edge relies on it as on
// ReadOnly. MCP: idempotentHint.
func Idempotent() ToolOption {
	return func(t *Tool) { hints(t).Idempotent = proto.Bool(true) }
}

// Destructive says whether the tool may destroy something; clients assume that it may.
// MCP: destructiveHint.
func Destructive(yes bool) ToolOption {
	return func(t *Tool) { hints(t).Destructive = proto.Bool(yes) }
}

// OpenWorld says whether the tool reaches beyond a closed world, as a web search does; clients
// assume that it does. MCP: openWorldHint.
func OpenWorld(yes bool) ToolOption {
	return func(t *Tool) { hints(t).OpenWorld = proto.Bool(yes) }
}

// InputSchema is sent verbatim in place of the schema made from the input type: JSON Schema 2020-12
// with an object at its root. It panics when schema is not a JSON object.
func InputSchema(schema string) ToolOption {
	mustBeObject("an input schema", schema)
	return func(t *Tool) { t.InputSchemaJson = schema }
}

// OutputSchema is sent verbatim in place of the schema made from the output type; "" sends none.
// It panics when schema is neither empty nor a JSON object.
func OutputSchema(schema string) ToolOption {
	if schema != "" {
		mustBeObject("an output schema", schema)
	}
	return func(t *Tool) { t.OutputSchemaJson = schema }
}

// OutputType makes the output schema from T; for tools whose handler returns a *Result.
func OutputType[T any]() ToolOption { return OutputSchema(schemaOf(reflect.TypeFor[T](), true)) }

func hints(t *Tool) *ToolAnnotations {
	if t.Annotations == nil {
		t.Annotations = &ToolAnnotations{}
	}
	return t.Annotations
}

// AddTool makes a tool of a function. A tool of the same name is replaced in its place.
//
// In is a struct, or a map with string keys; its JSON Schema is made here, once, and arguments are
// decoded as encoding/json does, with defaults filled in. A field is required unless it is a
// pointer or has omitempty, omitzero or a default. Unknown members are ignored. The tags are json
// and, each the keyword of its name: title, description, enum (a comma-separated list), default,
// examples (comma-separated), minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf,
// minLength, maxLength, pattern, format, minItems, maxItems, uniqueItems. On a list, enum and the
// bounds of values are its items'. required:"true" or "false" overrides the rule, header:"Name"
// becomes x-mcp-header. A type with a method JSONSchema() string describes itself.
//
// Out decides the result:
//   - string, *Content, []*Content: content;
//   - *Result: full control;
//   - struct{}: an empty result;
//   - json.RawMessage, any: as the value is; no output schema;
//   - any other type: structured content, with an output schema made from the type.
//
// An error becomes a result with `isError` and its text, which a model can act on. A *Failure (see
// Errorf) and a gRPC status error keep their kind; an *InputRequired ends the round.
//
// AddTool panics on a mistake of the program: a bad name, a type or tag that makes no schema.
func AddTool[In, Out any](s *Server, name, description string,
	handler func(ctx context.Context, c *Call, in In) (Out, error), options ...ToolOption) {
	t := &Tool{Name: name, Description: description}
	convert, output := toResult[Out]()
	t.OutputSchemaJson = output
	for _, option := range options {
		option(t)
	}
	decode := decoderOf[In](name, t.InputSchemaJson == "")
	if t.InputSchemaJson == "" {
		t.InputSchemaJson = inputSchemaOf(name, reflect.TypeFor[In]())
	}
	s.addTool(t, typedHandler(decode, convert, handler))
}

// AddRawTool adds a tool as described, schemas verbatim (an empty input schema admits any object),
// whose handler gets the arguments as they came: a JSON object, never empty. Errors are as in
// AddTool, and so are the panics. The Tool is copied.
func AddRawTool(s *Server, t *Tool,
	handler func(ctx context.Context, c *Call, arguments json.RawMessage) (*Result, error)) {
	for what, schema := range map[string]string{"input schema": t.GetInputSchemaJson(),
		"output schema": t.GetOutputSchemaJson(), "_meta": t.GetMetaJson()} {
		if schema != "" {
			mustBeObject(fmt.Sprintf("the %s of tool %q", what, t.GetName()), schema)
		}
	}
	s.addTool(proto.CloneOf(t), func(ctx context.Context, c *Call, arguments string) (*mcpedgev1.CallToolResult, error) {
		if arguments == "" {
			arguments = "{}"
		}
		r, err := handler(ctx, c, json.RawMessage(arguments))
		if err != nil {
			return nil, err
		}
		return fullResult(r)
	})
}

// RemoveTool reports whether there was such a tool. Running calls are not disturbed.
func (s *Server) RemoveTool(name string) bool { return s.tools.remove(name) }

func (s *Server) addTool(t *Tool, handler toolHandler) {
	if !validName(t.GetName()) {
		panic(fmt.Sprintf("capability: tool name %q: use 1 to 64 of A-Z a-z 0-9 _ . -", t.GetName()))
	}
	s.tools.put(t.GetName(), &tool{listed: t, handler: handler})
}

func validName(name string) bool {
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
		default:
			return false
		}
	}
	return name != "" && len(name) <= 64
}

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
	listed  *Tool // immutable after registration
	handler toolHandler
}

// ToolOption configures a tool.
type ToolOption func(*toolConfig)

// toolConfig is a tool under construction.
type toolConfig struct {
	*Tool
	open bool // unknown arguments are dropped
}

// Title sets the display name of the tool.
func Title(title string) ToolOption { return func(t *toolConfig) { t.Title = title } }

// Icons sets the icons of the tool.
func Icons(icons ...*Icon) ToolOption { return func(t *toolConfig) { t.Icons = icons } }

// Meta sets `_meta` of the tool. It panics if object is not a JSON object.
func Meta(object string) ToolOption {
	mustBeObject("_meta of a tool", object)
	return func(t *toolConfig) { t.MetaJson = object }
}

// ReadOnly declares that the tool changes nothing. The edge may then retry a call after a replica
// failure. MCP: readOnlyHint.
func ReadOnly() ToolOption {
	return func(t *toolConfig) { hints(t).ReadOnly = proto.Bool(true) }
}

// Idempotent declares that repeating a call has no further effect. The edge may then retry a call
// after a replica failure. MCP: idempotentHint.
func Idempotent() ToolOption {
	return func(t *toolConfig) { hints(t).Idempotent = proto.Bool(true) }
}

// Destructive sets whether the tool may destroy data; clients assume true. MCP: destructiveHint.
func Destructive(yes bool) ToolOption {
	return func(t *toolConfig) { hints(t).Destructive = proto.Bool(yes) }
}

// OpenWorld sets whether the tool reaches external systems, as a web search does; clients assume
// true. MCP: openWorldHint.
func OpenWorld(yes bool) ToolOption {
	return func(t *toolConfig) { hints(t).OpenWorld = proto.Bool(yes) }
}

// InputSchema replaces the generated input schema; it is sent verbatim. It must be JSON Schema
// 2020-12 with an object at its root. InputSchema panics if schema is not a JSON object.
func InputSchema(schema string) ToolOption {
	mustBeObject("an input schema", schema)
	return func(t *toolConfig) { t.InputSchemaJson = schema }
}

// OutputSchema replaces the generated output schema; it is sent verbatim. An empty schema means
// none. OutputSchema panics if schema is neither empty nor a JSON object.
func OutputSchema(schema string) ToolOption {
	if schema != "" {
		mustBeObject("an output schema", schema)
	}
	return func(t *toolConfig) { t.OutputSchemaJson = schema }
}

// OutputType generates the output schema from T, for tools whose handler returns a *Result.
func OutputType[T any]() ToolOption { return OutputSchema(schemaOf(reflect.TypeFor[T](), true)) }

// AllowUnknownArguments drops arguments that In does not have, at any depth. By default they are
// refused by name, by the schema (`additionalProperties: false`) and by the decoder. It does not
// apply to InputSchema, which says itself what it allows.
func AllowUnknownArguments() ToolOption {
	return func(t *toolConfig) { t.open = true }
}

func hints(t *toolConfig) *ToolAnnotations {
	if t.Annotations == nil {
		t.Annotations = &ToolAnnotations{}
	}
	return t.Annotations
}

// AddTool adds a tool that calls a function. It replaces a tool of the same name and keeps its
// position.
//
// In is a struct, or a map with string keys. Its JSON Schema is generated once. Arguments are
// decoded as by encoding/json, with defaults filled in. Unknown members are refused by name, unless
// AllowUnknownArguments is set. A field is required unless it is a pointer or has omitempty,
// omitzero or a default; the tag required:"true" or required:"false" overrides this.
//
// The other tags are json, header:"Name", which becomes x-mcp-header, and the keywords of JSON
// Schema: title, description, enum (a comma-separated list), default, examples (comma-separated),
// minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, pattern,
// format, minItems, maxItems, uniqueItems. On a list, enum and the limits of values apply to its
// items. jsonschema:"…" is a description, too, as in the official Go SDK. A type with a method
// JSONSchema() string returns its own schema.
//
// A []byte is base64 in JSON, with contentEncoding, and is decoded. It has at most 1 MiB, or the
// bytes that the tag maxLength says.
//
// Out determines the result:
//   - string, *Content, []*Content: content;
//   - *Result: the complete result;
//   - struct{}: an empty result;
//   - json.RawMessage: structured content, verbatim; no output schema;
//   - a result or content of another library, such as *mcp.CallToolResult or mcp.Content of the
//     official Go SDK: the same, converted by its JSON;
//   - any, maps and lists of any, types that encode themselves: as the value determines, by the
//     rules above; no output schema. A value with some members of a result that is none is an error;
//   - any other type: structured content, with an output schema generated from the type.
//
// An error becomes a result with `isError` and the error's text, which the model can act on, and so
// does NOT_FOUND. Any other *Failure (see Errorf) and gRPC status keep their kind. An
// *InputRequired ends the round. WithMaskedErrors hides errors without a reason.
//
// AddTool panics on a programming error: an invalid name, a type or tag without a schema, a tag that
// is nearly one of these, such as min, a struct without exported fields, or a
// result whose kind is not clear: a []byte, or a protobuf message, whose JSON encoding/json does not
// know; and if the handler is nil.
func AddTool[In, Out any](s *Server, name, description string,
	handler func(ctx context.Context, c *Call, in In) (Out, error), options ...ToolOption) {
	mustHandle("tool", name, handler == nil)
	defer panicsOf("tool " + quote(name))
	t := &toolConfig{Tool: &Tool{Name: name, Description: description}}
	convert, output := toResult[Out](name)
	t.OutputSchemaJson = output
	for _, option := range options {
		option(t)
	}
	decode := decoderOf[In](name, t.InputSchemaJson == "", t.open)
	if t.InputSchemaJson == "" {
		t.InputSchemaJson = inputSchemaOf(name, reflect.TypeFor[In](), t.open)
	}
	s.addTool(t.Tool, typedHandler(decode, convert, handler))
}

// AddRawTool adds a tool with its schemas verbatim; an empty input schema allows any object. The
// handler gets the arguments as the client sent them: a JSON object, never empty. Errors and panics
// are those of AddTool. The Tool is copied, and the options change the copy. AddRawTool panics if the
// name is invalid, if a schema is not a JSON object, or if the handler is nil.
func AddRawTool(s *Server, raw *Tool,
	handler func(ctx context.Context, c *Call, arguments json.RawMessage) (*Result, error), options ...ToolOption) {
	mustHandle("tool", raw.GetName(), handler == nil)
	t := proto.CloneOf(raw)
	for _, option := range options {
		option(&toolConfig{Tool: t})
	}
	for what, schema := range map[string]string{"input schema": t.GetInputSchemaJson(),
		"output schema": t.GetOutputSchemaJson(), "_meta": t.GetMetaJson()} {
		if schema != "" {
			mustBeObject(fmt.Sprintf("the %s of tool %q", what, t.GetName()), schema)
		}
	}
	s.addTool(t, func(ctx context.Context, c *Call, arguments string) (*mcpedgev1.CallToolResult, error) {
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

// RemoveTool removes a tool and reports whether it existed. Running calls continue.
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

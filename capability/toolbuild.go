package capability

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// toResult returns the function that converts a handler's value into a result, chosen by type, and
// the output schema, or "" if there is none. It panics if no result can be made of the type.
func toResult[Out any](tool string) (convert func(Out) (*mcpedgev1.CallToolResult, error), schema string) {
	own := func(out Out) (*mcpedgev1.CallToolResult, error) { return resultOf(any(out)) }
	t := reflect.TypeFor[Out]()
	switch t {
	case reflect.TypeFor[string](), reflect.TypeFor[*Content](), reflect.TypeFor[[]*Content](),
		reflect.TypeFor[*Result](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[struct{}]():
		return own, ""
	}
	mustBeValue(tool, t)
	nullable := t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
	value := structuredOf[Out]
	if isByValue(t) {
		value = own
	} else {
		schema = schemaOf(t, true)
	}
	if !nullable {
		return value, schema
	}
	return func(out Out) (*mcpedgev1.CallToolResult, error) {
		if reflect.ValueOf(out).IsNil() {
			return nilResult(t)
		}
		return value(out)
	}, schema
}

// mustHandle panics if the handler of a tool, a resource, a template or a prompt is missing.
func mustHandle(what, name string, missing bool) {
	if missing {
		panic(fmt.Sprintf("capability: %s %q: its handler is nil", what, name))
	}
}

// panicsOf is deferred. It adds who has the type to a panic about a type or a tag of it.
func panicsOf(who string) {
	p := recover()
	if said, ok := p.(string); ok {
		if about, own := strings.CutPrefix(said, "capability: "); own && !strings.HasPrefix(about, "tool ") {
			p = "capability: " + who + ": " + about
		}
	}
	if p != nil {
		panic(p)
	}
}

func structuredOf[Out any](out Out) (*mcpedgev1.CallToolResult, error) { return structured(out) }

// nilResult returns the result for a nil value: an empty list or object. A nil pointer is an error.
func nilResult(t reflect.Type) (*mcpedgev1.CallToolResult, error) {
	switch t.Kind() {
	case reflect.Slice:
		return &mcpedgev1.CallToolResult{StructuredContentJson: "[]"}, nil
	case reflect.Map:
		return &mcpedgev1.CallToolResult{StructuredContentJson: "{}"}, nil
	default:
		return nil, &Failure{Reason: Internal, Message: fmt.Sprintf("the tool returned a nil %v and no error", t)}
	}
}

// resultOf converts values of this package's types into a result; all others become structured
// content.
func resultOf(v any) (*mcpedgev1.CallToolResult, error) {
	switch v := v.(type) {
	case nil, struct{}:
		return &mcpedgev1.CallToolResult{}, nil
	case string:
		return &mcpedgev1.CallToolResult{Content: []*Content{Text(v)}}, nil
	case *Content:
		if v == nil {
			return nil, &Failure{Reason: Internal, Message: "the tool returned a nil *Content and no error"}
		}
		return &mcpedgev1.CallToolResult{Content: []*Content{v}}, nil
	case []*Content:
		return &mcpedgev1.CallToolResult{Content: v}, nilContent(v)
	case *Result:
		return fullResult(v)
	case json.RawMessage:
		if len(v) == 0 {
			return &mcpedgev1.CallToolResult{}, nil
		}
		return structured(v)
	default:
		return dynamic(v)
	}
}

// nilContent returns an error if a part of content is nil.
func nilContent(content []*Content) error {
	if at := slices.Index(content, nil); at >= 0 {
		return &Failure{Reason: Internal, Message: fmt.Sprintf("the tool returned content that is nil at %d", at)}
	}
	return nil
}

func fullResult(r *Result) (*mcpedgev1.CallToolResult, error) {
	if r == nil {
		return nil, &Failure{Reason: Internal, Message: "the tool returned a nil *Result and no error"}
	}
	out := &mcpedgev1.CallToolResult{Content: r.Content, IsError: r.IsError}
	if err := nilContent(r.Content); err != nil {
		return nil, err
	}
	if len(r.Meta) > 0 {
		if !isObject(string(r.Meta)) {
			return nil, &Failure{Reason: Internal, Message: fmt.Sprintf("the result's _meta is not a JSON object: %.80q", string(r.Meta))}
		}
		out.MetaJson = string(r.Meta)
	}
	if r.Structured != nil {
		if t := reflect.TypeOf(r.Structured); implements(t, protoType) || t == reflect.TypeFor[*Result]() {
			return nil, &Failure{Reason: Internal, Message: fmt.Sprintf("the structured content is a %v: %s", t, forMessage)}
		}
		if isOfficialResult(r.Structured) {
			return nil, &Failure{Reason: Internal, Message: fmt.Sprintf("the structured content is a %T: return it itself, or by capability.ResultOf", r.Structured)}
		}
		text, err := encodeJSON(r.Structured)
		if err != nil {
			return nil, &Failure{Reason: Internal, Message: "the structured content cannot be encoded: " + err.Error()}
		}
		out.StructuredContentJson = text
	}
	return out, nil
}

func structured(v any) (*mcpedgev1.CallToolResult, error) {
	text, err := encodeJSON(v)
	if err != nil {
		return nil, &Failure{Reason: Internal, Message: "the result cannot be encoded: " + err.Error()}
	}
	return &mcpedgev1.CallToolResult{StructuredContentJson: text}, nil
}

// plainToolError converts an error without a kind into a result that the model sees.
func plainToolError(err error) (*mcpedgev1.CallToolResult, error) {
	return &mcpedgev1.CallToolResult{Content: []*Content{Text(err.Error())}, IsError: true}, nil
}

// typedHandler combines decoder, function and encoder.
func typedHandler[In, Out any](decode func(string, *In) error, convert func(Out) (*mcpedgev1.CallToolResult, error),
	handler func(context.Context, *Call, In) (Out, error)) toolHandler {
	return func(ctx context.Context, c *Call, arguments string) (*mcpedgev1.CallToolResult, error) {
		var in In
		if err := decode(arguments, &in); err != nil {
			return nil, err
		}
		out, err := handler(ctx, c, in)
		if err != nil {
			return nil, err
		}
		return convert(out)
	}
}

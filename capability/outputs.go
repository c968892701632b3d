package capability

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

var protoType = reflect.TypeFor[proto.Message]()

// isByValue reports whether the type of a handler's result does not determine the kind of its
// values: an interface, a map or list of any, a type that encodes itself, and results and content
// of other libraries. Such values are converted by their JSON, and have no output schema.
func isByValue(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if implements(t, describedType) && t.Kind() != reflect.Interface {
		return false
	}
	if t.Kind() == reflect.Slice {
		if t = t.Elem(); t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Map:
		return t.Elem().Kind() == reflect.Interface
	case reflect.Struct:
		s := specialSchema(t, t.String())
		return s != nil && s.Type == nil || s == nil && isOfficial(t)
	}
	return false
}

// isOfficialResult reports whether a value is a tool result of another library, or a pointer to one.
func isOfficialResult(v any) bool {
	t := reflect.TypeOf(v)
	if t == nil {
		return false
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	known, ok := officialTypes.Load(t)
	if !ok {
		known, _ = officialTypes.LoadOrStore(t, hasResult(namesOf(t)))
	}
	return known.(bool)
}

var officialTypes sync.Map // reflect.Type of a struct to whether it is a result

// isOfficial reports whether a struct has the members of a tool result or of content of MCP.
func isOfficial(t reflect.Type) bool {
	names := namesOf(t)
	return hasResult(names) || hasAll(names, "type", "annotations", "_meta")
}

// namesOf returns the names of a struct's members.
func namesOf(t reflect.Type) []string {
	var names []string
	for _, f := range fieldsOf(t) {
		names = append(names, f.name)
	}
	return names
}

// hasResult reports whether names are those of a tool result of MCP.
func hasResult(names []string) bool {
	known := []string{"content", "structuredContent", "isError", "_meta", "resultType", "inputRequests", "requestState"}
	return (hasAll(names, "content", "isError") || hasAll(names, "content", "structuredContent")) && hasAll(known, names...)
}

func hasAll(names []string, wanted ...string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(names, w) })
}

// mustBeValue panics if a tool cannot return values of t.
func mustBeValue(tool string, t reflect.Type) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && t != reflect.TypeFor[json.RawMessage]() && !implements(t, marshalerType) {
		panic(fmt.Sprintf("capability: tool %q returns a %v, which does not say its kind: return capability.Image, capability.Audio or "+
			"capability.Embed(capability.BlobContents(uri, mimeType, data))", tool, t))
	}
	for range 3 { // a pointer, a list, pointers in a list
		if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
	}
	mustNotBeMessage("tool "+quote(tool)+" returns", t)
	if t == reflect.TypeFor[Result]() {
		panic(fmt.Sprintf("capability: tool %q: return a *capability.Result", tool))
	}
}

// mustNotBeMessage panics if t is a protobuf message, because encoding/json encodes its Go struct.
func mustNotBeMessage(who string, t reflect.Type) {
	if t.Kind() != reflect.Interface && implements(t, protoType) {
		panic(fmt.Sprintf("capability: %s %v, a protobuf message, whose JSON by encoding/json is not its own: %s", who, t, forMessage))
	}
}

// forMessage is the advice about protobuf messages in structured content.
const forMessage = "use a struct of your own, or encode it by protojson into a json.RawMessage; content is a *capability.Content, " +
	"a []*capability.Content or within a *capability.Result"

// checkDynamic returns an error if a value is or contains a protobuf message, an error or a Result,
// or contains a result of another library. It looks into lists and maps of any only.
func checkDynamic(v any) error {
	switch v := v.(type) {
	case error:
		return fmt.Errorf("the error %q as its value: return it as the handler's error", v)
	case proto.Message:
		return fmt.Errorf("a %T, a protobuf message, whose JSON by encoding/json is not its own: %s", v, forMessage)
	case *Result, Result:
		return fmt.Errorf("a %T within a value: return the *capability.Result itself", v)
	case []any:
		for _, e := range v {
			if err := checkInner(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := checkInner(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkInner(v any) error {
	if isOfficialResult(v) {
		return fmt.Errorf("a %T within a value: return it itself", v)
	}
	return checkDynamic(v)
}

// dynamic converts a value by its JSON.
func dynamic(v any) (*mcpedgev1.CallToolResult, error) {
	if err := checkDynamic(v); err != nil {
		return nil, &Failure{Reason: Internal, Message: "the tool returned " + err.Error()}
	}
	text, err := encodeJSON(v)
	if err != nil {
		return nil, &Failure{Reason: Internal, Message: "the result cannot be encoded: " + err.Error()}
	}
	out, err := byValue(text)
	if err != nil {
		return nil, &Failure{Reason: Internal, Message: "the tool returned " + err.Error()}
	}
	return out, nil
}

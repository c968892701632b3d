package translate

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// schemaRoot describes a tool schema's root for its conversion.
type schemaRoot struct {
	kind    json.RawMessage // `type`; nil if absent
	dialect bool            // `$schema` is present
	boolean bool            // `properties` contains true or false
}

func readSchema(schema []byte) schemaRoot {
	var root schemaRoot
	// Members cannot fail, because the schema is a valid object.
	_ = jsonrpc.Members(schema, func(key []byte, value json.RawMessage) error {
		switch string(key) {
		case "type":
			root.kind = value
		case "$schema":
			root.dialect = true
		case "properties":
			if jsonrpc.TypeOf(value) == jsonrpc.Object {
				_ = jsonrpc.Members(value, func(_ []byte, v json.RawMessage) error {
					root.boolean = root.boolean || jsonrpc.TypeOf(v) == jsonrpc.Bool
					return nil
				})
			}
		}
		return nil
	})
	return root
}

func (root *schemaRoot) isObject() bool {
	kind, ok := jsonrpc.Unquote(root.kind)
	return ok && kind == "object"
}

// AppendInputSchema appends a tool's inputSchema unchanged, except for what the revision does not
// support. It adds the root's type "object" if absent, because arguments are always an object.
func AppendInputSchema(dst []byte, r *revision.Rules, raw string) ([]byte, error) {
	const field = "input_schema_json"
	if raw == "" {
		return append(dst, `{"type":"object"}`...), nil
	}
	start := len(dst)
	dst, err := appendJSONObject(dst, field, raw)
	if err != nil {
		return dst, err
	}
	root := readSchema(dst[start:])
	if root.kind != nil && !root.isObject() {
		return dst, contractError(field, "its root has the type %s; make it \"object\", because arguments are named", root.kind)
	}
	return convertSchema(dst, start, r, root), nil
}

// appendOutputSchema appends a tool's outputSchema, under the same condition as structuredContent.
func appendOutputSchema(dst []byte, r *revision.Rules, raw string) ([]byte, error) {
	if raw == "" {
		return dst, nil
	}
	before := len(dst)
	dst = append(dst, `,"outputSchema":`...)
	start := len(dst)
	dst, err := appendJSONObject(dst, "output_schema_json", raw)
	if err != nil {
		return dst, err
	}
	root := readSchema(dst[start:])
	if !r.StructuredAny && !(r.Structured && root.isObject()) {
		return dst[:before], nil
	}
	if root.kind == nil {
		root.kind = json.RawMessage("any") // an output may be of any type: add none
	}
	return convertSchema(dst, start, r, root), nil
}

// convertSchema rewrites the schema in dst from start on, if the revision requires it.
func convertSchema(dst []byte, start int, r *revision.Rules, root schemaRoot) []byte {
	dropDialect := root.dialect && !r.Icons
	mapBooleans := root.boolean && !r.BooleanSchemas
	if root.kind != nil && !dropDialect && !mapBooleans {
		return dst
	}
	schema := append([]byte(nil), dst[start:]...)
	dst = dst[:start]
	if root.kind == nil {
		dst = append(dst, `,"type":"object"`...)
	}
	_ = jsonrpc.Members(schema, func(key []byte, value json.RawMessage) error {
		switch {
		case dropDialect && string(key) == "$schema":
		case mapBooleans && string(key) == "properties" && jsonrpc.TypeOf(value) == jsonrpc.Object:
			dst = append(dst, `,"properties":`...)
			dst = appendPropertySchemas(dst, value)
		default:
			dst = appendMember(dst, key, value)
		}
		return nil
	})
	return closeObject(dst, start)
}

// appendPropertySchemas appends `properties` with objects in place of true and false.
func appendPropertySchemas(dst []byte, properties json.RawMessage) []byte {
	start := len(dst)
	_ = jsonrpc.Members(properties, func(key []byte, value json.RawMessage) error {
		switch string(value) {
		case "true":
			value = json.RawMessage(`{}`)
		case "false":
			value = json.RawMessage(`{"not":{}}`)
		}
		dst = appendMember(dst, key, value)
		return nil
	})
	return closeObject(dst, start)
}

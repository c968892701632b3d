package lock

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Listed is a tool as its backend lists it: a JSON object with MCP's names of members, without the
// tool's name. Reviews read it; a Lock ignores it. Empty means that it was not recorded. It is a
// string so that a Definition is comparable.
type Listed string

// MarshalJSON implements json.Marshaler.
func (l Listed) MarshalJSON() ([]byte, error) { return []byte(l), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Listed) UnmarshalJSON(raw []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	*l = Listed(raw)
	return nil
}

// Recorded returns the definition of a tool of a backend, with its Listed.
func Recorded(backend string, t *pb.Tool) Definition {
	d := Of(backend, t)
	d.Listed = listed(t)
	return d
}

// namesOfMCP maps names of members in the contract to MCP's names, where these differ.
var namesOfMCP = map[string]string{
	"inputSchemaJson": "inputSchema", "outputSchemaJson": "outputSchema", "metaJson": "_meta",
	"readOnly": "readOnlyHint", "destructive": "destructiveHint", "idempotent": "idempotentHint", "openWorld": "openWorldHint",
}

// listed returns a tool as Listed, with the members of objects sorted. It is empty if a text is not
// UTF-8.
func listed(t *pb.Tool) Listed {
	raw, err := protojson.Marshal(t)
	if err != nil {
		return "" // A text is not UTF-8.
	}
	members := map[string]any{}
	if json.Unmarshal(raw, &members) != nil {
		return ""
	}
	delete(members, "name")
	out, err := json.Marshal(withNamesOfMCP(members))
	if err != nil {
		return ""
	}
	return Listed(out)
}

// withNamesOfMCP renames the members of an object of the contract to MCP's names, and decodes the
// members that contain JSON. JSON that is invalid, or has a member twice, stays a string.
func withNamesOfMCP(members map[string]any) map[string]any {
	out := make(map[string]any, len(members))
	for key, value := range members {
		name := key
		if known, ok := namesOfMCP[key]; ok {
			name = known
		}
		if nested, ok := value.(map[string]any); ok {
			value = withNamesOfMCP(nested)
		}
		if text, ok := value.(string); ok && strings.HasSuffix(key, "Json") {
			if decoded, err := decodeText(text); err == nil {
				value = decoded
			}
		}
		out[name] = value
	}
	return out
}

package translate

import (
	"encoding/json"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// reserved is the specification's name space in `_meta` (Base Protocol, "_meta").
const reserved = "io.modelcontextprotocol/"

// appendObjectMeta appends the `_meta` of a tool, resource, prompt or block unchanged if the
// revision has one. Protocol extensions keep their data there.
func appendObjectMeta(dst []byte, r *revision.Rules, raw string) ([]byte, error) {
	if raw == "" {
		return dst, nil
	}
	start := len(dst)
	dst, err := appendJSONObject(append(dst, `,"_meta":`...), "meta_json", raw)
	if err == nil && !r.Titles {
		dst = dst[:start]
	}
	return dst, err
}

// appendMessageMeta appends the `_meta` of a notification or of a request's params, without the
// members that only the edge may set.
func appendMessageMeta(dst []byte, r *revision.Rules, raw string) ([]byte, error) {
	if raw == "" {
		return dst, nil
	}
	start := len(dst)
	dst = append(dst, `,"_meta":`...)
	open := len(dst)
	dst, err := appendMetaMembers(dst, raw, func(key []byte) bool {
		return string(key) == "progressToken" || string(key) == mcp.MetaSubscriptionID || !r.ResultType && isReserved(key)
	})
	if err != nil {
		return dst, err
	}
	if len(dst) == open {
		return dst[:start], nil
	}
	return closeObject(dst, open), nil
}

// appendMetaMembers appends the members of a `_meta` object, each after a comma, except those that
// drop selects.
func appendMetaMembers(dst []byte, raw string, drop func(key []byte) bool) ([]byte, error) {
	start := len(dst)
	dst, err := appendJSONObject(dst, "meta_json", raw)
	if err != nil {
		return dst, err
	}
	if strings.Contains(raw, reserved) || strings.Contains(raw, "progressToken") || strings.Contains(raw, `\`) {
		object := append([]byte(nil), dst[start:]...)
		return appendMembers(dst[:start], object, drop), nil
	}
	// Nothing to drop: copy the object's own text, with a comma in place of its opening brace.
	body := trimSpace(dst[start:])
	inner := trimSpace(body[1 : len(body)-1])
	if len(inner) == 0 {
		return dst[:start], nil
	}
	n := copy(dst[start+1:], inner)
	dst[start] = ','
	return dst[:start+1+n], nil
}

// appendMembers appends the members of a valid object, each after a comma, except those that drop
// selects.
func appendMembers(dst, object []byte, drop func(key []byte) bool) []byte {
	// Members cannot fail, because the object is valid.
	_ = jsonrpc.Members(object, func(key []byte, value json.RawMessage) error {
		if !drop(key) {
			dst = appendMember(dst, key, value)
		}
		return nil
	})
	return dst
}

func appendMember(dst, key []byte, value json.RawMessage) []byte {
	dst = jsonrpc.AppendString(append(dst, ','), string(key))
	return append(append(dst, ':'), value...)
}

func isReserved(key []byte) bool {
	return len(key) >= len(reserved) && string(key[:len(reserved)]) == reserved
}

func trimSpace(b []byte) []byte {
	space := func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
	for len(b) > 0 && space(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && space(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

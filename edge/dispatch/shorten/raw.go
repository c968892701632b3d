package shorten

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// rawBlock has the sizes of a block that a backend sends as JSON. Its fields are those of sized.
type rawBlock struct {
	text     string
	cuttable bool
	beside   int
}

// readRaw measures a block in JSON like the typed block of the same type. A block of another type,
// or invalid JSON, counts with all its bytes and cannot be cut.
func readRaw(raw string) rawBlock {
	block := []byte(raw)
	text := func(path ...string) (rawBlock, bool) {
		value, ok := memberAt(block, path)
		decoded, isText := jsonrpc.Unquote(value)
		return rawBlock{text: decoded, cuttable: true, beside: len(raw) - len(value)}, ok && isText
	}
	switch kindOf(block) {
	case "text":
		if r, ok := text("text"); ok {
			return r
		}
	case "resource":
		if r, ok := text("resource", "text"); ok {
			return r
		}
		if value, ok := memberAt(block, []string{"resource", "blob"}); ok {
			return rawBlock{beside: len(raw) - len(value)}
		}
	case "image", "audio":
		if value, ok := memberAt(block, []string{"data"}); ok {
			return rawBlock{beside: len(raw) - len(value)}
		}
	}
	return rawBlock{beside: len(raw)}
}

// replaceText replaces the text of a block in JSON. readRaw has found a text in the block.
func replaceText(raw, text string) string {
	quoted := jsonrpc.AppendString(nil, text)
	if kindOf([]byte(raw)) == "text" {
		return string(replaceMember([]byte(raw), "text", quoted))
	}
	resource, _ := jsonrpc.Member([]byte(raw), "resource")
	return string(replaceMember([]byte(raw), "resource", replaceMember(resource, "text", quoted)))
}

func kindOf(block []byte) string {
	value, _ := jsonrpc.Member(block, "type")
	kind, _ := jsonrpc.Unquote(value)
	return kind
}

// memberAt returns the value at a path of member names.
func memberAt(obj json.RawMessage, path []string) (json.RawMessage, bool) {
	for _, name := range path {
		var ok bool
		if obj, ok = jsonrpc.Member(obj, name); !ok {
			return nil, false
		}
	}
	return obj, true
}

// replaceMember returns an object with another value of a member. If the object has the member
// several times, the result has it once.
func replaceMember(obj []byte, name string, value []byte) []byte {
	out, done := []byte{'{'}, false
	_ = jsonrpc.Members(obj, func(key string, old json.RawMessage) error { // obj is valid, so Members cannot fail
		switch {
		case key == name && done:
			return nil
		case key == name:
			old, done = value, true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(jsonrpc.AppendString(out, key), ':'), old...)
		return nil
	})
	return append(out, '}')
}

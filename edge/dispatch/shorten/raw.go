package shorten

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// rawBlock is what counts of a block that a backend sends as JSON.
type rawBlock struct {
	text     string
	cuttable bool
	beside   int
}

// readRaw measures a block in JSON by its type, as the typed blocks are measured. A block of another
// type, or one that is no valid JSON, counts whole.
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

// replaceText returns a block in JSON, for which readRaw found a text, with another text.
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

// memberAt returns the member to which a path of names leads.
func memberAt(obj json.RawMessage, path []string) (json.RawMessage, bool) {
	for _, name := range path {
		var ok bool
		if obj, ok = jsonrpc.Member(obj, name); !ok {
			return nil, false
		}
	}
	return obj, true
}

// replaceMember returns an object with another value of a member, once, whatever the object repeats.
func replaceMember(obj []byte, name string, value []byte) []byte {
	out, done := []byte{'{'}, false
	_ = jsonrpc.Members(obj, func(key string, old json.RawMessage) error { // obj was read before
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

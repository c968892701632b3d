package catalog

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/schema"
)

// paramHeader is an argument that clients mirror in a header (MCP, "Streamable HTTP", "Custom
// Headers from Tool Parameters").
type paramHeader struct {
	name string   // of the header, with its prefix
	path []string // of property names
}

const (
	paramHeaderKey    = "x-mcp-header"
	paramHeaderPrefix = "Mcp-Param-"
	maxParamHeader    = 8 << 10
	// maxParamHeaders bounds the annotations of a tool that are used, because each call is checked
	// against all of them.
	maxParamHeaders = 64
	// maxParamDepth bounds the properties on the path to an annotation.
	maxParamDepth = 16
	// maxParamFaults bounds the reported faults of a tool's annotations.
	maxParamFaults = 20
)

// paramHeaders returns a schema's valid annotations and the faults of the others. An annotation is
// valid if it is on a string, integer or boolean, only `properties` lead to it, and its name is a
// header token that no other annotation uses.
func paramHeaders(text string) (valid []paramHeader, faults []string) {
	if !strings.Contains(text, paramHeaderKey) || len(text) > schema.MaxBytes || !jsonrpc.Valid([]byte(text)) {
		return nil, nil
	}
	doc, err := schema.Decode([]byte(text))
	if err != nil {
		return nil, nil // reported with the schema
	}
	w := headerWalk{seen: make(map[string]bool)}
	if root, ok := doc.(map[string]any); ok {
		w.schema([]byte(text), nil)
		if all := countHeaders(root); all > w.visited {
			w.faults = append(w.faults, fmt.Sprintf("%d of them are below other keywords than `properties`, or more than %d levels deep", all-w.visited, maxParamDepth))
		}
	}
	return w.valid, w.faults
}

// headerWalk visits properties in the order of the text, so that the first of two equal names is
// used.
type headerWalk struct {
	seen    map[string]bool
	visited int
	valid   []paramHeader
	faults  []string
	full    bool // a bound was reached
}

func (w *headerWalk) schema(raw json.RawMessage, path []string) {
	if jsonrpc.TypeOf(raw) != jsonrpc.Object {
		return
	}
	if name, ok := jsonrpc.Member(raw, paramHeaderKey); ok {
		w.visited++
		w.annotation(raw, name, path)
	}
	properties, _ := jsonrpc.Member(raw, "properties")
	if jsonrpc.TypeOf(properties) != jsonrpc.Object {
		return
	}
	if len(path) == maxParamDepth {
		return
	}
	_ = jsonrpc.Members(properties, func(key string, value json.RawMessage) error {
		w.schema(value, append(path[:len(path):len(path)], key))
		return nil
	})
}

func (w *headerWalk) annotation(raw, name json.RawMessage, path []string) {
	if len(w.valid) >= maxParamHeaders || len(w.faults) >= maxParamFaults {
		if !w.full {
			w.full = true
			w.faults = append(w.faults, fmt.Sprintf("at most %d are used, and the others are not read", maxParamHeaders))
		}
		return
	}
	at := "/" + Clip(strings.Join(path, "/"))
	text, ok := jsonrpc.Unquote(name)
	typ, _ := jsonrpc.Member(raw, "type")
	typeName, _ := jsonrpc.Unquote(typ)
	switch lower := strings.ToLower(text); {
	case !ok || !isToken(text):
		w.faults = append(w.faults, fmt.Sprintf("at %s: %s is not a header token", at, Clip(string(name))))
	case typeName != "string" && typeName != "integer" && typeName != "boolean" || len(path) == 0:
		w.faults = append(w.faults, fmt.Sprintf("at %s: only strings, integers and booleans may be mirrored", at))
	case w.seen[lower]:
		w.faults = append(w.faults, fmt.Sprintf("at %s: the name %q is used twice", at, text))
	default:
		w.seen[lower] = true
		w.valid = append(w.valid, paramHeader{name: paramHeaderPrefix + text, path: path})
	}
}

// countHeaders counts the annotations anywhere in a schema. Keywords that hold plain values are
// skipped.
func countHeaders(doc any) int {
	n := 0
	switch x := doc.(type) {
	case map[string]any:
		for key, value := range x {
			switch key {
			case paramHeaderKey:
				n++
			case "default", "const", "enum", "examples":
			case "properties":
				if m, ok := value.(map[string]any); ok {
					for _, v := range m { // their keys are names, not keywords
						n += countHeaders(v)
					}
				}
			default:
				n += countHeaders(value)
			}
		}
	case []any:
		for _, v := range x {
			n += countHeaders(v)
		}
	}
	return n
}

// isToken reports whether s is a valid header name (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) || c >= 0x80 {
			return false
		}
	}
	return s != ""
}

// CheckParamHeaders compares the headers with the arguments that they mirror. An absent or null
// argument needs no header, and a header without an argument is ignored. A pinned argument has no
// header.
func (t *Tool) CheckParamHeaders(headers []paramHeader, h mcp.Header, args json.RawMessage) error {
	values := mirrored(headers, args)
	for i := range headers {
		if overlay.PinOf(t.Arguments, headers[i].path[0]) != nil {
			if len(h.Values(headers[i].name)) > 0 {
				return headers[i].mismatch("mirrors no argument: leave it out")
			}
			continue
		}
		if err := headers[i].check(h, values[i]); err != nil {
			return err
		}
	}
	return nil
}

// mirrored returns the arguments that headers mirror; nil means absent. Each object on a path is
// parsed once, however many of the arguments it contains, so the time is that of parsing the
// arguments once for each level of the paths.
func mirrored(headers []paramHeader, args json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, len(headers))
	all := make([]int, len(headers))
	for i := range headers {
		all[i] = i
	}
	descend(headers, out, all, 0, args)
	return out
}

// descend finds the arguments of some headers, given by index. Their paths lead to object by their
// first depth names.
func descend(headers []paramHeader, out []json.RawMessage, some []int, depth int, object json.RawMessage) {
	if jsonrpc.TypeOf(object) != jsonrpc.Object {
		return
	}
	next := map[string][]int{}
	for _, i := range some {
		name := headers[i].path[depth]
		next[name] = append(next[name], i)
	}
	_ = jsonrpc.Members(object, func(name []byte, value json.RawMessage) error { // cannot fail: the arguments were surveyed
		below := next[string(name)]
		delete(next, string(name)) // the first one is used
		inner := make([]int, 0, len(below))
		for _, i := range below {
			if len(headers[i].path) == depth+1 {
				out[i] = value
			} else {
				inner = append(inner, i)
			}
		}
		if len(inner) > 0 {
			descend(headers, out, inner, depth+1, value)
		}
		return nil
	})
}

// check compares a header with the argument that it mirrors, nil if absent.
func (p *paramHeader) check(h mcp.Header, value json.RawMessage) error {
	values := h.Values(p.name)
	text := ""
	if len(values) > 0 {
		if len(values) > 1 {
			return p.mismatch("is sent %d times: send it once", len(values))
		}
		if len(values[0]) > maxParamHeader {
			return p.mismatch("has %d bytes, at most %d are read", len(values[0]), maxParamHeader)
		}
		decoded, ok := mcp.DecodeHeader(values[0])
		if !ok || !printable(values[0]) {
			return p.mismatch("is malformed: send printable ASCII, or base64 of UTF-8 in =?base64?…?=")
		}
		text = decoded
	}
	if value == nil || jsonrpc.TypeOf(value) == jsonrpc.Null {
		return nil
	}
	if len(values) == 0 {
		return p.mismatch("is missing: it must mirror the argument %s", strings.Join(p.path, "."))
	}
	if !mirrors(text, value) {
		return p.mismatch("is %q and differs from the argument %s", Clip(text), strings.Join(p.path, "."))
	}
	return nil
}

func (p *paramHeader) mismatch(format string, args ...any) error {
	return mcp.Errorf(mcp.KindHeaderMismatch, "header %s %s", p.name, fmt.Sprintf(format, args...))
}

// printable reports whether s has only visible ASCII, spaces and tabs (RFC 9110, section 5.5).
func printable(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 0x20 || c > 0x7e) && c != '\t' {
			return false
		}
	}
	return true
}

// mirrors compares a header with an argument by the argument's type. The schema rejects types that
// cannot be mirrored.
func mirrors(text string, value json.RawMessage) bool {
	switch jsonrpc.TypeOf(value) {
	case jsonrpc.String:
		s, _ := jsonrpc.Unquote(value)
		return s == text
	case jsonrpc.Number:
		return sameNumber(text, string(value))
	case jsonrpc.Bool:
		return text == string(value)
	}
	return true
}

func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, ok := number(a)
	y, ok2 := number(b)
	return ok && ok2 && x.Cmp(y) == 0
}

// number parses a number of bounded size.
func number(s string) (*big.Rat, bool) {
	if jsonrpc.TypeOf([]byte(s)) != jsonrpc.Number || !jsonrpc.Valid([]byte(s)) {
		return nil, false
	}
	if _, err := schema.Decode([]byte(s)); err != nil {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

package dispatch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

const (
	// maxShownArguments bounds the values of all arguments in the question for a confirmation, in bytes.
	maxShownArguments = 2 << 10
	// minShownArgument is the minimum number of bytes that are shown of each argument.
	minShownArgument = 16
	// maxShownName bounds the name of a member, in bytes.
	maxShownName = 64
	// maxNamed bounds the arguments that are shown.
	maxNamed = 100
	// maxShownDepth bounds how deep a shown value is nested.
	maxShownDepth = 8
)

// excerpt renders the beginning of a JSON value as JSON, with … for omitted parts.
type excerpt struct {
	text []byte
	// most is the length of text after which the rest is omitted. It does not count the characters
	// that close open values.
	most int
	// hidden is the number of omitted bytes of the value.
	hidden int
}

// excerptOf returns an excerpt of a value without space between its tokens.
func excerptOf(value json.RawMessage, most int) *excerpt {
	x := &excerpt{most: most}
	x.value(value, maxShownDepth)
	return x
}

// String returns the excerpt with the number of bytes that are left out.
func (x *excerpt) String() string {
	if x.hidden == 0 {
		return string(x.text)
	}
	return fmt.Sprintf("%s (%d bytes not shown)", x.text, x.hidden)
}

// leaveOut puts … in the place of n bytes.
func (x *excerpt) leaveOut(n int) {
	x.text = append(x.text, "…"...)
	x.hidden += n
}

func (x *excerpt) isFull() bool { return len(x.text) >= x.most }

// value appends at most depth levels of a value.
func (x *excerpt) value(value json.RawMessage, depth int) {
	text, isText := jsonrpc.Unquote(value)
	kind := jsonrpc.TypeOf(value)
	switch isNested := kind == jsonrpc.Object || kind == jsonrpc.Array; {
	case isText:
		x.quoted(text, x.most-len(x.text))
	case len(x.text)+len(value) > x.most && !isNested, x.isFull(), isNested && depth == 0:
		x.leaveOut(len(value))
	case kind == jsonrpc.Object:
		x.object(value, depth-1)
	case kind == jsonrpc.Array:
		x.array(value, depth-1)
	default:
		x.text = append(x.text, printable(string(value))...)
	}
}

// quoted appends at most most bytes of a text.
func (x *excerpt) quoted(text string, most int) {
	shown, rest := quoted(text, most)
	x.text = append(x.text, shown...)
	if rest != "" {
		x.leaveOut(len(rest))
	}
}

func (x *excerpt) object(value json.RawMessage, depth int) {
	x.text = append(x.text, '{')
	next := x.separator()
	_ = jsonrpc.Members(value, func(name string, value json.RawMessage) error {
		if next(len(name) + len(value) + len(`"":`)) {
			x.quoted(name, maxShownName)
			x.text = append(x.text, ':')
			x.value(value, depth)
		}
		return nil
	})
	x.text = append(x.text, '}')
}

func (x *excerpt) array(value json.RawMessage, depth int) {
	x.text = append(x.text, '[')
	next := x.separator()
	jsonrpc.Elements(value, func(value json.RawMessage) bool {
		if next(len(value)) {
			x.value(value, depth)
		}
		return true
	})
	x.text = append(x.text, ']')
}

// separator returns a function for the elements of an object or array. It appends the separator,
// and reports whether the next element, of n bytes, is shown. All omitted elements are replaced by
// one ….
func (x *excerpt) separator() func(n int) bool {
	isFirst, isOver := true, false
	return func(n int) bool {
		switch {
		case isOver:
			x.hidden += n + len(",")
			return false
		case !isFirst:
			x.text = append(x.text, ',')
		}
		if isOver = !isFirst && x.isFull(); isOver {
			x.leaveOut(n + len(","))
		}
		isFirst = false
		return !isOver
	}
}

// shownArguments returns the arguments of a call for the user. If they are long, each is clipped,
// so that a part of each is shown.
func shownArguments(args json.RawMessage) string {
	args = jsonrpc.Compact(nil, args)
	if whole := excerptOf(args, maxShownArguments); whole.hidden == 0 || jsonrpc.TypeOf(args) != jsonrpc.Object {
		return whole.String()
	}
	var (
		names  []string
		values []json.RawMessage
		widths []int
		others int
	)
	_ = jsonrpc.Members(args, func(name string, value json.RawMessage) error {
		if len(names) == maxNamed {
			others++
			return nil
		}
		names, values = append(names, name), append(values, value)
		widths = append(widths, len(excerptOf(value, maxShownArguments).text))
		return nil
	})
	most := share(widths)
	var b strings.Builder
	for i, name := range names {
		b.WriteByte("{,"[min(i, 1)])
		x := excerpt{most: maxShownName}
		x.quoted(name, maxShownName)
		_, _ = fmt.Fprintf(&b, "%s:%s", x.text, excerptOf(values[i], most))
	}
	if others > 0 {
		_, _ = fmt.Fprintf(&b, ",… (%d arguments not shown)", others)
	}
	return b.String() + "}"
}

// share returns the number of bytes that are shown of each argument, for arguments with these
// widths. Shorter arguments leave their rest to the others.
func share(widths []int) int {
	slices.Sort(widths)
	left := maxShownArguments
	for i, width := range widths {
		part := left / (len(widths) - i)
		if width > part {
			return max(part, minShownArgument)
		}
		left -= width
	}
	return maxShownArguments
}

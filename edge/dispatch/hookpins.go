package dispatch

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// stillAdded returns the members of added that a hook has not replaced: pinned arguments, and
// defaults with equal values in was and now. added may be nil.
func stillAdded(added json.RawMessage, pins []overlay.Argument, was, now json.RawMessage) json.RawMessage {
	if added == nil {
		return nil
	}
	var kept []argument
	_ = jsonrpc.Members(added, func(name string, value json.RawMessage) error {
		before, _ := jsonrpc.Member(was, name)
		after, _ := jsonrpc.Member(now, name)
		if overlay.PinOf(pins, name) != nil || sameJSON(before, after) {
			kept = append(kept, argument{name, value})
		}
		return nil
	})
	return objectOf(kept)
}

// samePins reports whether two objects have equal values for all members that a backend may read as
// pinned arguments.
func samePins(pins []overlay.Argument, a, b json.RawMessage) bool {
	if len(pins) == 0 {
		return true
	}
	pinned := func(object json.RawMessage) (kept []argument) {
		_ = jsonrpc.Members(object, func(name string, value json.RawMessage) error {
			if overlay.PinOf(pins, name) != nil {
				kept = append(kept, argument{name, value})
			}
			return nil
		})
		slices.SortFunc(kept, func(x, y argument) int { return strings.Compare(x.name, y.name) })
		return kept
	}
	return slices.EqualFunc(pinned(a), pinned(b), func(x, y argument) bool { return x.name == y.name && sameJSON(x.value, y.value) })
}

// sameJSON reports whether two values are equal. Escapes in strings do not matter; numbers must be
// written equally.
func sameJSON(a, b json.RawMessage) bool {
	decoded := func(raw json.RawMessage) (value any, ok bool) {
		in := json.NewDecoder(bytes.NewReader(raw))
		in.UseNumber()
		return value, in.Decode(&value) == nil
	}
	x, valid := decoded(a)
	y, validToo := decoded(b)
	return valid && validToo && reflect.DeepEqual(x, y)
}

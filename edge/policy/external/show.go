package external

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// shown is the part of the params that is sent to the policy server.
type shown struct {
	// value is the remaining params. nil means that none remain.
	value *structpb.Value
	// meta reports that `_meta` and requestState were removed.
	meta bool
	// omitted describes the other removed members, with the reason. Empty means none.
	omitted string
}

// sealed are the members that are removed first: `_meta` is about the request, and only the edge
// can read requestState.
var sealed = []string{"_meta", "requestState"}

// show converts params to at most most bytes of JSON that the server reads with the same values: a
// double can represent each number, and the nesting is at most MaxDepth. If not all params fit, it
// removes sealed. If the rest does not fit, it keeps only the name, the URI, the completed argument
// and the scalar arguments, the shortest first. The error means that protobuf cannot represent the
// params.
func show(raw json.RawMessage, most int) (out shown, err error) {
	if len(raw) == 0 || jsonrpc.TypeOf(raw) == jsonrpc.Null {
		return out, nil
	}
	if misfit(raw, most) == "" {
		out.value, err = valueOf(raw)
		return out, err
	}
	members, err := membersOf(raw)
	if err != nil {
		return out, err
	}
	members = slices.DeleteFunc(members, func(m member) bool {
		left := slices.Contains(sealed, m.name)
		out.meta = out.meta || left
		return left
	})
	rest := object(members)
	if out.omitted = misfit(rest, most); out.omitted == "" {
		out.value, err = valueOf(rest)
		return out, err
	}
	kept, err := scalars(members, most)
	if err != nil {
		return out, err
	}
	out.value, err = valueOf(object(kept))
	return out, err
}

// scalars selects the members of params that remain: those that name the target, and the arguments
// that are not arrays or objects, the shortest first, as long as they fit.
func scalars(members []member, most int) (kept []member, _ error) {
	var arguments []member
	room := most
	fits := func(m member) bool {
		if misfit(m.value, room) != "" || len(m.name) > room-len(m.value) {
			return false
		}
		room -= len(m.name) + len(m.value)
		return true
	}
	for _, m := range members {
		switch m.name {
		case "name", "uri": // their length is bounded by their readers
			kept = append(kept, m)
		case "ref", "argument", "context":
			if fits(m) {
				kept = append(kept, m)
			}
		case "arguments":
			if jsonrpc.TypeOf(m.value) == jsonrpc.Null {
				break
			}
			var err error
			if arguments, err = membersOf(m.value); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(arguments, func(a, b member) int { return cmp.Compare(len(a.name)+len(a.value), len(b.name)+len(b.value)) })
	arguments = slices.DeleteFunc(arguments, func(m member) bool {
		t := jsonrpc.TypeOf(m.value)
		return t == jsonrpc.Object || t == jsonrpc.Array || !fits(m)
	})
	if len(arguments) > 0 {
		kept = append(kept, member{"arguments", object(arguments)})
	}
	return kept, nil
}

// misfit returns why a value cannot be sent in most bytes, or an empty string if it can.
func misfit(raw []byte, most int) string {
	if len(raw) > most {
		return fmt.Sprintf("they have %d bytes of at most %d", len(raw), most)
	}
	now, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if now++; now > MaxDepth {
				return fmt.Sprintf("they are nested deeper than %d", MaxDepth)
			}
		case c == '}' || c == ']':
			now--
		case c == '-' || c >= '0' && c <= '9':
			from := i
			for i+1 < len(raw) && partOfNumber(raw[i+1]) {
				i++
			}
			if text := string(raw[from : i+1]); !policy.IsDouble(text) {
				return fmt.Sprintf("the number %.40s has more digits than a double", text)
			}
		}
	}
	return ""
}

func partOfNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

// member is a member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf returns the members of an object. Duplicate names are an error.
func membersOf(raw json.RawMessage) (out []member, _ error) {
	seen := map[string]bool{}
	err := jsonrpc.Members(raw, func(name string, value json.RawMessage) error {
		if seen[name] {
			return fmt.Errorf("the member %.64q occurs twice", name)
		}
		seen[name] = true
		out = append(out, member{name, value})
		return nil
	})
	return out, err
}

func object(members []member) []byte {
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(jsonrpc.AppendString(out, m.name), ':'), m.value...)
	}
	return append(out, '}')
}

func valueOf(raw []byte) (*structpb.Value, error) {
	raw = bytes.Clone(raw) // raw belongs to the request
	jsonrpc.ReplaceLoneSurrogates(raw)
	v := new(structpb.Value)
	return v, protojson.Unmarshal(raw, v)
}

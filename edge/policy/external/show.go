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

// shown is what the policy server sees of params.
type shown struct {
	// value is the params, without what is left out; nil: there are none.
	value *structpb.Value
	// meta: `_meta` and requestState were left out.
	meta bool
	// omitted is what else was left out, and why; empty: nothing was.
	omitted string
}

// sealed are the members that are left out first: `_meta` is about the request and not of it, and nobody but the edge reads requestState.
var sealed = []string{"_meta", "requestState"}

// show shows params in at most so many bytes of JSON: whole; else without sealed; else name, URI, what is completed, and of the arguments
// those that are scalars, the shortest first. What a double does not have the digits of, and what is nested deeper than MaxDepth, is not
// shown: the server would decide on something else. The error says that the params are no JSON that protobuf can have.
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

// scalars are the members of params that are always shown: those that say what is asked for, and of the arguments those that are no
// arrays or objects, the shortest first, as long as they fit.
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
		case "name", "uri": // their length is bounded where they are read
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

// misfit says why a value is not shown in so many bytes; empty: it can be.
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

// member is one of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf are the members of an object, each of its own name.
func membersOf(raw json.RawMessage) (out []member, _ error) {
	seen := map[string]bool{}
	err := jsonrpc.Members(raw, func(name string, value json.RawMessage) error {
		if seen[name] {
			return fmt.Errorf("the member %.64q stands twice", name)
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
	raw = bytes.Clone(raw) // It is the request's.
	jsonrpc.MendSurrogates(raw)
	v := new(structpb.Value)
	return v, protojson.Unmarshal(raw, v)
}

package mcp

import (
	"bytes"
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Params is the params of a request in two values. The fields of Params itself are what the edge has decided: rules, quotas, the policy
// server, the audit, records, telemetry, and backends read these. Sent is what the client sent: it is compared with headers, a requestState
// is bound to it, and errors and questions to the client repeat it. Members that the edge never changes are in Sent alone.
type Params struct {
	Sent
	// Target is the name or URI of the target. In a call that is bound to a backend (Call.Backend), the name of a tool or prompt is the
	// canonical one: the backend's own, after its prefix. Otherwise it is the one that clients see.
	Target string
	// Arguments are those that the backend reads, Ref the reference of completion/complete with the canonical name.
	Arguments, Ref json.RawMessage
	// Added are the members of Arguments that the edge added, as an object. nil means that there are none, not even their object.
	Added json.RawMessage
	// Wrapped is the client's own request if it made this one through a tool of the edge: Sent is as if the client had made it directly.
	// nil means that it did.
	Wrapped *Wrapped
}

// Shown returns the name that the client used for Target. Empty means Target itself.
func (p *Params) Shown() string {
	if p.Sent.Target == p.Target {
		return ""
	}
	return p.Sent.Target
}

// Raw returns the whole decided params; nil when the request had none. They are rendered on each call of Raw, unless they are what the
// client sent.
func (p *Params) Raw() json.RawMessage {
	raw := p.raw
	if p.Target != p.Sent.Target {
		raw = replaced(raw, "name", jsonrpc.AppendString(nil, p.Target))
	}
	if !bytes.Equal(p.Arguments, p.Sent.Arguments) {
		raw = replaced(raw, "arguments", p.Arguments)
	}
	if !bytes.Equal(p.Ref, p.More().Ref) {
		raw = replaced(raw, "ref", p.Ref)
	}
	return raw
}

// RenameRef replaces the name of the prompt in Ref by the canonical one.
func (p *Params) RenameRef(canonical string) {
	p.Ref = replaced(p.Ref, "name", jsonrpc.AppendString(nil, canonical))
}

// Continue repeats in a later round, whose params the client sent again, what the first round decided: the canonical name, if it is
// another one, and the members that were added. An empty name and a nil added mean none.
func (p *Params) Continue(canonical string, added json.RawMessage) {
	if canonical != "" {
		p.Target = canonical
	}
	if p.Added = added; added == nil {
		return
	}
	out := []byte{'{'}
	for _, object := range []json.RawMessage{without(p.Sent.Arguments, namesOf(added)...), added} { // which may be in the place of a null
		_ = jsonrpc.Members(object, func(key string, value json.RawMessage) error {
			out = jsonrpc.AppendMember(out, key, value)
			return nil
		})
	}
	p.Arguments = append(out, '}')
}

// Resume restores, in params that were parsed from the Raw of a call's record, what the client sent: the name, if it is another one, the
// tool of the edge through which it made the request, if any, and the arguments without those that the edge added, if it did.
func (p *Params) Resume(shown, via string, added json.RawMessage) {
	if shown != "" {
		p.Sent.Target = shown
	}
	if via != "" {
		p.Wrapped = &Wrapped{Tool: via}
	}
	if p.Added = added; added == nil {
		return
	}
	p.Sent.Arguments = without(p.Arguments, namesOf(added)...)
}

// namesOf returns the names of the members of an object.
func namesOf(object json.RawMessage) (names []string) {
	_ = jsonrpc.Members(object, func(name string, _ json.RawMessage) error {
		names = append(names, name)
		return nil
	})
	return names
}

// replaced returns a copy of an object with another value of the member with a name, which is added
// if it is missing. The object was parsed before.
func replaced(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	out := append(make([]byte, 0, len(object)+len(value)), '{')
	found := false
	_ = jsonrpc.Members(object, func(key string, old json.RawMessage) error {
		if key == name {
			old, found = value, true
		}
		out = jsonrpc.AppendMember(out, key, old)
		return nil
	})
	if !found {
		out = jsonrpc.AppendMember(out, name, value)
	}
	return append(out, '}')
}

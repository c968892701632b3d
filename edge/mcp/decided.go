package mcp

import (
	"bytes"
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Params has two versions of the params of a request. The fields of Params itself are the decided
// ones, which rules, quotas, the policy server, the audit, records, telemetry and backends read.
// Sent has those that the client sent: they are compared with headers, a requestState is bound to
// them, and errors and questions to the client repeat them. Members that the edge never changes are
// in Sent only.
type Params struct {
	Sent
	// Target is the name or URI of the target. For a tool or prompt in a call that is bound to a
	// backend (Call.Backend), it is the canonical name. Otherwise it is the name that clients see.
	Target string
	// Arguments are those that the backend reads.
	Arguments json.RawMessage
	// edits has what the edge changes in few requests. nil means nothing. It is replaced, not changed, since copies share it.
	edits *edits
	// Wrapped is the client's own request if it made this one through a tool of the edge. Sent is as
	// if the client had made this request directly. nil means that it did.
	Wrapped *Wrapped
}

// edits are changes of params: the reference of completion/complete with the canonical name, nil if that is what was sent, and the added
// members of arguments.
type edits struct{ ref, added json.RawMessage }

// Shown returns the name that the client used for Target. Empty means Target itself.
func (p *Params) Shown() string {
	if p.Sent.Target == p.Target {
		return ""
	}
	return p.Sent.Target
}

// Raw returns all decided params. It returns nil if the request had none. If they differ from the
// sent ones, each call encodes them again.
func (p *Params) Raw() json.RawMessage {
	raw := p.raw
	if p.Target != p.Sent.Target {
		raw = replaced(raw, "name", jsonrpc.AppendString(nil, p.Target))
	}
	if !bytes.Equal(p.Arguments, p.Sent.Arguments) {
		raw = replaced(raw, "arguments", p.Arguments)
	}
	if p.edits != nil && p.edits.ref != nil {
		raw = replaced(raw, "ref", p.edits.ref)
	}
	return raw
}

// Ref returns the reference of completion/complete with the canonical name.
func (p *Params) Ref() json.RawMessage {
	if p.edits == nil || p.edits.ref == nil {
		return p.More().Ref
	}
	return p.edits.ref
}

// Added returns the members of Arguments that the edge added, as an object. nil means that there are none, not even their object.
func (p *Params) Added() json.RawMessage {
	if p.edits == nil {
		return nil
	}
	return p.edits.added
}

// SetAdded sets what Added returns.
func (p *Params) SetAdded(added json.RawMessage) {
	switch {
	case p.edits != nil:
		p.edits = &edits{ref: p.edits.ref, added: added}
	case added != nil:
		p.edits = &edits{added: added}
	}
}

// RenameRef replaces the name of the prompt in Ref by the canonical one.
func (p *Params) RenameRef(canonical string) {
	p.edits = &edits{ref: replaced(p.Ref(), "name", jsonrpc.AppendString(nil, canonical)), added: p.Added()}
}

// Continue applies the decisions of the first round to a later round, whose params the client sent
// again: the canonical name, if it differs, and the added members. An empty name and a nil added
// mean none.
func (p *Params) Continue(canonical string, added json.RawMessage) {
	if canonical != "" {
		p.Target = canonical
	}
	if p.SetAdded(added); added == nil {
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

// Resume restores what the client sent, in params that were parsed from the Raw of a call's record:
// the name, if it differs, the tool of the edge through which it made the request, if any, and the
// arguments without the added members.
func (p *Params) Resume(shown, via string, added json.RawMessage) {
	if shown != "" {
		p.Sent.Target = shown
	}
	if via != "" {
		p.Wrapped = &Wrapped{Tool: via}
	}
	if p.SetAdded(added); added == nil {
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

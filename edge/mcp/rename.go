package mcp

import (
	"cmp"
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Requested returns the name or URI that the client used.
func (p *Params) Requested() string { return cmp.Or(p.Shown, p.Target) }

// Rename replaces the name of a tool or prompt by its canonical one, in Target and Raw, and keeps
// the client's in Shown. Raw is copied, the original is not changed.
func (p *Params) Rename(canonical string) {
	p.Shown, p.Target = p.Requested(), canonical
	p.Raw = replaced(p.Raw, "name", jsonrpc.AppendString(nil, canonical))
}

// RenameRef is Rename for the prompt that params.ref of completion/complete names.
func (p *Params) RenameRef(canonical string) {
	p.Ref = replaced(p.Ref, "name", jsonrpc.AppendString(nil, canonical))
	p.Raw = replaced(p.Raw, "ref", p.Ref)
}

// ReplaceArguments replaces Arguments, also in Raw, which is copied.
func (p *Params) ReplaceArguments(arguments json.RawMessage) {
	p.Arguments = arguments
	p.Raw = replaced(p.Raw, "arguments", arguments)
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

// Curate replaces the arguments by those that the backend is to read, also in Raw, and keeps the
// client's in Sent. added are the members that the client did not send, as an object.
func (p *Params) Curate(effective, added json.RawMessage) {
	p.Sent, p.Added = p.Arguments, added
	p.ReplaceArguments(effective)
}

// Restore adds the members that Curate added in an earlier round of the call.
func (p *Params) Restore(added json.RawMessage) {
	p.Sent = p.Arguments
	out := []byte{'{'}
	for _, object := range []json.RawMessage{p.Arguments, added} {
		_ = jsonrpc.Members(object, func(key string, value json.RawMessage) error {
			out = jsonrpc.AppendMember(out, key, value)
			return nil
		})
	}
	p.Added = added
	p.ReplaceArguments(append(out, '}'))
}

// Resume restores, in the params of a call that continues from its record, the name that the client used, if it
// is another one, and which members of the arguments the edge added. A nil added means none.
func (p *Params) Resume(shown string, added json.RawMessage) {
	p.Shown = shown
	if added == nil {
		return
	}
	var names []string
	_ = jsonrpc.Members(added, func(name string, _ json.RawMessage) error {
		names = append(names, name)
		return nil
	})
	p.Added, p.Sent = added, without(p.Arguments, names...)
}

// SentArguments returns the arguments as the client sent them.
func (p *Params) SentArguments() json.RawMessage {
	if p.Added != nil {
		return p.Sent
	}
	return p.Arguments
}

package mcp

import (
	"encoding/json"
	"testing"
)

// A call that continues from its record knows what the client sent, and under which name.
func TestResumedParams(t *testing.T) {
	var p Params
	if err := p.Parse(MethodToolsCall, json.RawMessage(`{"name":"wipe","arguments":{"path":"a","tenant":"t"}}`), nil); err != nil {
		t.Fatal(err)
	}
	p.Resume("", nil)
	if p.Requested() != "wipe" || p.Added != nil || string(p.SentArguments()) != `{"path":"a","tenant":"t"}` {
		t.Errorf("without changes: %q, %s, %s", p.Requested(), p.Added, p.SentArguments())
	}
	p.Resume("erase", json.RawMessage(`{"tenant":"t"}`))
	if p.Target != "wipe" || p.Requested() != "erase" || string(p.SentArguments()) != `{"path":"a"}` ||
		string(p.Arguments) != `{"path":"a","tenant":"t"}` {
		t.Errorf("%q as %q, %s of %s", p.Target, p.Requested(), p.SentArguments(), p.Arguments)
	}
}

package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// A call that continues from its record knows what the client sent, and under which name.
func TestResumedParams(t *testing.T) {
	var p Params
	if err := p.Parse(MethodToolsCall, json.RawMessage(`{"name":"wipe","arguments":{"path":"a","tenant":"t"}}`), nil); err != nil {
		t.Fatal(err)
	}
	p.Resume("", "", nil)
	if p.Shown() != "" || p.Added() != nil || p.Wrapped != nil || string(p.Sent.Arguments) != `{"path":"a","tenant":"t"}` {
		t.Errorf("without changes: %q, %s, %s", p.Shown(), p.Added(), p.Sent.Arguments)
	}
	p.Resume("erase", ToolCall, json.RawMessage(`{"tenant":"t"}`))
	if p.Target != "wipe" || p.Shown() != "erase" || string(p.Sent.Arguments) != `{"path":"a"}` || p.Via() != ToolCall ||
		string(p.Arguments) != `{"path":"a","tenant":"t"}` {
		t.Errorf("%q as %q through %q, %s of %s", p.Target, p.Shown(), p.Via(), p.Sent.Arguments, p.Arguments)
	}
	if got := string(p.Raw()); got != `{"name":"wipe","arguments":{"path":"a","tenant":"t"}}` {
		t.Errorf("its next record has %s", got)
	}
}

// What is decided changes no text of what was sent, and is rendered when it is needed: a call that is not recorded allocates nothing for
// its canonical name.
func TestDecidedParams(t *testing.T) {
	const sent = `{"name": "erase", "arguments": {"path":"a"}, "_meta": {"x":1}}`
	parse := func(method Method, raw string) *Params {
		p := new(Params)
		if err := p.Parse(method, json.RawMessage(raw), nil); err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := parse(MethodToolsCall, sent)
	if got := testing.AllocsPerRun(100, func() {
		p.Continue("wipe", nil)
		if p.Shown() != "erase" {
			t.Error("it is not shown as what was sent")
		}
	}); got != 0 {
		t.Errorf("a new name allocates %v times", got)
	}
	if got := string(p.Raw()); got != `{"name":"wipe","arguments":{"path":"a"},"_meta":{"x":1}}` {
		t.Errorf("with another name: %s", got)
	}
	p.Continue("wipe", json.RawMessage(`{"tenant":"t"}`))
	if got := string(p.Raw()); got != `{"name":"wipe","arguments":{"path":"a","tenant":"t"},"_meta":{"x":1}}` {
		t.Errorf("with another argument: %s", got)
	}
	if string(p.Sent.raw) != sent || string(p.Sent.Arguments) != `{"path":"a"}` || p.Sent.Target != "erase" {
		t.Errorf("what was sent has become %+v", p.Sent)
	}
	if p := parse(MethodToolsCall, sent); string(p.Raw()) != sent || testing.AllocsPerRun(100, func() { p.Raw() }) != 0 {
		t.Error("params that are not changed are copied")
	}
	p = parse(MethodComplete, `{"ref":{"type":"ref/prompt","name":"hello"},"argument":{}}`)
	if p.RenameRef("greet"); string(p.Raw()) != `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{}}` || !strings.Contains(string(p.More().Ref), "hello") {
		t.Errorf("a reference with another name: %s of %s", p.Raw(), p.More().Ref)
	}
}

// A member that was sent as null, in whose place the edge added a default, is in the arguments of a later round once, as in those of the first.
func TestAddedReplacesNull(t *testing.T) {
	var p Params
	if err := p.Parse(MethodToolsCall, json.RawMessage(`{"name":"find","arguments":{"limit":null,"path":"a"}}`), nil); err != nil {
		t.Fatal(err)
	}
	p.Continue("", json.RawMessage(`{"limit":20}`))
	if got := string(p.Arguments); got != `{"path":"a","limit":20}` {
		t.Errorf("the arguments are %s", got)
	}
}

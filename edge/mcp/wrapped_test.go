package mcp

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// TestUnwrap: the params of a call through another tool become those of the tool, and a state is bound to what the client sent.
func TestUnwrap(t *testing.T) {
	parse := func(arguments string) *Params {
		p, err := ParamsOf(jsonrpc.Message{Method: "tools/call", Params: []byte(`{"_meta":{"progressToken":1},"name":"call_tool","arguments":` + arguments + `,"task":{}}`)})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for arguments, want := range map[string]string{
		`{"name":"a","arguments":{"n":1}}`:                      `{"_meta":{"progressToken":1},"name":"a","arguments":{"n":1},"task":{}}`,
		`{"arguments":null,"name":"\u0061"}`:                    `{"_meta":{"progressToken":1},"name":"a","arguments":{},"task":{}}`,
		`{"name":"call_tool"}`:                                  `{"_meta":{"progressToken":1},"name":"call_tool","arguments":{},"task":{}}`,
		`{"name":"a","arguments":{"name":"b","arguments":{}} }`: `{"_meta":{"progressToken":1},"name":"a","arguments":{"name":"b","arguments":{}},"task":{}}`,
	} {
		p := parse(arguments)
		if err := p.Unwrap(); err != nil || string(p.Raw) != want || p.Shown != "" || p.Added != nil {
			t.Errorf("%s: %s, %v; want %s", arguments, p.Raw, err, want)
		}
		again, err := ParamsOf(jsonrpc.Message{Method: "tools/call", Params: p.Raw})
		if err != nil || again.Target != p.Target || string(again.Arguments) != string(p.Arguments) || string(again.Task) != "{}" {
			t.Errorf("%s: read again it is %+v, %v", arguments, again, err)
		}
		if name, sent := p.Bound(); name != ToolCall || string(sent) != arguments {
			t.Errorf("bound to %s %s", name, sent)
		}
	}
	for _, arguments := range []string{`null`, `[]`, `"a"`, `{}`, `{"name":1}`, `{"name":"a","arguments":1}`, `{"name":"a","arguments":[]}`, `{"name":"a","x":1}`, `{"name":"` + strings.Repeat("a", MaxName+1) + `"}`} {
		p := parse(arguments)
		before := *p
		if err := p.Unwrap(); err == nil || string(p.Raw) != string(before.Raw) || p.Target != ToolCall || p.Wrapped != nil {
			t.Errorf("%.40s: %v, %+v", arguments, err, p)
		}
	}
	if name, sent := parse(`{"n":1}`).Bound(); name != ToolCall || string(sent) != `{"n":1}` {
		t.Errorf("a plain call is bound to %s %s", name, sent)
	}
}

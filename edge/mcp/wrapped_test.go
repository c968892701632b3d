package mcp

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// TestUnwrap: the params of a call through another tool become those of the tool, and a state is bound to what the client sent.
func TestUnwrap(t *testing.T) {
	parse := func(arguments string) *Call {
		p, err := ParamsOf(jsonrpc.Message{Method: "tools/call", Params: []byte(`{"_meta":{"progressToken":1},"name":"call_tool","arguments":` + arguments + `,"task":{}}`)})
		if err != nil {
			t.Fatal(err)
		}
		return &Call{Method: MethodToolsCall, Params: *p}
	}
	for arguments, want := range map[string]string{
		`{"name":"a","arguments":{"n":1}}`:                      `{"_meta":{"progressToken":1},"name":"a","arguments":{"n":1},"task":{}}`,
		`{"arguments":null,"name":"\u0061"}`:                    `{"_meta":{"progressToken":1},"name":"a","arguments":{},"task":{}}`,
		`{"name":"call_tool"}`:                                  `{"_meta":{"progressToken":1},"name":"call_tool","arguments":{},"task":{}}`,
		`{"name":"a","arguments":{"name":"b","arguments":{}} }`: `{"_meta":{"progressToken":1},"name":"a","arguments":{"name":"b","arguments":{}},"task":{}}`,
	} {
		c := parse(arguments)
		p := &c.Params
		if err := c.Unwrap(); err != nil || c.Method != MethodToolsCall || p.Via() != ToolCall || string(p.Raw()) != want || p.Shown() != "" || p.Added() != nil {
			t.Errorf("%s: %s, %v; want %s", arguments, p.Raw(), err, want)
		}
		again, err := ParamsOf(jsonrpc.Message{Method: "tools/call", Params: p.Raw()})
		if err != nil || again.Target != p.Target || string(again.Arguments) != string(p.Arguments) || string(again.More().Task) != "{}" {
			t.Errorf("%s: read again it is %+v, %v", arguments, again, err)
		}
		if method, name, sent := c.Bound(); method != MethodToolsCall || name != ToolCall || string(sent) != arguments {
			t.Errorf("bound to %s %s %s", method, name, sent)
		}
	}
	for _, arguments := range []string{`null`, `[]`, `"a"`, `{}`, `{"name":1}`, `{"name":"a","arguments":1}`, `{"name":"a","arguments":[]}`, `{"name":"a","x":1}`, `{"name":"` + strings.Repeat("a", MaxName+1) + `"}`} {
		c := parse(arguments)
		p, before := &c.Params, c.Params
		if err := c.Unwrap(); err == nil || string(p.Raw()) != string(before.Raw()) || p.Target != ToolCall || p.Wrapped != nil {
			t.Errorf("%.40s: %v, %+v", arguments, err, p)
		}
	}
	if _, name, sent := parse(`{"n":1}`).Bound(); name != ToolCall || string(sent) != `{"n":1}` {
		t.Errorf("a plain call is bound to %s %s", name, sent)
	}
}

// TestUnwrapRead: a call of read_resource becomes a read, whatever else the client sends, and a state is bound to what the client sent.
func TestUnwrapRead(t *testing.T) {
	parse := func(arguments string) *Call {
		p, err := ParamsOf(jsonrpc.Message{Method: "tools/call", Params: []byte(`{"uri":"a://other","_meta":{"progressToken":1},"uri":"a://another","name":"read_resource","arguments":` + arguments + `,"task":{}}`)})
		if err != nil {
			t.Fatal(err)
		}
		return &Call{Method: MethodToolsCall, Params: *p}
	}
	c := parse(`{"uri":"a://\u0062"}`)
	if name, called := c.Tool(); name != ToolReadResource || !called {
		t.Errorf("it is charged as %q", name)
	}
	if err := c.Unwrap(); err != nil || c.Method != MethodResourcesRead || c.Params.Target != "a://b" || c.Params.Arguments != nil || c.Params.More().Task == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	if got := string(c.Params.Raw()); got != `{"_meta":{"progressToken":1},"uri":"a://b"}` {
		t.Errorf("the params are %s", got)
	}
	if again, err := ParamsOf(jsonrpc.Message{Method: "resources/read", Params: c.Params.Raw()}); err != nil || again.Target != "a://b" || string(again.Meta.ProgressToken) != "1" {
		t.Errorf("read again they are %+v, %v", again, err)
	}
	if method, name, sent := c.Bound(); method != MethodToolsCall || name != ToolReadResource || string(sent) != `{"uri":"a://\u0062"}` {
		t.Errorf("bound to %s %s %s", method, name, sent)
	}
	if name, called := c.Tool(); c.Params.Via() != ToolReadResource || name != ToolReadResource || !called {
		t.Errorf("it is made through %q and charged as %q", c.Params.Via(), name)
	}
	for _, arguments := range []string{`null`, `[]`, `{}`, `{"uri":1}`, `{"uri":""}`, `{"uri":"a://b","x":1}`, `{"uri":"` + strings.Repeat("a", MaxURI+1) + `"}`} {
		c := parse(arguments)
		before := c.Params
		if err := c.Unwrap(); err == nil || c.Method != MethodToolsCall || string(c.Params.Raw()) != string(before.Raw()) || c.Params.Target != ToolReadResource || c.Params.Wrapped != nil {
			t.Errorf("%.40s: %v, %+v", arguments, err, c)
		}
	}
	if _, called := (&Call{Method: MethodResourcesRead, Params: Params{Target: "a://b"}}).Tool(); called || Wraps(ToolFind) || Wraps(ToolListResources) || Wraps("a://b") {
		t.Error("what is no call of a tool is charged or unwrapped")
	}
}

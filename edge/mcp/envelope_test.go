package mcp_test

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// A result is the same in its message, beside it and alone, and its message needs no second copy.
func TestEnvelope(t *testing.T) {
	msg, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":"a\"7","method":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	const result = `{"content":[]}`
	want := `{"jsonrpc":"2.0","id":"a\"7","result":` + result + `}`
	in := mcp.Envelope{ID: msg.ID}
	for name, e := range map[string]mcp.Envelope{"in its message": in, "alone": {}} {
		reply := e.Reply(append(e.Begin(len(result)), result...))
		if string(reply.Result) != result {
			t.Errorf("%s the result is %s", name, reply.Result)
		}
		if got := string(reply.Message(msg.ID)); got != want {
			t.Errorf("%s the message is %s, want %s", name, got, want)
		}
		_ = append(reply.Result, "more"...) // must not reach the message
		if got := string(reply.Message(msg.ID)); got != want {
			t.Errorf("%s the message became %s", name, got)
		}
	}
	body := make([]byte, 1<<20)
	if n := testing.AllocsPerRun(10, func() {
		reply := in.Reply(append(in.Begin(len(body)), body...))
		if len(reply.Message(msg.ID)) < len(body) {
			t.Error("the message is too short")
		}
	}); n > 2 {
		t.Errorf("%v allocations for a result in its message", n)
	}
	none := mcp.Reply{}
	if got := string(none.Message(msg.ID)); got != `{"jsonrpc":"2.0","id":"a\"7","result":{}}` {
		t.Errorf("without a result the message is %s", got)
	}
}

package mcp

import (
	"context"
	"testing"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

func TestConn(t *testing.T) {
	c, id := new(Conn), jsonrpc.IntID(1)
	begin := func() (context.Context, *InFlight) {
		t.Helper()
		ctx, f, ok := c.Begin(t.Context(), id)
		if !ok || !c.Has(id) {
			t.Fatal("a free id was refused")
		}
		return ctx, f
	}
	ctx, f := begin()
	if _, _, ok := c.Begin(t.Context(), id); ok || c.Has(jsonrpc.StringID("1")) {
		t.Error("the id was given out twice, or mistaken for a string")
	}
	if !c.Cancel(id) || ctx.Err() == nil || c.Cancel(id) || f.Finish() {
		t.Error("a cancelled request was finished")
	}

	ctx, f2 := begin()
	f.Release() // a late release of the first request does not affect the second
	if !c.Has(id) || ctx.Err() != nil {
		t.Error("the release of the first request ended the second")
	}
	if !f2.Finish() || f2.Finish() || c.Has(id) || c.Cancel(id) || ctx.Err() != nil {
		t.Error("a finished request cannot write its last message exactly once with a live context")
	}
	if f2.Release(); ctx.Err() == nil {
		t.Error("the context outlives the request")
	}
	ctx, f3 := begin()
	if f3.Release(); c.Has(id) || ctx.Err() == nil {
		t.Error("released, but in flight")
	}
}

func TestNoConn(t *testing.T) {
	var c *Conn
	ctx, f, ok := c.Begin(t.Context(), jsonrpc.IntID(1))
	if !ok || f != nil || ctx != t.Context() || c.Has(jsonrpc.IntID(1)) || c.Cancel(jsonrpc.IntID(1)) || !f.Finish() {
		t.Error("a request is registered without a connection")
	}
	f.Release()
}

func TestAdmit(t *testing.T) {
	n := 0
	(&Incoming{Next: func() { n++ }}).Admit()
	(&Incoming{}).Admit()
	if n != 1 {
		t.Errorf("admitted %d times", n)
	}
}

package runtime

import (
	"context"
	"testing"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest/model"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// plain is a call with a direct response, and its exchange.
type plain struct {
	rec   medium.Record
	reply call.Reply
	body  []byte
	group Group
}

func (p *plain) Run(context.Context, *medium.Record, *Driver) *call.Reply { return &p.reply }
func (p *plain) Deliver(Event)                                            {}
func (p *plain) Done(call.How, *call.Reply)                               {}
func (p *plain) Respond(r []*call.Reply)                                  { p.body = r[0].Response }
func (p *plain) Accept()                                                  {}
func (p *plain) Open(context.Context, string)                             {}

func (p *plain) serve(ctx context.Context, r *Replica) {
	p.rec.Session, p.rec.ID, p.rec.Round, p.rec.Attempt = session, "c", 1, 1
	p.reply = call.Reply{Kind: call.Final, Response: []byte("r")}
	r.Init(&p.group, 1)
	p.group.Add(ctx, &p.rec, p)
	p.group.Serve(ctx, p)
}

// BenchmarkPlainCall measures the driver, with its goroutines, for a call with one body as response
// and an immediate backend.
func BenchmarkPlainCall(b *testing.B) {
	r := New(func(h medium.Hooks) medium.Store { return (&model.Medium{}).Replica(h) }, Options{Call: &call.Config{}})
	defer r.Close()
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		new(plain).serve(ctx, r)
	}
}

// A plain call is served while the tables of the replica are locked.
func TestPlainCallTakesNoSharedLock(t *testing.T) {
	r := New(func(h medium.Hooks) medium.Store { return (&model.Medium{}).Replica(h) }, Options{Call: &call.Config{}})
	defer r.Close()
	served := make(chan struct{})
	r.mu.Lock()
	go func() {
		defer close(served)
		new(plain).serve(t.Context(), r)
	}()
	defer r.mu.Unlock()
	await.Receive(t, "the call to be answered", served)
}

// The allocations of a plain call are bounded, including its task and context.
func TestPlainCallAllocates(t *testing.T) {
	r := New(func(h medium.Hooks) medium.Store { return (&model.Medium{}).Replica(h) }, Options{Call: &call.Config{}})
	defer r.Close()
	if n := testing.AllocsPerRun(100, func() { new(plain).serve(t.Context(), r) }); n > 10 {
		t.Errorf("%v allocations, want at most 10", n)
	}
}

package run

import (
	"context"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest/model"
)

// plain is a call that is answered at once, and its exchange.
type plain struct {
	rec   medium.Record
	reply call.Reply
	body  []byte
	unit  Unit
}

func (p *plain) Run(context.Context, *medium.Record, Sink) *call.Reply { return &p.reply }
func (p *plain) Complete(*medium.Record)                               {}
func (p *plain) Free()                                                 {}
func (p *plain) Stored(*medium.Write, time.Time, error)                {}
func (p *plain) Over(call.How, *call.Reply)                            {}
func (p *plain) Respond(r []*call.Reply)                               { p.body = r[0].Response }
func (p *plain) Accept()                                               {}
func (p *plain) Open(context.Context, string)                          {}

func (p *plain) serve(ctx context.Context, r *Replica) {
	p.rec.Session, p.rec.ID, p.rec.Round, p.rec.Attempt = session, "c", 1, 1
	p.reply = call.Reply{Kind: call.Final, Response: []byte("r")}
	r.Init(&p.unit, 1)
	p.unit.Add(ctx, &p.rec, p)
	p.unit.Serve(ctx, p)
}

// A call that is answered as one body, its backend at once: what the driver costs, its goroutines included.
func BenchmarkPlainCall(b *testing.B) {
	r := New((&model.Medium{}).Replica(medium.Hooks{}), Options{Call: &call.Config{}})
	defer r.Close()
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		new(plain).serve(ctx, r)
	}
}

// What a plain call allocates here is bounded, its task and context included.
func TestPlainCallAllocates(t *testing.T) {
	r := New((&model.Medium{}).Replica(medium.Hooks{}), Options{Call: &call.Config{}})
	defer r.Close()
	if n := testing.AllocsPerRun(100, func() { new(plain).serve(t.Context(), r) }); n > 10 {
		t.Errorf("%v allocations, want at most 10", n)
	}
}

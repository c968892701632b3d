package call

import (
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// benchUnit is a driver's state for an exchange with one call.
type benchMachines struct {
	mu       sync.Mutex
	machines Machines
	record   medium.Record
	reply    Reply
	room     [6]Effect
	body     []byte
	over     bool
}

func (u *benchMachines) post(e Event) {
	u.mu.Lock()
	effects := u.machines.Step(0, e, u.room[:0])
	u.mu.Unlock()
	for i := range effects {
		switch f := &effects[i]; f.Kind {
		case Decide:
			u.body = f.Reply.Response
		case EndRun:
			u.over = true
		}
	}
}

// BenchmarkPlainCall measures the machines of a call with a direct response, under their own lock.
func BenchmarkPlainCall(b *testing.B) {
	b.ReportAllocs()
	body := []byte("r")
	for b.Loop() {
		u := new(benchMachines)
		u.machines.InitExchange(1)
		u.machines.Add(new(Call), &config, &u.record)
		u.post(Event{Kind: Started})
		u.reply = Reply{Kind: Final, Response: body}
		u.post(Event{Kind: Returned, Reply: &u.reply})
		if !u.over || u.body == nil {
			b.Fatal("the call still runs")
		}
	}
}

// The machines of such a call allocate almost nothing beside their struct.
func TestPlainCallAllocates(t *testing.T) {
	body := []byte("r")
	n := testing.AllocsPerRun(100, func() {
		u := new(benchMachines)
		u.machines.InitExchange(1)
		u.machines.Add(new(Call), &config, &u.record)
		u.post(Event{Kind: Started})
		u.reply = Reply{Kind: Final, Response: body}
		u.post(Event{Kind: Returned, Reply: &u.reply})
	})
	if n > 2 {
		t.Errorf("%v allocations, want at most 2", n)
	}
}

package call

import (
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// benchUnit is a driver's state for an exchange with one call.
type benchUnit struct {
	mu     sync.Mutex
	unit   Unit
	record medium.Record
	reply  Reply
	room   [6]Effect
	body   []byte
	over   bool
}

func (u *benchUnit) post(e Event) {
	u.mu.Lock()
	effects := u.unit.Step(0, e, u.room[:0])
	u.mu.Unlock()
	for i := range effects {
		switch f := &effects[i]; f.Kind {
		case Outcome:
			u.body = f.Reply.Response
		case OverHere:
			u.over = true
		}
	}
}

// Measures the machines of a call that is answered with one body, under a lock of their own.
func BenchmarkPlainCall(b *testing.B) {
	b.ReportAllocs()
	body := []byte("r")
	for b.Loop() {
		u := new(benchUnit)
		u.unit.InitExchange(1)
		u.unit.Add(&config, &u.record)
		u.post(Event{Kind: Started})
		u.reply = Reply{Kind: Final, Response: body}
		u.post(Event{Kind: Returned, Reply: &u.reply})
		if !u.over || u.body == nil {
			b.Fatal("the call goes on")
		}
	}
}

// The machines of such a call allocate almost nothing beside the struct that holds them.
func TestPlainCallAllocates(t *testing.T) {
	body := []byte("r")
	n := testing.AllocsPerRun(100, func() {
		u := new(benchUnit)
		u.unit.InitExchange(1)
		u.unit.Add(&config, &u.record)
		u.post(Event{Kind: Started})
		u.reply = Reply{Kind: Final, Response: body}
		u.post(Event{Kind: Returned, Reply: &u.reply})
	})
	if n > 2 {
		t.Errorf("%v allocations, want at most 2", n)
	}
}

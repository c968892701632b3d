package runtime

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Responses and questions of any size that the store lost are restored.
func TestLargeEntriesAreRestored(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 300<<10)
	for name, reply := range map[string]*call.Reply{
		"response":  {Kind: call.Final, Response: large},
		"questions": {Kind: call.Asks, Asks: []state.Ask{{ID: "1", Message: large}, {ID: "2", Message: large}}},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *house) {
				h.send(h.replica(true), "c", func(_ context.Context, _ *medium.Record, send func(float64)) *call.Reply {
					for i := range 3 {
						send(float64(i))
						sleep(time.Second)
					}
					return reply
				})
				sleep(4 * time.Second)
				rec, log, _ := h.m.Call("c")
				phase, want := rec.Phase, fmt.Sprint(len(log), " entries, the last of ", len(log[len(log)-1].Data))
				h.m.Rewind(1)
				if _, log, _ := h.m.Call("c"); len(log) != 3 {
					t.Fatalf("the store lost more or less than the last step: it has %d entries", len(log))
				}
				h.m.Return()
				sleep(4 * time.Second)
				rec, log, _ = h.m.Call("c")
				if got := fmt.Sprint(len(log), " entries, the last of ", len(log[len(log)-1].Data)); rec.Phase != phase || got != want {
					t.Errorf("phase %d and %s bytes are restored, want %d and %s", rec.Phase, got, phase, want)
				}
			})
		})
	}
}

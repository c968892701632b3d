package runtime

import (
	"context"
	"testing"

	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/await"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// A drain waits for a response that waits for the store, although its client has disconnected.
func TestWorkIncludesCallsWaitingForATimer(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		r := h.replica(true)
		k := h.send(r, "c", after(5*time.Second, "r"))
		sleep(1500 * time.Millisecond) // The call is a stream now.
		k.stop()                       // The client disconnects and may resume.
		sleep(time.Second)
		h.m.Away(true)
		sleep(5 * time.Second) // The response is offered to the unavailable store.
		ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
		defer cancel()
		time.AfterFunc(10*time.Second, func() { h.m.Away(false) })
		if err := r.work.Wait(ctx); err != nil || r.Driver("c") != nil {
			t.Errorf("the wait ended with %v, while the call runs: %t", err, r.Driver("c") != nil)
		}
		h.wantOver("c", call.HowEnded)
	})
}

// A drain also waits for a call whose backend is busy.
func TestWorkIncludesCallsWaitingForABusyBackend(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		r := h.replica(true)
		k := h.send(r, "c", func(ctx context.Context, round *medium.Record, send func(float64)) *call.Reply {
			if round.Round == 1 {
				send(1)
				pause(ctx, 2*time.Second)
				return &call.Reply{Kind: call.Busy, Pause: 5 * time.Second}
			}
			return says("r")
		})
		sleep(1500 * time.Millisecond)
		k.stop()
		sleep(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
		defer cancel()
		if err := r.work.Wait(ctx); err != nil || r.Driver("c") != nil {
			t.Errorf("the wait ended with %v, while the call runs: %t", err, r.Driver("c") != nil)
		}
		h.wantOver("c", call.HowEnded)
	})
}

// A call that waits for its client's answers has no owner, and a drain does not wait for it.
func TestWorkEndsWhenCallsWaitForAnswers(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		r := h.replica(true)
		k := h.send(r, "c", h.asksFirst(1))
		sleep(1500 * time.Millisecond)
		k.stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.work.Wait(ctx); err != nil {
			t.Error(err)
		}
		h.wantOver("c", call.HowParked)
	})
}

// Work that leaves while it rests does not block a waiter.
func TestLeaveWhileResting(t *testing.T) {
	var g InFlight
	if !g.Enter() {
		t.Fatal("it is closed")
	}
	g.Idle()
	done := make(chan error, 1)
	go func() { done <- g.Wait(context.Background()) }()
	await.Until(t, "a waiter", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.idle != nil
	})
	g.Leave()
	g.Active()
	if err := await.Receive(t, "the end of the wait", done); err != nil {
		t.Error(err)
	}
}

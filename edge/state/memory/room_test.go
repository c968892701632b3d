package memory

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// What one session keeps is bounded as a whole (invariant 7): finished streams make room, and a call
// that finds none is refused until others end.
func TestInvariant7SessionBytes(t *testing.T) {
	const kib = 1 << 10
	m := New(state.Limits{SessionBytes: 64 * kib, StreamsPerSession: 4})
	defer m.Close()
	r, ctx := m.Replica("r"), t.Context()
	if err := r.Create(ctx, &state.Session{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	begin := func(n int) (state.Lease, error) {
		leases, err := r.Begin(ctx, "s", fmt.Sprintf("st%d", n), []state.Call{{
			ID: fmt.Sprintf("c%d", n), RequestID: fmt.Sprint(n), Params: make([]byte, 8*kib), Deadline: time.Now().Add(time.Hour),
		}})
		if err != nil {
			return state.Lease{}, err
		}
		return leases[0], nil
	}
	finish := func(l state.Lease) {
		t.Helper()
		if err := r.Finish(ctx, state.Write{Lease: l, N: 1}, []byte(strings.Repeat("x", 20*kib))); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 10 {
		l, err := begin(n)
		if err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		finish(l)
	}
	// The last response came when its call's 8 KiB were still kept.
	if n := m.Stats().Streams; n != 2 {
		t.Errorf("%d finished streams of 20 KiB are kept, want the 2 youngest", n)
	}
	if _, err := r.Read(ctx, "s", state.Position{Stream: "st0"}, 0); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("the oldest stream: %v, want it gone", err)
	}
	if page, err := r.Read(ctx, "s", state.Position{Stream: "st9"}, 0); err != nil || len(page.Entries) != 1 {
		t.Errorf("the youngest stream: %v, %v, want its response", page, err)
	}

	// Calls that run are not forgotten: they fill the session until one is refused.
	m2 := New(state.Limits{SessionBytes: 20 * kib})
	defer m2.Close()
	r = m2.Replica("r")
	if err := r.Create(ctx, &state.Session{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	first, err := begin(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := begin(2); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(3); !errors.Is(err, state.ErrLimit) {
		t.Fatalf("a third call of 8 KiB: %v, want ErrLimit", err)
	}
	for n := range uint64(8) {
		e := state.Entry{Kind: state.EntryLog, Data: make([]byte, kib)}
		if err := r.Append(ctx, state.Write{Lease: first, N: n + 1}, e); err != nil {
			t.Fatal(err)
		}
	}
	if d := m2.Stats().Dropped; d != 4 {
		t.Errorf("%d log messages were dropped, want the 4 that did not fit", d)
	}
	if err := r.Finish(ctx, state.Write{Lease: first, N: 9}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(3); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}

package memory

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
)

// What a session keeps is charged to its creator, and released with the session.
func TestSessionsAreCharged(t *testing.T) {
	b := budget.New(1 << 30)
	m := New(state.Limits{}, WithBudget(b))
	defer m.Close()
	r := m.Store("r", medium.Hooks{})
	from := netip.MustParseAddr("192.0.2.1")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	held := func(what string, sessions, logs int64) {
		t.Helper()
		if s, l := b.UsedFor(budget.Sessions), b.UsedFor(budget.Logs); s != sessions || l != logs {
			t.Errorf("%s: %d bytes of sessions and %d of logs are held; want %d and %d", what, s, l, sessions, logs)
		}
		if used := b.Holder("", "", from).Used(); used != sessions+logs {
			t.Errorf("%s: the address is charged with %d bytes", what, used)
		}
	}
	stored := func() int64 {
		t.Helper()
		rec, err := r.Load(t.Context(), "s", true)
		must(err)
		return sessionBytes + int64(rec.Bytes())
	}
	rec := &state.Session{ID: "s", Address: from, ClientInfo: make([]byte, 1000)}
	must(r.Create(t.Context(), rec))
	created := stored()
	if created < sessionBytes+1000 {
		t.Fatalf("a record counts %d bytes", created)
	}
	held("created", created, 0)
	_, err := r.Update(t.Context(), "s", state.Patch{Subscribe: "file:///1"})
	must(err)
	subscribed := stored()
	if subscribed < created+9 {
		t.Fatalf("a record counts %d bytes with a subscription, %d without", subscribed, created)
	}
	held("subscribed", subscribed, 0)
	calls := []state.Request{{ID: "c", RequestID: "1", Method: mcp.MethodToolsCall, Params: make([]byte, 5000)}}
	w, err := statetest.Begin(t.Context(), r, "s", "one", calls...)
	must(err)
	begun := streamBytes + int64(calls[0].Bytes())
	held("begun", subscribed, begun)
	must(w[0].Ask(t.Context(), nil, state.Ask{ID: "a", Message: make([]byte, 100)}))
	held("parked", subscribed, begun+100)
	must(statetest.Conclude(t.Context(), r, "s", "two", state.Request{ID: "d", RequestID: "2"}, make([]byte, 7000)))
	held("concluded", subscribed, begun+100+streamBytes+7000)
	must(r.Delete(t.Context(), "s"))
	held("deleted", 0, 0)
	if used, holders := b.Used(); used != 0 || holders != 0 {
		t.Errorf("%d bytes of %d holders are left", used, holders)
	}
}

// Before a holder is refused, ended streams of its sessions are dropped, unless they have readers;
// other holders' streams stay.
func TestEndedStreamsMakeRoom(t *testing.T) {
	b := budget.New(100 << 10)
	m := New(state.Limits{}, WithBudget(b))
	defer m.Close()
	r := m.Store("r", medium.Hooks{})
	conclude := func(session, stream string) {
		t.Helper()
		if err := statetest.Conclude(t.Context(), r, session, stream, state.Request{ID: stream, RequestID: "1"}, make([]byte, 10<<10)); err != nil {
			t.Fatal(err)
		}
	}
	for _, who := range []string{"hog", "other"} {
		if err := r.Create(t.Context(), &state.Session{ID: who, Principal: mcp.Principal{Subject: who}}); err != nil {
			t.Fatal(err)
		}
	}
	conclude("other", "others")
	for _, stream := range []string{"a", "b", "c", "d", "e", "read"} {
		conclude("hog", stream)
	}
	defer r.Follow("hog", "read", func() {})()
	piece, err := b.Holder("", "hog", netip.Addr{}).Reserve(budget.Requests, 20<<10)
	if err != nil {
		t.Fatalf("no room was made: %v", err)
	}
	defer piece.Release()
	for _, s := range []struct {
		session, stream string
		there           bool
	}{{"hog", "a", false}, {"hog", "e", false}, {"hog", "read", true}, {"other", "others", true}} {
		if _, err := r.Read(t.Context(), s.session, s.stream, medium.Position{}, 0); (err == nil) != s.there {
			t.Errorf("stream %s: %v, want it there: %t", s.stream, err, s.there)
		}
	}
}

// Where what has ended is still wanted, as tasks are, it stays, and who holds too much is refused.
func TestEndedStreamsStay(t *testing.T) {
	b := budget.New(100 << 10)
	m := New(state.Limits{}, WithCharges(b))
	defer m.Close()
	r := m.Store("r", medium.Hooks{})
	for i := range 6 {
		task := fmt.Sprint("task", i)
		if err := r.Create(t.Context(), &state.Session{ID: task, Principal: mcp.Principal{Subject: "hog"}}); err != nil {
			t.Fatal(err)
		}
		if err := statetest.Conclude(t.Context(), r, task, "t", state.Request{ID: task, RequestID: "1"}, make([]byte, 10<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Holder("", "hog", netip.Addr{}).Reserve(budget.Requests, 40<<10); err == nil {
		t.Error("who holds nearly all was given more")
	}
	for i := range 6 {
		if _, err := r.Read(t.Context(), fmt.Sprint("task", i), "t", medium.Position{}, 0); err != nil {
			t.Errorf("task %d: %v", i, err)
		}
	}
}

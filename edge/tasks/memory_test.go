package tasks

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// TestReadingATaskIsCharged: the data that a request reads of a task is charged to its memory.
// Without room in the budget the request waits, and is refused if it ends before there is room.
func TestReadingATaskIsCharged(t *testing.T) {
	const size = 1 << 20
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["large"] = tool{atOnce, true, func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			return result(strings.Repeat("x", size)), nil
		}}
		memory := budget.New(16 << 20)
		r := w.replica(func(o *Options) { o.Memory = memory })
		id := r.begin("large", "")
		await.Until(t, "the task to end", func() bool { return r.get(id)["status"] == string(Completed) })
		for name, c := range map[string]struct {
			rules  *revision.Rules
			method mcp.Method
			params string
		}{
			"get":    {modern, mcp.MethodTasksGet, about(id)},
			"result": {legacy, mcp.MethodTasksResult, about(id)},
			"update": {modern, mcp.MethodTasksUpdate, about(id) + `,"inputResponses":{}`},
			"cancel": {modern, mcp.MethodTasksCancel, about(id)},
		} {
			ask := func(ctx context.Context) (*budget.Reservation, error) {
				call := requestOf(t, c.rules, "alice", c.method, c.params)
				held := mcp.HolderOf(memory, call.Principal, netip.Addr{}).Begin()
				call.Memory = &held
				_, err := r.Call(ctx, c.rules, call, nil)
				return &held, err
			}
			held, err := ask(t.Context())
			if n := memory.UsedFor(budget.Results); err != nil || n < size {
				t.Errorf("%s: %v, %d bytes are charged", name, err, n)
			}
			held.Release()

			others := memory.Holder("test", "bob", netip.Addr{}).Begin()
			others.Force(budget.Results, 16<<20)
			// It has to have come to the budget when it ends, for which a machine under load needs longer.
			for within := 20 * time.Millisecond; ; within *= 4 {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				held, err = ask(ctx)
				cancel()
				held.Release()
				if err == nil || mcp.AsError(err).Kind == mcp.KindOverloaded || within > await.Patience {
					break
				}
			}
			if err == nil || mcp.AsError(err).Kind != mcp.KindOverloaded {
				t.Errorf("%s without room: %v", name, err)
			}
			answered := make(chan error, 1)
			go func() {
				held, err := ask(t.Context())
				held.Release()
				answered <- err
			}()
			others.Release()
			if err := await.Receive(t, name+" to be answered", answered); err != nil {
				t.Errorf("%s once there is room: %v", name, err)
			}
			if n := memory.UsedFor(budget.Results); n != 0 {
				t.Errorf("%s: %d bytes stay charged", name, n)
			}
		}
		feed, err := r.Changes(t.Context(), "", mcp.Principal{Subject: "alice", Issuer: "test"}, mcp.Filter{Tasks: []string{id}})
		if err != nil {
			t.Fatal(err)
		}
		if changes, err := feed.Next(t.Context(), time.Minute); len(changes) != 1 || err != nil || memory.UsedFor(budget.Results) < size {
			t.Errorf("a subscriber: %d changes, %v, %d bytes are charged", len(changes), err, memory.UsedFor(budget.Results))
		}
		feed.Close()
		if n := memory.UsedFor(budget.Results); n != 0 {
			t.Errorf("a subscriber that has left: %d bytes stay charged", n)
		}
	})
}

// TestTasksAreTakenAFewAtATime: a subscriber to many large tasks gets them one after another.
func TestTasksAreTakenAFewAtATime(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["large"] = tool{atOnce, true, func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			return result(strings.Repeat("x", largeTake)), nil
		}}
		r := w.replica()
		var ids []string
		for range 3 {
			ids = append(ids, r.begin("large", ""))
		}
		for _, id := range ids {
			await.Until(t, "the task to end", func() bool { return r.get(id)["status"] == string(Completed) })
		}
		feed, err := r.Changes(t.Context(), "", mcp.Principal{Subject: "alice", Issuer: "test"}, mcp.Filter{Tasks: ids})
		if err != nil {
			t.Fatal(err)
		}
		defer feed.Close()
		for range ids {
			changes, err := feed.Next(t.Context(), time.Minute)
			if len(changes) != 1 || err != nil {
				t.Errorf("%d changes at a time, %v", len(changes), err)
			}
		}
	})
}

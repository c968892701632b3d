package tasks

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// as sends a request of alice by one of her clients, with scopes.
func (r *replica) as(rules *revision.Rules, client, scope string, m mcp.Method, params string) (map[string]any, error) {
	r.w.t.Helper()
	c := requestOf(r.w.t, rules, "alice", m, params)
	c.Principal.Client, c.Principal.Scopes = client, []string{scope}
	reply, err := r.Call(r.w.t.Context(), rules, c, nil)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.Unmarshal(reply.Result, &out); err != nil {
		r.w.t.Fatalf("%v: %s", err, reply.Result)
	}
	return out, nil
}

// scoped denies requests without the scope admin, and counts the recorded decisions.
func scoped(recorded *atomic.Int64) func(*mcp.Call, *mcp.TaskCall) (bool, error) {
	return func(c *mcp.Call, task *mcp.TaskCall) (bool, error) {
		if !task.Unrecorded {
			recorded.Add(1)
		}
		if c.Principal.Scopes[0] == "admin" {
			return false, nil
		}
		return false, mcp.Errorf(mcp.KindForbidden, "the tool %s needs the scope admin", task.Tool)
	}
}

// TestDecidedLikeCalls: a client without the rights to a task's tool cannot see, answer or cancel
// its user's tasks. The client that made the task can always see that it exists, and cancel it.
func TestDecidedLikeCalls(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["ask"] = asking()
		var recorded atomic.Int64
		w.backend.decide = scoped(&recorded)
		r := w.replica()
		made, err := r.as(modern, "console", "admin", mcp.MethodToolsCall, `"name":"ask","arguments":{"secret":"s"}`)
		if err != nil {
			t.Fatal(err)
		}
		id := made["taskId"].(string)
		var task map[string]any
		for task["status"] != string(InputRequired) {
			if task, err = r.as(modern, "console", "admin", mcp.MethodTasksGet, about(id)); err != nil {
				t.Fatal(err)
			}
		}
		before := recorded.Load()
		answer := about(id) + `,"inputResponses":{"name.1":{"action":"accept","content":{"name":"x"}}}`
		n := int64(0)
		for _, x := range []struct {
			rules  *revision.Rules
			m      mcp.Method
			params string
		}{
			{modern, mcp.MethodTasksGet, about(id)}, {legacy, mcp.MethodTasksGet, about(id)},
			{modern, mcp.MethodTasksUpdate, answer}, {legacy, mcp.MethodTasksResult, about(id)},
			{modern, mcp.MethodTasksCancel, about(id)}, {legacy, mcp.MethodTasksCancel, about(id)},
		} {
			if got, err := r.as(x.rules, "reader", "read", x.m, x.params); kindOf(err) != mcp.KindForbidden {
				t.Errorf("%s %s of a client without the scope: %v, %v", x.rules.Version, x.m, got, err)
			}
			if n++; recorded.Load() != before+n {
				t.Errorf("%s is not recorded", x.m)
			}
		}
		if got, err := r.as(legacy, "reader", "read", mcp.MethodTasksList, ""); err != nil || len(got["tasks"].([]any)) != 0 {
			t.Errorf("its list: %v, %v", got, err)
		}
		w.feeds(t, r, id)
		w.creators(t, r, id, answer)
	})
}

// feeds subscribes to a task with and without the rights.
func (w *world) feeds(t *testing.T, r *replica, id string) {
	for scope, want := range map[string]int{"read": 0, "admin": 1} {
		p := mcp.Principal{Subject: "alice", Issuer: "test", Client: "reader", Scopes: []string{scope}}
		f, err := r.Changes(t.Context(), "", p, mcp.Filter{Tasks: []string{id}})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Honoured().Tasks; len(got) != want {
			t.Errorf("with the scope %s a subscription honours %v", scope, got)
		}
		if want == 1 {
			p.Scopes = []string{"read"}
			if err := f.SetPrincipal(t.Context(), p); err != nil {
				t.Error(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if got, err := f.Next(ctx, 50*time.Millisecond); err != nil || len(got) != 0 {
				t.Errorf("a subscriber that has lost its rights gets %v, %v", got, err)
			}
			cancel()
		}
		f.Close()
	}
}

// creators sends the requests of a task's creator without the rights to its tool.
func (w *world) creators(t *testing.T, r *replica, id, answer string) {
	if got, err := r.as(legacy, "console", "read", mcp.MethodTasksGet, about(id)); err != nil || got["status"] != string(InputRequired) || got["statusMessage"] != nil {
		t.Errorf("tasks/get of the creator: %v, %v", got, err)
	}
	if got, err := r.as(legacy, "console", "read", mcp.MethodTasksList, ""); err != nil || len(got["tasks"].([]any)) != 1 {
		t.Errorf("tasks/list of the creator: %v, %v", got, err)
	}
	for rules, m := range map[*revision.Rules]mcp.Method{modern: mcp.MethodTasksUpdate, legacy: mcp.MethodTasksResult} {
		if got, err := r.as(rules, "console", "read", m, answer); kindOf(err) != mcp.KindForbidden {
			t.Errorf("%s of the creator: %v, %v", m, got, err)
		}
	}
	if got, err := r.as(modern, "console", "read", mcp.MethodTasksCancel, about(id)); err != nil || got["resultType"] != "complete" {
		t.Errorf("tasks/cancel of the creator: %v, %v", got, err)
	}
	if got, err := r.as(modern, "console", "read", mcp.MethodTasksGet, about(id)); err != nil || got["status"] != string(Cancelled) {
		t.Errorf("afterwards: %v, %v", got, err)
	}
}

// TestDecidedNow: a policy applies to existing tasks. A hidden task is unknown to all clients but
// its creator. The decision uses the stored arguments.
func TestDecidedNow(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, true)
		r := w.replica()
		id, other := r.begin("gate", "a"), r.begin("gate", "b")
		close(w.backend.gate("a"))
		close(w.backend.gate("b"))
		r.awaits(id, Completed)
		r.awaits(other, Completed)
		w.backend.decide = func(_ *mcp.Call, task *mcp.TaskCall) (bool, error) {
			raw, err := task.Arguments()
			if name, _ := jsonString(raw, "name"); err != nil || name != "a" {
				return false, err
			}
			return true, mcp.Errorf(mcp.KindForbidden, "hidden")
		}
		for _, x := range []struct {
			rules  *revision.Rules
			m      mcp.Method
			client string
			want   mcp.Kind
		}{
			{modern, mcp.MethodTasksGet, "reader", mcp.KindInvalidParams}, {legacy, mcp.MethodTasksResult, "reader", mcp.KindInvalidParams},
			{modern, mcp.MethodTasksCancel, "reader", mcp.KindInvalidParams},
			{modern, mcp.MethodTasksGet, "", mcp.KindForbidden}, {legacy, mcp.MethodTasksResult, "", mcp.KindForbidden}, {modern, mcp.MethodTasksCancel, "", mcp.KindNone},
		} {
			if got, err := r.as(x.rules, x.client, "read", x.m, about(id)); kindOf(err) != x.want {
				t.Errorf("%s of the client %q: %v, %v; want %v", x.m, x.client, got, err, x.want)
			}
		}
		if got, err := r.as(modern, "reader", "read", mcp.MethodTasksGet, about(other)); err != nil || text(got) != "passed b" {
			t.Errorf("a task with other arguments: %v, %v", got, err)
		}
		if got, err := r.as(legacy, "reader", "read", mcp.MethodTasksList, ""); err != nil || len(got["tasks"].([]any)) != 1 {
			t.Errorf("the list: %v, %v", got, err)
		}
	})
}

package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// outcomes is an auditor that stores the outcomes of tasks of all replicas.
type outcomes struct {
	mu   sync.Mutex
	seen []string
}

func (o *outcomes) Ended(a *telemetry.Audited, outcome string, code int, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, fmt.Sprint(a.Principal.Subject, " ", a.Method, " ", a.Target, " ", a.Backend, " ", outcome, " ", code, " ", a.Task, " ", took > 0 && a.Call != "" && a.Round == 0, attempts(a)))
}

// attempts returns a text with the attempt of an outcome, if it is not the first.
func attempts(a *telemetry.Audited) string {
	if a.Attempt > 1 {
		return fmt.Sprint(" attempt ", a.Attempt)
	}
	return ""
}

func (*outcomes) Foreign(context.Context, *mcp.Principal, *telemetry.Audited) error { return nil }

func (o *outcomes) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.seen)
}

// observing makes a replica report to an auditor.
func observing(t *testing.T, a telemetry.Auditor) func(*Options) {
	tel, err := telemetry.New(t.Context(), telemetry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	tel.Audit(a)
	return func(o *Options) { o.Telemetry = tel }
}

// TestOneOutcome: the outcome of each task is recorded once, by the replica that ended it:
// completed, failed, timed out, unknown since its replica was lost, or cancelled where it ran, on
// another replica, or in the queue. No outcome is recorded for a call that did not become a task.
func TestOneOutcome(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, true)
		w.backend.tools["unsafe"] = w.backend.gated(atOnce, false)
		w.backend.tools["later"] = w.backend.gated(later, false)
		w.backend.tools["ask"] = asking()
		w.backend.tools["wrong"] = tool{atOnce, true, func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			return mcp.Reply{Result: json.RawMessage(`{"content":[],"isError":true}`), ToolError: true}, nil
		}}
		w.backend.tools["fails"] = tool{atOnce, true, func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			return mcp.Reply{}, mcp.Errorf(mcp.KindContract, "no")
		}}
		var audit outcomes
		seen := observing(t, &audit)
		a, b := w.replica(seen), w.replica(seen)
		var want []string
		wants := func(id, tool, outcome string, code int, attempt ...int) {
			of := append(attempt, 1)[0]
			want = append(want, fmt.Sprint("alice tools/call ", tool, " b ", outcome, " ", code, " ", telemetry.SessionPrint(id), " true", attempts(&telemetry.Audited{Attempt: of})))
		}
		for _, tool := range []string{"gate", "later"} {
			close(w.backend.gate("soon " + tool))
		}
		if got := a.must(modern, "alice", mcp.MethodToolsCall, `"name":"later","arguments":{"name":"soon later"}`); got["resultType"] != "complete" {
			t.Errorf("got %v", got)
		}
		id := a.begin("gate", "soon gate")
		a.awaits(id, Completed)
		wants(id, "gate", "ok", 0)
		id = a.begin("later", "late")
		close(w.backend.gate("late"))
		a.awaits(id, Completed)
		wants(id, "later", "ok", 0)
		id = a.begin("wrong", "")
		a.awaits(id, Completed)
		wants(id, "wrong", "tool_error", 0)
		id = a.begin("fails", "")
		a.awaits(id, Failed)
		wants(id, "fails", mcp.KindContract.String(), modern.Code(mcp.KindContract))

		for i, r := range []*replica{a, b} { // cancelled on the replica that runs it, and on the other
			id = a.begin("gate", fmt.Sprint("cancelled", i))
			r.must(modern, "alice", mcp.MethodTasksCancel, about(id))
			wants(id, "gate", "cancelled", modern.Code(mcp.KindCancelled))
		}
		id = a.begin("ask", "")
		a.awaits(id, InputRequired)
		b.must(modern, "alice", mcp.MethodTasksCancel, about(id))
		wants(id, "ask", "cancelled", modern.Code(mcp.KindCancelled))

		brief := w.replica(seen, func(o *Options) { o.Lifetime = time.Second })
		id = brief.begin("ask", "")
		b.awaits(id, Failed)
		wants(id, "ask", "timeout", modern.Code(mcp.KindTimeout))

		lost, unsafe := a.begin("gate", "lost"), a.begin("unsafe", "lost")
		for _, one := range []string{lost, unsafe} {
			await.Until(t, "the backend to run", func() bool { return a.get(one)["statusMessage"] == "waiting for lost" })
		}
		a.cut.off.Store(true)
		b.awaits(unsafe, Failed)
		wants(unsafe, "unsafe", "unknown_outcome", modern.Code(mcp.KindUnknownOutcome), 2)
		close(w.backend.gate("lost"))
		b.awaits(lost, Completed)
		wants(lost, "gate", "ok", 0, 2)
		a.back()
		await.Until(t, "the first replica to have heard of its losses", func() bool { return a.calls.Driver(lost) == nil && a.calls.Driver(unsafe) == nil })

		await.Until(t, "all outcomes", func() bool { return len(audit.all()) >= len(want) })
		got := audit.all()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("recorded:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

package tasks

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// cancelOutcomes is an auditor that stores the recorded cancellers of tasks.
type cancelOutcomes struct {
	mu   sync.Mutex
	seen []mcp.Principal
}

func (o *cancelOutcomes) Ended(a *telemetry.Audited, outcome string, _ int, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if outcome == "cancelled" && a.Task != "" {
		o.seen = append(o.seen, a.Principal)
	}
}

func (*cancelOutcomes) Foreign(context.Context, *mcp.Principal, *telemetry.Audited) error { return nil }

func (o *cancelOutcomes) all() []mcp.Principal {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen
}

// expects waits for the n-th outcome of a cancelled task and compares its canceller.
func (o *cancelOutcomes) expects(t *testing.T, n int, want mcp.Principal) {
	t.Helper()
	await.Until(t, "the outcome", func() bool { return len(o.all()) >= n })
	got := o.all()[n-1]
	if !got.Is(&want) || got.Client != want.Client || got.TokenID != want.TokenID {
		t.Errorf("the outcome names %+v, want %+v", got, want)
	}
}

// waits begins a task of alice that runs, or waits for an answer, until it is cancelled.
func (r *replica) waits(t *testing.T, tool string) (id string) {
	t.Helper()
	id = r.begin(tool, "never")
	await.Until(t, "the task to run or to ask", func() bool {
		got := r.get(id)
		return got["statusMessage"] != nil || got["status"] == string(InputRequired)
	})
	return id
}

var (
	alicesConsole = mcp.Principal{Subject: "alice", Issuer: "test", Client: "console"}
	operator      = mcp.Principal{Subject: "olivia", Issuer: "ops", Client: "admin", TokenID: "0123"}
)

// TestCancellerIsRecorded: the outcome of a cancelled task names its canceller, a client of its
// principal or an operator. That holds on either replica, for running and waiting tasks, if the
// owner ends the task because its record cannot be claimed, and if the end is visible before it is
// recorded.
func TestCancellerIsRecorded(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"], w.backend.tools["ask"] = w.backend.gated(atOnce, true), asking()
		var audit cancelOutcomes
		seen := observing(t, &audit)
		a, b := w.replica(seen), w.replica(seen)
		n := 0
		for _, tool := range []string{"gate", "ask"} {
			for _, r := range []*replica{a, b} {
				id := a.waits(t, tool)
				if _, err := r.as(modern, "console", "read", mcp.MethodTasksCancel, about(id)); err != nil {
					t.Fatal(err)
				}
				n++
				audit.expects(t, n, alicesConsole)
				if _, err := r.Revoke(t.Context(), a.waits(t, tool), operator); err != nil {
					t.Fatal(err)
				}
				n++
				audit.expects(t, n, operator)
			}
		}

		id := a.waits(t, "gate")
		b.cut.claimless.Store(true)
		if _, err := b.as(modern, "console", "read", mcp.MethodTasksCancel, about(id)); err != nil {
			t.Fatal(err)
		}
		b.cut.claimless.Store(false)
		n++
		audit.expects(t, n, alicesConsole)

		id = a.waits(t, "gate")
		seenEnd := make(chan struct{})
		a.cut.written.Store(ptr(func() { <-seenEnd }))
		_, err := a.as(modern, "console", "read", mcp.MethodTasksCancel, about(id))
		close(seenEnd)
		if err != nil {
			t.Fatal(err)
		}
		n++
		audit.expects(t, n, alicesConsole)
	})
}

// TestCancellerOutlivesItsReplica: a replica that claimed a cancelled task is lost. Another replica
// ends the task and records the canceller.
func TestCancellerOutlivesItsReplica(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["ask"] = asking()
		var audit cancelOutcomes
		seen := observing(t, &audit)
		a, b := w.replica(seen), w.replica(seen)
		id := a.waits(t, "ask")
		a.Close()
		b.cut.dies.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		asked := make(chan struct{})
		go func() {
			defer close(asked)
			_, _ = b.Revoke(ctx, id, operator) // This replica never sees the end.
		}()
		await.Until(t, "the claim", b.cut.off.Load)
		w.replica(seen) // This replica did not exist when the event was sent.
		audit.expects(t, 1, operator)
		cancel()
		<-asked
	})
}

func ptr[T any](v T) *T { return &v }

package simulation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// longOutage is longer than replicas try again on behalf of clients.
const longOutage = 30 * time.Second

// when does something once a condition holds.
func (w *world) when(holds func() bool, do func()) {
	w.at(time.Millisecond, 55, func() {
		if holds() {
			do()
			return
		}
		w.when(holds, do)
	})
}

// Clients and approvers outlast an absence of the store that comes while they act: what they want is done in the end, well within the
// lifetime of the call.
func TestClientsArePatient(t *testing.T) {
	asking := []round{{last: 50 * time.Millisecond, end: call.Asks, asks: 1}, {last: time.Millisecond, end: call.Final}}
	approval := []round{{last: 50 * time.Millisecond, end: call.Asks, asks: 1, approval: time.Hour}, asking[1]}
	for name, c := range map[string]struct {
		kind  kind
		rules string
		plan  []round
		// acts says whether the history has come to where the store leaves.
		acts func(w *world) bool
	}{
		"approval":            {ofTasks, "2026-07-28", approval, func(w *world) bool { return len(w.tasks[0].approvals) > 0 }},
		"tasks/update":        {ofTasks, "2026-07-28", asking, func(w *world) bool { return len(w.tasks[0].given) > 0 }},
		"tasks/result":        {ofTasks, "2025-11-25", asking, func(w *world) bool { return len(w.tasks[0].given) > 0 }},
		"tasks/cancel":        {ofTasks, "2026-07-28", approval, cancelsWaiting},
		"answer in a session": {ofCalls, "", asking, func(w *world) bool { return len(w.requests[0].given) > 0 }},
		"answer in a batch":   {ofBatches, "", asking, func(w *world) bool { return len(w.requests[0].given) > 0 }},
	} {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			history := rapid.Custom(func(rt *rapid.T) *world {
				return playAs(t, rt, c.kind, noBug, true, func(w *world) {
					w.patient(c.rules, c.plan)
					w.when(func() bool { return c.acts(w) }, func() {
						w.outages++
						w.logf("the store is away")
						w.away(longOutage)
					})
				})
			})
			for seed := range 10 {
				w := history.Example(seed)
				wrong := w.wrong()
				for _, k := range w.tasks {
					if want := map[bool]string{true: "cancelled", false: "completed"}[k.cancelled]; k.status != want {
						wrong += fmt.Sprintf("\nthe task is %q, want %q", k.status, want)
					}
				}
				if wrong != "" || w.outages != 1 {
					t.Errorf("seed %d, %d outages: %s\n%s", seed, w.outages, wrong, strings.Join(w.trace, "\n"))
				}
			}
		})
	}
}

// cancelsWaiting cancels the first task once it waits for an approval.
func cancelsWaiting(w *world) bool {
	k := w.tasks[0]
	if k.task != "" && len(k.approvals) > 0 {
		k.cancel()
	}
	return k.cancelled
}

// patient has two replicas, and a client of one task, or of the calls of one exchange, with a plan.
func (w *world) patient(rules string, plan []round) {
	w.boot(0)
	w.boot(1)
	first := request{w: w, id: "k0", given: map[string]*given{}, plan: plan}
	if w.kind == ofTasks {
		k := &taskClient{request: first, support: mcp.TaskSupport{Optional: true, AtOnce: true}, answering: map[string]bool{}, approvals: map[string]bool{}}
		if k.rules = revision.Negotiate(rules); rules == "2026-07-28" {
			k.rules = revision.Stateless()
		}
		w.tasks = append(w.tasks, k)
		w.at(time.Second, 50, k.create)
		return
	}
	x := &exchange{w: w, id: "x0", session: sessions[0], primes: true}
	for i := range 1 + int(w.kind) {
		c := first
		c.x, c.id, c.given = x, fmt.Sprint("c", i), map[string]*given{}
		x.calls, w.requests = append(x.calls, &c), append(w.requests, &c)
	}
	w.exchanges = append(w.exchanges, x)
	w.at(time.Second, 50, x.send)
}

package telemetry

import (
	"context"
	"slices"
	"sync"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// maxTrials bounds the trials that are counted, each with a series of its own.
const maxTrials = 1024

// trials counts trials. The zero value has counted none.
type trials struct {
	mu sync.Mutex
	of map[mcp.Trial]int64
}

// RecordTrial records what a setting in audit mode would have done with the request that is served with ctx: it counts the trial and
// adds it to the request's records in the audit, to each of them once. A record that was written before does not have it.
func (t *Telemetry) RecordTrial(ctx context.Context, trial mcp.Trial) {
	if t == nil {
		return
	}
	t.trials.count(trial)
	if a := AuditedRequest(ctx); a != nil {
		a.add(trial)
	}
}

func (t *trials) count(trial mcp.Trial) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[mcp.Trial]int64{}
	}
	if _, counted := t.of[trial]; counted || len(t.of) < maxTrials {
		t.of[trial]++
	}
}

func (t *trials) observe(emit Emit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for trial, n := range t.of {
		emit(float64(n), AttrTrialBy.String(trial.By), AttrRule.String(trial.Rule), AttrTrialEffect.String(trial.Effect))
	}
}

// add adds a trial to what is recorded of the request.
func (a *Audited) add(trial mcp.Trial) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.would, trial) {
		a.would = append(a.would, trial)
	}
}

// CollectTrials returns a context whose trials AddTrials adds to another request.
func CollectTrials(ctx context.Context) context.Context {
	return context.WithValue(ctx, auditedKey{}, &Audited{})
}

// AddTrials adds the trials of the request that is served with ctx, or of a context of CollectTrials.
func (a *Audited) AddTrials(ctx context.Context) {
	if from := AuditedRequest(ctx); from != nil {
		for _, trial := range from.Trials() {
			a.add(trial)
		}
	}
}

// Trials returns what settings in audit mode would have done with the request so far. The caller owns the result.
func (a *Audited) Trials() []mcp.Trial {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.would)
}

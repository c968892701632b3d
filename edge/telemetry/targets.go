package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// otherTarget stands for targets beyond maxTargets.
const otherTarget = "other"

// maxTargets bounds the tools of a backend, and its prompts, with their own series in metrics. The
// first that are called get one. A backend chooses the names and their number.
const maxTargets = 200

// target is a tool or prompt of a backend.
type target struct {
	backend string
	method  mcp.Method
	name    string
}

// targets are the targets with their own series. The zero value is ready to use. It is safe for
// concurrent use; a known target needs no lock.
type targets struct {
	known atomic.Pointer[map[target]bool]
	mu    sync.Mutex // guards adding a target
	// counts is the number of names by backend and method, with an empty name.
	counts map[target]int
}

// bounded returns a target's name in metrics: its own, or otherTarget beyond maxTargets of its
// backend or maxSeries in all.
func (t *targets) bounded(of target) string {
	if known := t.known.Load(); known != nil && (*known)[of] {
		return of.name
	}
	return t.add(of)
}

func (t *targets) add(of target) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kind := target{backend: of.backend, method: of.method}
	known := t.known.Load()
	switch {
	case known != nil && (*known)[of]:
		return of.name
	case t.counts[kind] >= maxTargets, known != nil && len(*known) >= maxSeries:
		return otherTarget
	}
	after := map[target]bool{of: true}
	if known != nil {
		maps.Copy(after, *known)
	} else {
		t.counts = map[target]int{}
	}
	t.counts[kind]++
	t.known.Store(&after)
	return of.name
}

package backend

import (
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// State is the state of a backend's connection and lists.
type State uint8

// The states of a backend.
const (
	// Connecting means that it was not reached yet, or that the connection was just lost.
	Connecting State = iota
	// Ready means that it is connected, and its lists were read.
	Ready
	// Down means that it cannot be reached, or does not answer correctly. It is retried without
	// end.
	Down
)

// String names the state in lower case.
func (s State) String() string {
	switch s {
	case Ready:
		return "ready"
	case Down:
		return "down"
	default:
		return "connecting"
	}
}

// Status is a snapshot of a backend for operators.
type Status struct {
	Name, Target string
	State        State
	// Since is when the state was entered.
	Since time.Time
	// LastError is the current or the last error; empty if there was none, or if the backend is
	// ready again.
	LastError string
	// Progress describes how much of the target's description an adapter has read, such as "learned
	// 31 of 59 files". It is empty when the adapter is not reading.
	Progress string
	// Loaded is when all lists were last read without an error; zero means never.
	Loaded time.Time
	// Present is set by the catalog. It is false if clients see nothing of the backend.
	Present bool
	// Problems are, as one sentence each, the violations of the contract in the current lists, the
	// lists that cannot be read, and the reason for which nothing is served.
	Problems []string
	// Calls is the number of running calls, and Watches that of open resource watches.
	Calls, Watches int
}

// Status returns a snapshot. Safe for concurrent use.
func (b *Backend) Status() Status {
	b.watchMu.Lock()
	watches := len(b.watches)
	b.watchMu.Unlock()
	b.statusMu.Lock()
	defer b.statusMu.Unlock()
	s := b.status
	s.Problems = slices.Clone(s.Problems)
	s.Name, s.Target = b.cfg.Name, b.cfg.Target
	s.Present, s.Progress = b.Catalog().Present, b.progress()
	s.Calls, s.Watches = int(b.calls.Load()), watches
	return s
}

// setState records a state and an error. Ready without an error clears the last error. A change of
// state is logged once.
func (b *Backend) setState(s State, err error) {
	b.statusMu.Lock()
	before, since := b.status.State, b.status.Since
	switch {
	case err != nil:
		b.status.LastError = mcp.ClipText(err.Error())
	case s == Ready:
		b.status.LastError = ""
	}
	if before != s {
		b.status.State, b.status.Since = s, time.Now()
	}
	b.statusMu.Unlock()
	if before == s {
		return
	}
	switch s {
	case Ready:
		b.log.Info("backend is ready", "target", b.cfg.Target)
	case Down:
		b.log.Warn("backend is down; retrying until it answers", "target", b.cfg.Target, "error", clip(err))
	default:
		b.log.Debug("backend connection lost", "target", b.cfg.Target, "up", time.Since(since))
	}
}

// setProblems replaces the problems. empty is why clients see nothing of the backend, "" if they
// see something. It logs new problems, except for failures, which were logged when they occurred.
func (b *Backend) setProblems(breaches, failures []string, empty string) {
	problems := slices.Concat(breaches, failures)
	for i := range problems {
		problems[i] = mcp.ClipText(problems[i])
	}
	if empty != "" {
		problems = append(problems, empty)
	}
	b.statusMu.Lock()
	before := b.status.Problems
	b.status.Problems = problems
	b.statusMu.Unlock()
	if empty != "" && !slices.Contains(before, empty) {
		b.log.Warn("backend is reachable, but clients see none of its objects", "problem", empty)
	}
	for _, p := range problems[:len(breaches)] {
		if !slices.Contains(before, p) {
			b.log.Warn("backend breaks the contract", "problem", p)
		}
	}
}

// markLoaded records that all lists were read.
func (b *Backend) markLoaded() {
	b.statusMu.Lock()
	b.status.Loaded = time.Now()
	b.statusMu.Unlock()
}

// clip returns the text of an error, shortened for logs; nil for nil.
func clip(err error) any {
	if err == nil {
		return nil
	}
	return mcp.ClipText(err.Error())
}

func (b *Backend) state() State {
	b.statusMu.Lock()
	defer b.statusMu.Unlock()
	return b.status.State
}

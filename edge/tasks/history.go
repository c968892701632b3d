package tasks

import (
	"context"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// History is a task with the part of its log that describes its life: its runs and questions, and
// the status messages that were not dropped.
type History struct {
	Report
	// Client is the client's name for itself; may be empty.
	Client string
	// Trace is the span of the request that made the task, as a W3C traceparent; may be empty. All
	// runs are in its trace.
	Trace string
	// Runs are ordered by their start, and Steps as recorded.
	Runs  []Run
	Steps []Step
}

// Over reports whether the task has ended.
func (h *History) Over() bool {
	return h.Status != Working && h.Status != InputRequired
}

// Attempt returns the attempt of the current or last round; 0 means unknown.
func (h *History) Attempt() int {
	if len(h.Runs) == 0 {
		return 0
	}
	return h.Runs[len(h.Runs)-1].Attempt
}

// Run is the work of one replica on a task under one epoch: one round, and the following rounds
// that did not ask the client.
type Run struct {
	// Replica is the replica's name; empty if unknown, as for runs of previous releases.
	Replica string
	Epoch   medium.Epoch
	// Round and Attempt are those at its start; 0 means unknown.
	Round, Attempt int
	// Began is the start of the run, or of its wait if it was queued. Ended is zero until it ends.
	// If its replica was lost, Ended is when another replica continued.
	Began, Ended time.Time
	End          RunEnd

	lapses int
}

// RunEnd is the way in which a run ended.
type RunEnd string

// The ends of a run.
const (
	// RunQueued means that the run has not begun and waits for its turn. RunGoesOn means that it
	// has not ended.
	RunQueued RunEnd = "queued"
	RunActive RunEnd = ""
	// RunAsked means that the run waited for answers of the client.
	RunAsked RunEnd = "asked"
	// RunLost means that the run's replica was lost. RunHandedOver means that its replica left and
	// another one continued. RunTakenOver means either, between two rounds.
	RunLost       RunEnd = "lost"
	RunHandedOver RunEnd = "handed_over"
	RunTakenOver  RunEnd = "taken_over"
	// RunCompleted, RunFailed and RunCancelled are the ends of the task.
	RunCompleted RunEnd = "completed"
	RunFailed    RunEnd = "failed"
	RunCancelled RunEnd = "cancelled"
)

// Step is a status message of a task, or a question to its client.
type Step struct {
	At time.Time
	// Text is the message, or the text of a question. It may be empty.
	Text string
	// Key and Method are those of a question. Waits is true while it has no answer.
	Key    string
	Method mcp.Method
	Waits  bool
}

// history reads a task of any principal. The errors are those of Inspect.
func (t *Tasks) history(ctx context.Context, id string) (*History, error) {
	h := new(History)
	v, err := t.find(ctx, id, h.take)
	if err != nil {
		return nil, err
	}
	h.Report, h.Trace = *v.report(), v.trace
	if name, ok := jsonrpc.Member(v.ClientInfo, "name"); ok {
		h.Client, _ = jsonrpc.Unquote(name)
	}
	for i := range h.Steps {
		s := &h.Steps[i]
		s.Waits = s.Key != "" && slices.ContainsFunc(v.asks, func(q entry) bool { return q.Key == s.Key })
	}
	return h, nil
}

// take adds an entry of the log to the history.
func (h *History) take(x *medium.Entry, e *entry) {
	h.takeRun(x, e)
	switch x.Kind {
	case state.EntryLog:
		if e.Message != "" {
			h.Steps = append(h.Steps, Step{At: e.At, Text: e.Message})
		}
	case state.EntryRequest:
		s := Step{At: e.At, Key: e.Key, Method: e.Method}
		if text, ok := jsonrpc.Member(e.Params, "message"); ok {
			s.Text, _ = jsonrpc.Unquote(text)
		}
		h.Steps = append(h.Steps, s)
	}
}

func (h *History) takeRun(x *medium.Entry, e *entry) {
	last := h.last()
	if other := last == nil || last.Epoch != x.Epoch; e.Run != nil {
		if other {
			h.succeed(e.Run, e.At)
			h.Runs = append(h.Runs, Run{Epoch: x.Epoch})
			last = h.last()
		}
		last.Replica, last.Round, last.Attempt, last.lapses = e.Run.Replica, e.Run.Round, e.Run.Attempt, e.Run.Lapses
		last.Began, last.End = e.At, RunActive
		if e.Run.Queued {
			last.End = RunQueued
		}
	} else if other && x.Kind != state.EntryResponse { // The release does not record runs, or the entry was dropped.
		h.succeed(nil, e.At)
		h.Runs = append(h.Runs, Run{Epoch: x.Epoch, Began: e.At})
		last = h.last()
	} else if !other && last.End == RunQueued { // The run has begun; the entry with the time was dropped.
		last.End = RunActive
	}
	switch {
	case last == nil || last.End != RunActive && last.End != RunQueued:
	case x.Kind == state.EntryRequest:
		last.End, last.Ended = RunAsked, e.At
	case x.Kind == state.EntryResponse:
		last.End, last.Ended = h.endOf(x.Epoch == last.Epoch, e), e.At
	}
}

// endOf returns the way in which the last run of an ended task ended. own is true if the run
// recorded the end itself.
func (h *History) endOf(own bool, e *entry) RunEnd {
	switch {
	case e.Cancelled:
		return RunCancelled
	case !own:
		return RunLost
	case e.Failure != nil:
		return RunFailed
	}
	return RunCompleted
}

// succeed ends the last run, if it has not ended, because another one begins. It removes a run that
// was only queued. A nil next means that the next run is otherwise unknown.
func (h *History) succeed(next *claim, at time.Time) {
	last := h.last()
	if last == nil || last.End != RunActive && last.End != RunQueued {
		return
	}
	if last.End == RunQueued && next != nil && next.Round == 1 && next.Attempt == 1 {
		h.Runs = h.Runs[:len(h.Runs)-1]
		return
	}
	last.Ended, last.End = at, RunTakenOver
	switch {
	case next == nil || last.Attempt == 0:
	case next.Attempt > last.Attempt && next.Lapses > last.lapses, next.Attempt <= last.Attempt && next.Lapses > 0:
		last.End = RunLost
	case next.Attempt > 1: // The replica gave up the lease during the round.
		last.End = RunHandedOver
	}
}

func (h *History) last() *Run {
	if len(h.Runs) == 0 {
		return nil
	}
	return &h.Runs[len(h.Runs)-1]
}

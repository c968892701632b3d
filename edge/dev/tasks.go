package dev

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/tasks"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Tasks returns the tasks that this replica was involved in, latest first. tasks.Tasks implements
// it.
type Tasks interface {
	Recent(ctx context.Context) []*tasks.History
}

// taskPace is the minimum interval between two reads of the tasks, for all pages together.
const taskPace = 500 * time.Millisecond

// board caches the tasks for all pages. It is safe for concurrent use.
type board struct {
	from    Tasks // nil means no tasks
	replica string

	mu   sync.Mutex
	read time.Time
	all  []*tasks.History
}

// tasks returns the tasks. It reads them unless the cache is recent.
func (b *board) tasks(ctx context.Context) []*tasks.History {
	if b.from == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.read) >= taskPace {
		b.all = b.from.Recent(ctx)
		b.read = time.Now()
	}
	return b.all
}

// taskPrefix is the prefix of task ids in the list of calls.
const taskPrefix = "task-"

// summaryOf returns a task as an entry of the list.
func summaryOf(h *tasks.History, now time.Time) summary {
	out := summary{
		ID: taskPrefix + h.ID, Task: h.ID, Target: h.Tool, Client: h.Client, Version: h.Version,
		Start: h.Created.UnixMicro(), Outcome: string(h.Status), Rounds: max(len(h.Runs), 1), Attempt: h.Attempt(),
		Running: h.Status == tasks.Working,
	}
	end := now
	if h.Over() {
		end = h.Updated
	}
	out.Duration = micros(max(end.Sub(h.Created), 0))
	if out.Failed = h.Status == tasks.Failed || h.ToolError; h.Status == tasks.Failed {
		out.Error = h.Message
	} else if h.ToolError {
		out.Outcome = "tool_error"
	}
	for _, r := range h.Runs {
		out.TakenOver = out.TakenOver || r.End == tasks.RunLost || r.End == tasks.RunHandedOver || r.End == tasks.RunTakenOver
	}
	return out
}

// taskDetail is a task with its runs, status messages and questions.
type taskDetail struct {
	Call summary `json:"call"`
	// Trace is the trace of its runs. Empty means none.
	Trace string     `json:"trace,omitempty"`
	Runs  []taskRun  `json:"runs"`
	Steps []taskStep `json:"steps"`
}

// taskRun is one run of a task. Times are in microseconds since 1970. Ended is 0 while it runs.
type taskRun struct {
	Replica string `json:"replica,omitempty"`
	// Here is true if the run was on this replica.
	Here bool `json:"here,omitempty"`
	// Owner counts the ownerships of the task so far. A replica that owned it twice counts twice.
	Owner   uint64 `json:"owner"`
	Round   int    `json:"round,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Began   int64  `json:"began"`
	Ended   int64  `json:"ended,omitempty"`
	// End is a tasks.RunEnd.
	End tasks.RunEnd `json:"end,omitempty"`
	// Call is the id of the call that has its spans. Empty means that they are not stored here.
	Call string `json:"call,omitempty"`
}

// taskStep is a status message or, if Key is set, a question.
type taskStep struct {
	At     int64  `json:"at"`
	Text   string `json:"text,omitempty"`
	Key    string `json:"key,omitempty"`
	Method string `json:"method,omitempty"`
	Waits  bool   `json:"waits,omitempty"`
}

func (b *board) detail(h *tasks.History, p *picture, now time.Time, shown func(string) string) taskDetail {
	out := taskDetail{Call: summaryOf(h, now), Runs: []taskRun{}, Steps: []taskStep{}}
	origin := telemetry.ParseParent(h.Trace)
	if origin.IsValid() {
		out.Trace = origin.TraceID().String()
	}
	spans := p.spansOf(key{origin.TraceID(), origin.SpanID()})
	for _, r := range h.Runs {
		one := taskRun{
			Replica: shown(r.Replica), Here: r.Replica == b.replica, Owner: r.Epoch.Counter(), Round: r.Round, Attempt: r.Attempt,
			Began: r.Began.UnixMicro(), End: r.End,
		}
		if !r.Ended.IsZero() {
			one.Ended = r.Ended.UnixMicro()
		}
		if one.Here {
			one.Call = spans.of(&r)
		}
		out.Runs = append(out.Runs, one)
	}
	for _, s := range h.Steps {
		out.Steps = append(out.Steps, taskStep{At: s.At.UnixMicro(), Text: shown(s.Text), Key: shown(s.Key), Method: string(s.Method), Waits: s.Waits})
	}
	return out
}

// runSpans holds the stored spans of a task: that of the request that made it, and those of its
// runs, sorted by start.
type runSpans struct {
	made *span // nil if not stored
	runs []*span
}

// spansOf returns the spans of the task that a request made.
func (p *picture) spansOf(made key) (out runSpans) {
	out.made = p.spans[made]
	for _, c := range p.calls {
		for _, op := range c.ops {
			for i := range op.links {
				if op.links[i].to == made && get(op.links[i].attrs, telemetry.AttrReason) != string(telemetry.ReasonHTTP) {
					out.runs = append(out.runs, op)
				}
			}
		}
	}
	sortByStart(out.runs)
	return out
}

// of returns the id of the first span of a run on this replica, or "" if none is stored. Span and
// run are compared by this replica's clock. A call that became a task began in the span of its
// request.
func (s runSpans) of(r *tasks.Run) string {
	for _, op := range s.runs {
		if !op.start.Before(r.Began) && (r.Ended.IsZero() || !op.start.After(r.Ended)) {
			return op.key.String()
		}
	}
	if s.made != nil && r.Epoch.Counter() == 1 && r.End != tasks.RunQueued {
		return s.made.key.String()
	}
	return ""
}

// task serves one task.
func (h *handler) task(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.PathValue("id"), taskPrefix)
	for _, one := range h.board.tasks(r.Context()) {
		if one.ID == id {
			h.answer(w, h.board.detail(one, arrange(h.store.snapshot()), time.Now(), h.store.o.shown()))
			return
		}
	}
	http.Error(w, "no task "+strconv.Quote(clip(id))+" is stored here: it has expired, or newer tasks have replaced it", http.StatusNotFound)
}

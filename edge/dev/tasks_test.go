package dev

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/tasks"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// recently returns tasks, and counts the reads.
type recently struct {
	all   []*tasks.History
	asked int
}

func (r *recently) Recent(context.Context) []*tasks.History {
	r.asked++
	return r.all
}

// A run on this replica links to the first of its spans, one elsewhere to none, and all to their
// trace.
func TestRunsLeadToTheirSpans(t *testing.T) {
	s := NewStore(Options{})
	tr := tracer(t, s, "mcpedge", telemetry.Scope)
	t0 := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ms := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Millisecond) }
	_, made := operation(t.Context(), tr, "report", 1, at(0))
	made.End(at(10))
	first, second := "", ""
	for _, run := range []struct {
		began int
		why   telemetry.Reason
		id    *string
	}{{5, telemetry.ReasonContinued, &first}, {40, telemetry.ReasonContinued, new(string)}, {200, telemetry.ReasonAnswered, &second}} {
		_, op := operation(t.Context(), tr, "report", 1, at(run.began), because(run.why, made))
		*run.id = key{op.SpanContext().TraceID(), op.SpanContext().SpanID()}.String()
		op.End(at(run.began + 10))
	}
	epoch := medium.Epoch(0).Next(1)
	h := &tasks.History{
		Report: tasks.Report{ID: "ID", Tool: "report", Status: tasks.Completed, Created: ms(1), Updated: ms(300)},
		Trace:  telemetry.FormatParent(made.SpanContext()), Client: "c",
		Runs: []tasks.Run{
			{Replica: "here", Epoch: epoch, Round: 1, Attempt: 1, Began: ms(4), Ended: ms(60), End: tasks.RunAsked},
			{Replica: "there", Epoch: epoch.Next(1), Round: 2, Attempt: 1, Began: ms(100), Ended: ms(150), End: tasks.RunLost},
			{Replica: "here", Epoch: epoch.Next(1).Next(1), Round: 2, Attempt: 2, Began: ms(199), Ended: ms(300), End: tasks.RunCompleted},
		},
		Steps: []tasks.Step{{At: ms(50), Key: "name.1", Method: mcp.MethodElicit, Text: strings.Repeat("x", maxValue+1)}},
	}
	from := &recently{all: []*tasks.History{h}}
	server := serveTasks(t, s, from)
	var list listing
	fetch(t, server, "/dev/calls", http.StatusOK, &list)
	var row summary
	for _, c := range list.Calls {
		if c.Task == "ID" {
			row = c
		}
	}
	if row.ID != "task-ID" || row.Rounds != 3 || row.Attempt != 2 || !row.TakenOver || row.Outcome != "completed" || row.Duration != 299e3 {
		t.Errorf("the row is %+v", row)
	}
	var detail taskDetail
	fetch(t, server, "/dev/tasks/"+row.ID, http.StatusOK, &detail)
	if len(detail.Runs) != 3 || detail.Runs[0].Call != first || detail.Runs[1].Call != "" || detail.Runs[2].Call != second || detail.Trace != made.SpanContext().TraceID().String() {
		t.Errorf("the runs are %+v in trace %s, want those of %s and %s", detail.Runs, detail.Trace, first, second)
	}
	if n := len(detail.Steps[0].Text); n > maxValue+100 {
		t.Errorf("a question of %d bytes is shown whole", n)
	}
	var call waterfall
	fetch(t, server, "/dev/calls/"+second, http.StatusOK, &call)
	if from.asked != 1 {
		t.Errorf("tasks were read %d times at once, want once", from.asked)
	}
	fetch(t, server, "/dev/tasks/task-other", http.StatusNotFound, nil)
	// A call that became a task began in the span of its request.
	deferred := *h
	deferred.Runs = []tasks.Run{{Replica: "here", Epoch: epoch, Began: ms(61), Ended: ms(90)}}
	b := &board{replica: "here"}
	if got := b.detail(&deferred, arrange(s.snapshot()), ms(400), clip).Runs[0].Call; !strings.HasSuffix(got, made.SpanContext().SpanID().String()) {
		t.Errorf("the run of a call that became a task is in %q, want the span of its request", got)
	}
}

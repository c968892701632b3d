package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/tasks"
)

// grace is how long a call runs before it becomes a task.
const grace = 500 * time.Millisecond

// bootTasks begins the stage of tasks of a replica, on a medium of its own.
func (r *replica) bootTasks() {
	r.tasks = tasks.New(&dispatcher{r: r}, func(h medium.Hooks) medium.Store {
		r.returning, h.Returning = h.Returning, nil
		event := h.Event
		h.Event = func(e state.SessionEvent) { r.hears(func() { event(e) }) }
		r.wire = newWire(r, h)
		return r.wire
	}, tasks.Options{
		Grace: grace, Lifetime: r.w.lifetime, Polls: 1 << 20, PageSize: 2, MaxAttempts: r.w.config.MaxAttempts, Heartbeat: heartbeat,
		Approvable: func(_ *mcp.Principal, a *mcp.Approval) ([][]byte, error) { return a.Digests, nil },
		Logger:     slog.New(slog.DiscardHandler), Random: r.random, Text: func() string { return fmt.Sprintf("-%d-%d", r.id, r.random()) },
	})
	r.engine = r.tasks
}

// hears takes an event of another replica, late, or never.
func (r *replica) hears(do func()) {
	if !(r.w.lossy && r.w.maybe(2)) {
		r.after(r.w.delay(), opNotify, do)
	}
}

// caller is the key of the number of a client's request in the context of what is done for it.
type caller struct{}

// callerOf is that number; 0 if something is done for no request.
func callerOf(ctx context.Context) uint64 {
	n, _ := ctx.Value(caller{}).(uint64)
	return n
}

// serveAt has a replica serve something about a task. done gets the reply, unless the replica dies.
func serveAt[T any](ctx context.Context, r *replica, k *taskClient, serve func(context.Context, *tasks.Tasks) (T, error), done func(T, error)) {
	k.w.seq++
	n := uint64(k.w.seq) // #nosec G115 -- not negative
	ctx = context.WithValue(ctx, caller{}, n)
	r.spawn(func() {
		reply, err := serve(ctx, r.tasks)
		r.arrive(arrival{what: taskReplies, name: k.id, n: n, do: func() {
			r.after(r.w.delay(), taskReplies, func() { done(reply, err) })
		}})
	})
}

// dispatcher is the stage behind that of tasks: a tool for each client, named as it is.
type dispatcher struct {
	tasks.Dispatcher
	r *replica
}

// Resolve implements era.Dispatcher.
func (d *dispatcher) Resolve(_ context.Context, _ *revision.Rules, c *mcp.Call) (*mcp.Target, error) {
	k := d.r.w.taskOf(c.Params.Target)
	return &mcp.Target{Backend: "b", Known: true, Tasks: k.support, Repeatable: k.safe}, nil
}

// PermitTask implements tasks.Dispatcher.
func (d *dispatcher) PermitTask(context.Context, *revision.Rules, *mcp.Call, *mcp.TaskCall) (bool, error) {
	return false, nil
}

// CancelCall implements tasks.Dispatcher.
func (d *dispatcher) CancelCall(_ context.Context, _ *revision.Rules, c *mcp.Call) error {
	k, kept := d.r.w.taskOf(c.Params.Target), string(c.State)
	d.r.arrive(arrival{what: backendCancels, name: k.id, do: func() {
		if by := k.jobs.claimed; d.r.w.bugs(jobLeftBehind) && by != nil && by != d.r {
			return
		}
		d.r.w.logf("r%d has the job of %s cancelled: %q", d.r.id, k.id, kept)
		d.r.w.judge.cancels(k, kept)
	}})
	return nil
}

// Call implements era.Dispatcher: it runs a round.
func (d *dispatcher) Call(ctx context.Context, _ *revision.Rules, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
	k := d.r.w.taskOf(c.Params.Target)
	b := &backendRun{r: d.r, c: &k.request, progresses: func(v float64, text []byte) {
		params, _ := json.Marshal(map[string]any{"progress": v, "message": string(text)})
		_ = sink.Emit(ctx, mcp.Event{Method: mcp.NotifyProgress, Progress: v, Params: params})
	}, checkpoints: sink.(mcp.Checkpointer).Checkpoint}
	sink.(mcp.Binder).Bind("b")
	u := taskRunOf(c)
	end, ok := b.run(ctx, uint64(u.round)<<16+uint64(u.attempt), u) // #nosec G115 -- small
	if !ok {
		return mcp.Reply{}, context.Cause(ctx)
	}
	switch end.kind {
	case call.Final:
		text, _ := json.Marshal(string(end.result))
		return mcp.Reply{Result: fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, text)}, nil
	case call.Busy:
		return mcp.Reply{Input: &mcp.InputRequired{State: end.state, RetryAfter: end.pause, Repeatable: end.repeatable}}, nil
	}
	in := &mcp.InputRequired{State: end.state, Repeatable: end.repeatable}
	if end.approval > 0 {
		id := end.asks[0]
		in.Requests = []mcp.InputRequest{{Key: id, Method: mcp.MethodApprove, Params: approvalOf(id, c, end.approval)}}
		d.r.arrive(arrival{what: backendAsks, name: id, do: func() { k.waitsForApproval(id, end.approval) }})
		return mcp.Reply{Input: in}, nil
	}
	for _, id := range end.asks {
		q := mcp.InputRequest{Key: id, Method: mcp.MethodElicit, Params: json.RawMessage(`{"mode":"form","message":"?"}`)}
		in.Requests = append(in.Requests, q)
	}
	return mcp.Reply{Input: in}, nil
}

// taskRunOf is the run of a round of a task: its state says which.
func taskRunOf(c *mcp.Call) *run {
	u, text, of := &run{round: 1, attempt: c.Attempt}, string(c.State), 0
	var answers []string
	for _, r := range c.Responses {
		answers = append(answers, answerIn(r.Result))
	}
	u.answers = strings.Join(answers, ", ")
	if _, err := fmt.Sscanf(text, "after round %d", &of); err == nil {
		u.round = of + 1
	} else if _, err := fmt.Sscanf(text, "checkpoint %d of round %d", &of, &u.round); err == nil {
		u.resumes(text)
	}
	return u
}

// answerIn is the text of a client's answer to a question of a task, and answerOf the answer.
func answerIn(result json.RawMessage) string {
	var a struct{ Text string }
	if verdict := verdictIn(result); verdict != "" {
		return verdict
	}
	_ = json.Unmarshal(result, &a)
	return a.Text
}

func answerOf(text string) json.RawMessage {
	raw, _ := json.Marshal(map[string]string{"text": text})
	return raw
}

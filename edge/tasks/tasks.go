package tasks

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Dispatcher is the stage behind this one.
type Dispatcher interface {
	era.Dispatcher
	// PermitTask decides on a request that names a task: whether its caller may call the task's
	// tool now. The error is a *mcp.Error; hidden means that the request must be answered as if the
	// task did not exist.
	PermitTask(ctx context.Context, rules *revision.Rules, call *mcp.Call, task *mcp.TaskCall) (hidden bool, err error)
	// CancelCall notifies the backend of a call that the call was cancelled between two rounds;
	// State is that of the last round.
	CancelCall(ctx context.Context, rules *revision.Rules, call *mcp.Call) error
}

// Tasks is the stage between the eras, whose Dispatcher it is, and the next one. Safe for
// concurrent use.
type Tasks struct {
	next  Dispatcher
	o     Options
	store medium.Store
	calls *runtime.Replica
	// work counts the work of this replica: requests about tasks, tasks, and their goroutines.
	work     runtime.InFlight
	turns    turns
	polls    quota.Memory
	counters Counters
	running  atomic.Int64
	// cancellers has the last canceller of each task by the task's id, until this replica has recorded
	// the end of the task, or evicts it: the task may end elsewhere, or never.
	cancellers *lru.Cache[string, *mcp.Principal]
	// recent is nil if no tasks are kept.
	recent *recent
	// expiries end the waits of tasks for approvals that this replica asked for.
	expiries expiries
}

var _ era.Dispatcher = (*Tasks)(nil)

// New makes the stage before a Dispatcher, on the store that open returns. The store may call the
// hooks from then on. It must be used for tasks alone: each of its sessions is a task. The caller
// owns the store, and must close it after Close. Start begins the background work.
func New(d Dispatcher, open func(medium.Hooks) medium.Store, o Options) *Tasks {
	t := &Tasks{next: d, o: o.withDefaults(), expiries: expiries{timers: map[string]*time.Timer{}}}
	t.turns.init(t.o.MaxRunning, t.o.MaxRunningPerPrincipal)
	t.cancellers, _ = lru.New[string, *mcp.Principal](maxCancellers) // the only error is that of a size below 1
	if t.o.Recent > 0 {
		t.recent, _ = lru.New[string, *atomic.Pointer[History]](t.o.Recent)
	}
	t.calls = runtime.New(open, runtime.Options{
		Call:   &call.Config{MaxAttempts: t.o.MaxAttempts, Render: t.render, Cancelled: cancelled, Claimed: t.claimed, Brief: briefOf},
		Resume: t.resume, Begin: t.begin, IdleBetweenRounds: true, Number: renamed, Counters: &t.counters.Counters, Work: &t.work, Event: t.onEvent,
		StreamAfter: t.o.Grace, Lifetime: t.o.Lifetime, Heartbeat: t.o.Heartbeat, MaxRounds: t.o.MaxRounds, Telemetry: t.o.Telemetry,
		Log: t.o.Logger, Store: "tasks", Random: t.o.Random, About: logAttrs, Name: func() string { return stream },
	})
	t.store = t.calls.Store()
	return t
}

// Start begins the heartbeats of this replica and the takeover of lost tasks. It must be called
// once.
func (t *Tasks) Start() { t.calls.Start() }

// Counters returns the live counters.
func (t *Tasks) Counters() *Counters { return &t.counters }

// Running returns the number of tasks, and calls that may become one, whose backend this replica
// calls now.
func (t *Tasks) Running() int64 { return t.running.Load() }

// Queued returns the number of tasks that wait for their turn to run here.
func (t *Tasks) Queued() int {
	n, _ := t.turns.queued()
	return n
}

// QueueAge returns the longest time that a task has waited for its turn to run here; 0 if no task
// waits.
func (t *Tasks) QueueAge() time.Duration {
	_, began := t.turns.queued()
	return since(began)
}

// Age returns the age of the oldest task that this replica runs; 0 if it runs none.
func (t *Tasks) Age() time.Duration {
	ids := t.calls.IDs()
	if len(ids) == 0 {
		return 0
	}
	return since(createdAt(slices.Min(ids)))
}

func since(at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return max(time.Since(at), 0)
}

// Drain leaves tasks to other replicas: it stops the takeover of lost tasks, and waits until no
// task runs here whose run must not be lost, and the store has the ends of those that ran. If ctx ends
// first, it returns ctx's error. A run may be lost if it can be run again: the next replica does so.
// Call Close afterwards.
func (t *Tasks) Drain(ctx context.Context) error {
	t.calls.Drain()
	return t.work.WaitBusy(ctx)
}

// Unended returns the number of tasks whose run here must not be lost, or whose last step the store has not
// acknowledged.
func (t *Tasks) Unended() int { return t.calls.Unsettled() }

// Close cancels the remaining runs, and leaves them to other replicas. It returns when all
// goroutines have ended. It may be called more than once.
func (t *Tasks) Close() {
	t.work.Close()
	t.turns.close()
	t.calls.Close()
}

// Resolve implements era.Dispatcher. A request about tasks has no target to resolve.
func (t *Tasks) Resolve(ctx context.Context, rules *revision.Rules, c *mcp.Call) (*mcp.Target, error) {
	if !aboutTasks(rules, c) {
		return t.next.Resolve(ctx, rules, c)
	}
	return &mcp.Target{Repeatable: c.Method.Repeatable()}, t.challenge(ctx, rules, c)
}

// Call implements era.Dispatcher.
func (t *Tasks) Call(ctx context.Context, rules *revision.Rules, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
	switch {
	case c.Method == mcp.MethodToolsCall, c.Params.Wrapped != nil: // which is tools/call of a tool of the edge
		return t.callTool(ctx, rules, c, sink)
	case aboutTasks(rules, c):
		return t.admit(ctx, rules, c)
	}
	return t.next.Call(ctx, rules, c, sink)
}

// aboutTasks reports whether a request is one about tasks that the revision has, and that the
// caller may make.
func aboutTasks(rules *revision.Rules, c *mcp.Call) bool {
	switch c.Method {
	case mcp.MethodTasksGet, mcp.MethodTasksCancel:
		return rules.Stateless || rules.Tasks
	case mcp.MethodTasksUpdate:
		return rules.Stateless
	case mcp.MethodTasksResult:
		return rules.Tasks
	case mcp.MethodTasksList:
		return rules.Tasks && !c.Principal.Anonymous()
	}
	return false
}

// admit serves a request about tasks, unless the client exceeds its rate.
func (t *Tasks) admit(ctx context.Context, rules *revision.Rules, c *mcp.Call) (mcp.Reply, error) {
	if rules.Stateless && !c.Client.Capabilities.Extension(mcp.ExtensionTasks) {
		return mcp.Reply{}, era.TasksUndeclared(string(c.Method))
	}
	if !c.Params.HasTarget && c.Method != mcp.MethodTasksList {
		return mcp.Reply{}, mcp.Errorf(mcp.KindInvalidParams, "params.taskId is missing or not a string: name the task")
	}
	if !t.work.Enter() {
		return mcp.Reply{}, mcp.ShuttingDown()
	}
	defer t.work.Leave()
	if err := t.admitPoll(ctx, c); err != nil {
		return mcp.Reply{}, err
	}
	reply, err := t.serve(ctx, rules, c)
	if err == nil && c.Method != mcp.MethodTasksList {
		t.noteRecent(c.Params.Target)
	}
	return reply, err
}

// serve serves a request about tasks that was admitted.
func (t *Tasks) serve(ctx context.Context, rules *revision.Rules, c *mcp.Call) (mcp.Reply, error) {
	if c.Method == mcp.MethodTasksList {
		return t.list(ctx, rules, c)
	}
	v, err := t.load(ctx, c.Memory, c.Params.Target, &c.Principal)
	if err != nil {
		return mcp.Reply{}, err
	}
	what := useRequest
	switch c.Method {
	case mcp.MethodTasksGet:
		return t.get(ctx, rules, c, v)
	case mcp.MethodTasksCancel:
		what = useCancel
	}
	if err := t.permit(ctx, rules, c, v, what); err != nil {
		return mcp.Reply{}, err
	}
	switch c.Method {
	case mcp.MethodTasksUpdate:
		return t.update(ctx, rules, c, v)
	case mcp.MethodTasksCancel:
		return t.cancel(ctx, rules, c, v)
	}
	return t.result(ctx, rules, c, v)
}

package capability

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// TaskMode says which calls of a tool become tasks: calls that their clients need not hold a connection for. The handler serves a task as any
// other call: its progress is the task's status, its questions are the task's, and its context ends when the task is cancelled.
type TaskMode = mcpedgev1.TaskMode

// The modes. A tool without one has no tasks.
const (
	// TaskOptional: the calls of clients that can have tasks; others are answered when they end.
	TaskOptional = mcpedgev1.TaskMode_TASK_MODE_OPTIONAL
	// TaskRequired: all calls. The edge refuses those of clients that cannot have tasks.
	TaskRequired = mcpedgev1.TaskMode_TASK_MODE_REQUIRED
)

// TaskStart says when a call becomes a task that may, where its client does not choose.
type TaskStart = mcpedgev1.TaskStart

// When a call becomes a task.
const (
	// TaskAtOnce: before the handler runs. It is what TaskRequired means by itself.
	TaskAtOnce = mcpedgev1.TaskStart_TASK_START_AT_ONCE
	// TaskDeferred: when the handler has run for a while, two seconds by default, or calls Defer. A call that has ended before is answered with
	// its result, and questions before are answered first, without a task. It is what TaskOptional means by itself.
	TaskDeferred = mcpedgev1.TaskStart_TASK_START_DEFERRED
)

// Tasks says which calls of the tool become tasks. MCP: `execution.taskSupport`.
func Tasks(mode TaskMode) ToolOption {
	return func(t *Tool) { taskSupport(t).Mode = mode }
}

// TasksStart says when they do; without it the mode says so.
func TasksStart(start TaskStart) ToolOption {
	return func(t *Tool) { taskSupport(t).Start = start }
}

// TasksPoll is how often clients should ask for a task of the tool: 100 ms to 1 h. Without it the edge chooses. MCP: `pollIntervalMs`.
func TasksPoll(interval time.Duration) ToolOption {
	return func(t *Tool) { taskSupport(t).PollInterval = durationpb.New(interval) }
}

func taskSupport(t *Tool) *mcpedgev1.TaskSupport {
	if t.TaskSupport == nil {
		t.TaskSupport = &mcpedgev1.TaskSupport{}
	}
	return t.TaskSupport
}

// TaskID is the id of the task that the call is; false: it is none, or none yet. Whoever knows the id and is the same caller may read the
// task.
func (c *Call) TaskID() (string, bool) {
	id := c.rc.GetTask().GetId()
	return id, id != ""
}

// Defer makes the call a task now, if it may become one and is none yet; else it does nothing. A tool calls it when it finds that there is
// much to do. From then on the call is not ended by its client's leaving.
func (c *Call) Defer() {
	task := c.rc.GetTask()
	sender, ok := c.send.(interface{ sendDefer() error })
	if task == nil || task.GetId() != "" || !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over && !c.deferred {
		c.deferred = true
		_ = sender.sendDefer() // a lost client shows in ctx
	}
}

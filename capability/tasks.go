package capability

import (
	"context"
	"slices"
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

// Checkpoint says that the handler can go on from here: should the replica of the edge that runs the call be lost, the handler runs again from its top, with
// this state in State, and with the answers that it has. So a handler begins with
//
//	from := decode(c.State())
//
// and a tool need not be idempotent as a whole, only from one checkpoint to the next. It matters for calls that have a record: tasks, and calls of sessions
// with a stream. The state and the answers are bounded to 64 KiB, beyond which it is an error and changes nothing. The slice is kept, not copied. With an edge
// that takes no checkpoints it does nothing.
func (c *Call) Checkpoint(state []byte) error {
	sender, ok := c.send.(interface {
		sendCheckpoint(state []byte) error
	})
	if !ok || !c.rc.GetCheckpoints() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.answers.kept)
	for _, r := range c.answers.latest {
		if !slices.ContainsFunc(all, func(o *InputResponse) bool { return o.GetKey() == r.GetKey() }) {
			all = append(all, r)
		}
	}
	memory, err := memoryOf(all, state)
	if err != nil || c.over {
		return err
	}
	c.state = state
	_ = sender.sendCheckpoint(memory) // a lost client shows in ctx
	return nil
}

// OnCancel has a function called when a task of the named tool was cancelled between two rounds, with the Call's State and ID as they were, so that a
// job behind it can be ended. A round that runs sees its context end instead. It may not come. It replaces an earlier one; nil: none.
func (s *Server) OnCancel(tool string, fn func(ctx context.Context, c *Call) error) {
	s.cancels.Store(tool, fn)
}

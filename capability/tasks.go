package capability

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// TaskMode selects which calls of a tool become tasks. A task outlives its request: the client
// polls it instead of keeping a connection. The handler serves a task as any other call: its
// progress becomes the task's status, its questions become the task's, and its context ends if the
// task is cancelled.
type TaskMode = mcpedgev1.TaskMode

// The task modes. A tool without a mode has no tasks.
const (
	// TaskOptional makes tasks of the calls of clients that support tasks. Other clients wait for
	// the result.
	TaskOptional = mcpedgev1.TaskMode_TASK_MODE_OPTIONAL
	// TaskRequired makes tasks of all calls. The edge rejects calls of clients without support for
	// tasks.
	TaskRequired = mcpedgev1.TaskMode_TASK_MODE_REQUIRED
)

// TaskStart selects when a call becomes a task if the client does not choose.
type TaskStart = mcpedgev1.TaskStart

// The task starts.
const (
	// TaskAtOnce makes a task before the handler runs. It is the default of TaskRequired.
	TaskAtOnce = mcpedgev1.TaskStart_TASK_START_AT_ONCE
	// TaskDeferred makes a task when the handler calls Defer, or has run for a time set by the
	// edge, two seconds by default. A call that ends before is answered with its result, and
	// questions before are asked without a task. It is the default of TaskOptional.
	TaskDeferred = mcpedgev1.TaskStart_TASK_START_DEFERRED
)

// Tasks sets which calls of the tool become tasks. MCP: `execution.taskSupport`.
func Tasks(mode TaskMode) ToolOption {
	return func(t *toolConfig) { taskSupport(t).Mode = mode }
}

// TasksStart sets when a call becomes a task. The default depends on the mode.
func TasksStart(start TaskStart) ToolOption {
	return func(t *toolConfig) { taskSupport(t).Start = start }
}

// TasksPoll sets the interval at which clients should poll a task of the tool: 100 ms to 1 h. By
// default the edge chooses. MCP: `pollIntervalMs`.
func TasksPoll(interval time.Duration) ToolOption {
	return func(t *toolConfig) { taskSupport(t).PollInterval = durationpb.New(interval) }
}

func taskSupport(t *toolConfig) *mcpedgev1.TaskSupport {
	if t.TaskSupport == nil {
		t.TaskSupport = &mcpedgev1.TaskSupport{}
	}
	return t.TaskSupport
}

// TaskID returns the id of the call's task. It returns false if the call is not a task, or not yet.
// Only the same principal can read the task with that id.
func (c *Call) TaskID() (string, bool) {
	id := c.rc.GetTask().GetId()
	return id, id != ""
}

// Defer makes the call a task now. It does nothing if the call is a task or cannot become one. A
// tool calls it when it learns that the work is long. From then on, the call continues when the
// client disconnects.
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
		_ = sender.sendDefer() // a disconnected client cancels ctx
	}
}

// Checkpoint stores state from which the handler can resume. If the edge's replica that runs the
// call fails, the handler runs again from its top: State returns this state, and questions that
// were answered return their answers. A handler that uses it begins with
//
//	from := decode(c.State())
//
// The tool then need not be idempotent as a whole, only from one checkpoint to the next.
//
// Checkpoints matter for calls that have a record in the edge: tasks, and calls of sessions with a
// stream. State and answers together are limited to 64 KiB; above it, Checkpoint returns an error
// and changes nothing. The slice is kept, not copied. Checkpoint does nothing if the edge takes no
// checkpoints.
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
	_ = sender.sendCheckpoint(memory) // a disconnected client cancels ctx
	return nil
}

// OnCancel sets the function that is called if a task of the named tool is cancelled between two
// rounds, so that it can end a job of the task. The Call has the State and the ID of the task. A
// round that is running sees its context end instead. The call of fn is not guaranteed. OnCancel
// replaces an earlier function; nil removes it.
func (s *Server) OnCancel(tool string, fn func(ctx context.Context, c *Call) error) {
	s.cancels.Store(tool, fn)
}

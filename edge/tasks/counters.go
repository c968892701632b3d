package tasks

import (
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/call/runtime"
)

// Counters count events since the stage was made, for operators. They may be read at any time.
type Counters struct {
	runtime.Counters
	// Created counts requests that were answered with a task.
	Created atomic.Int64
	// Unacknowledged counts creations of tasks that too few copies of the medium acknowledged in
	// time. A call that may become a task may count several times.
	Unacknowledged atomic.Int64
	// AnswersUnknown counts answers that match no waiting question.
	AnswersUnknown atomic.Int64
	// Completed, Failed and Cancelled count the tasks that ended here.
	Completed, Failed, Cancelled atomic.Int64
}

// count counts a task that ended here.
func (c *Counters) count(s Status) {
	switch s {
	case Cancelled:
		c.Cancelled.Add(1)
	case Failed:
		c.Failed.Add(1)
	default:
		c.Completed.Add(1)
	}
}

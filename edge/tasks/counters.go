package tasks

import (
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/era/stateful/run"
)

// Counters count, since the stage was made, what somebody who operates it wants to know. Read them at any time.
type Counters struct {
	run.Counters
	// Created: requests that were answered with a task.
	Created atomic.Int64
	// Unacknowledged: creations of tasks that too few copies of the medium acknowledged in time; a call that may become a task may try several times.
	Unacknowledged atomic.Int64
	// AnswersUnknown: answers to no question that waits for one.
	AnswersUnknown atomic.Int64
	// Completed, Failed and Cancelled are the tasks that ended here.
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

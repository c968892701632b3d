package runtime

import (
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/call"
)

// Counters count events of calls since the start. They may be read at any time.
type Counters struct {
	// CallsOpened counts calls that became streams, CallsCancelled calls that their clients
	// cancelled.
	CallsOpened, CallsCancelled atomic.Int64
	// CallsParked counts rounds that ended with requests to the client.
	CallsParked atomic.Int64
	// The following count progress and log messages that no reader gets: DroppedUnread without a
	// stream, DroppedQueue because the queue was full, DroppedUnwritten because the store did not
	// accept them.
	DroppedUnread, DroppedQueue, DroppedUnwritten atomic.Int64
	// Queued is the number of entries that wait to be written to logs. Appended counts the written
	// ones.
	Queued, Appended atomic.Int64
	// Takeovers counts takeovers of lost calls, Reruns the repetitions of their rounds, and
	// UnknownOutcomes the reports to clients that the outcome of a call is unknown.
	Takeovers, Reruns, UnknownOutcomes atomic.Int64
	// Fenced counts writes refused because another replica owns the call.
	Fenced atomic.Int64
	// Rollbacks counts writes that do not follow the store's state, and logs that are shorter than
	// the sent events.
	Rollbacks atomic.Int64
	// Streams is the number of open streams. EventsReplayed counts the events that existed when
	// clients resumed streams.
	Streams, EventsReplayed atomic.Int64
	// StateErrors counts store operations that failed and were retried or given up.
	StateErrors atomic.Int64
}

// dropped returns the counter for events dropped because of a fault, as in call.Dropped.
func (c *Counters) dropped(f call.Fault) *atomic.Int64 {
	switch f {
	case call.NoFault:
		return &c.DroppedQueue
	case call.Gone:
		return &c.DroppedUnread
	}
	return &c.DroppedUnwritten
}

// over counts a call whose run has ended on this replica.
func (c *Counters) over(how call.How, r *call.Reply) {
	switch {
	case how == call.HowParked:
		c.CallsParked.Add(1)
	case how != call.HowEnded:
	case r != nil && r.Cancelled:
		c.CallsCancelled.Add(1)
	case r != nil && (r.Failure == call.UnknownOutcome || r.Failure == call.Poison):
		c.UnknownOutcomes.Add(1)
	}
}

// refused counts an error of the store.
func (c *Counters) refused(f call.Fault) {
	switch f {
	case call.Unavailable:
		c.StateErrors.Add(1)
	case call.Fenced:
		c.Fenced.Add(1)
	case call.Rewound:
		c.Rollbacks.Add(1)
	}
}

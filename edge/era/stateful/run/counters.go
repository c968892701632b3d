package run

import (
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
)

// Counters count, since they were made, what becomes of calls. Read them at any time.
type Counters struct {
	// CallsOpened: calls that became streams; CallsCancelled those that ended by their clients' word.
	CallsOpened, CallsCancelled atomic.Int64
	// CallsParked: rounds that ended with requests to the client.
	CallsParked atomic.Int64
	// Progress and log messages that nobody will read: DroppedUnread for want of a stream, DroppedQueue
	// for a full queue, DroppedUnwritten because the store did not take them.
	DroppedUnread, DroppedQueue, DroppedUnwritten atomic.Int64
	// Queued is what waits to be written to logs now; Appended what was written.
	Queued, Appended atomic.Int64
	// Takeovers of lost calls; Reruns of them; UnknownOutcomes told to clients.
	Takeovers, Reruns, UnknownOutcomes atomic.Int64
	// Fenced: writes refused because another replica owns the call.
	Fenced atomic.Int64
	// Rollbacks: writes that do not follow what the store has, and logs found shorter than what was sent.
	Rollbacks atomic.Int64
	// Streams are those open now; EventsReplayed what was there for the streams that clients came back to.
	Streams, EventsReplayed atomic.Int64
	// StateErrors: operations on the store that failed and were retried or given up.
	StateErrors atomic.Int64
}

// dropped is the counter of events that were dropped because of a fault, as call.Dropped has it.
func (c *Counters) dropped(f call.Fault) *atomic.Int64 {
	switch f {
	case call.NoFault:
		return &c.DroppedQueue
	case call.Gone:
		return &c.DroppedUnread
	}
	return &c.DroppedUnwritten
}

// over counts a call that is over here.
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

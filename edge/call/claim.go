package call

import (
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// claimed decides how a call continues after its owner changed: whether a lost call is rerun, or
// with which failure it ends.
func claimed(c *Call, e Event, buf []Effect) []Effect {
	c.round = e.Record
	c.j.attach(e.Record, c.o.Brief)
	r := c.round
	switch {
	case r.Cancelled:
		return c.end(c.cancelledReply(), buf)
	case e.Late:
		return c.fail(Late, nil, buf)
	case e.Reply != nil: // The client refused a required answer.
		return c.end(e.Reply, buf)
	case e.Why == ByLoss && r.Phase == state.PhaseWaiting:
		return c.fail(Late, nil, buf)
	case e.Why == ByLoss && r.Phase == state.PhaseDispatched && !r.Repeatable && !r.Resumable:
		return c.fail(UnknownOutcome, nil, buf)
	case e.Why == ByLoss && r.Phase == state.PhaseDispatched && r.Lapses >= c.o.MaxAttempts:
		return c.fail(Poison, nil, buf)
	}
	c.progress, c.hasProgress = r.Progress, r.HasProgress
	c.suppressed = r.HasProgress && r.Phase == state.PhaseDispatched
	if c.o.Claimed != nil {
		c.j.prepend(c.o.Claimed(r))
	}
	return c.mark(buf)
}

// mark writes that the backend is being called.
func (c *Call) mark(buf []Effect) []Effect {
	c.state = Marking
	c.j.step = c.write(medium.NextDispatched)
	return c.j.flush(buf)
}

func runWhenMarked(c *Call, _ Event, buf []Effect) []Effect {
	if c.j.stored() == medium.NextDispatched {
		c.state = Running
		buf = c.run(buf)
	}
	return c.j.flush(buf)
}

package memory

import (
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// storedCall is the record of one call. Guarded by its session's mu.
type storedCall struct {
	medium.Record
	stream *stream
	// logged is the place of the last entry that was appended to the log of a batch, as numbered by
	// its writer.
	logged medium.Position
	owner  *Store
	// held is true if the lease of the epoch is in force. A waiting call has none.
	held    bool
	claimed time.Time
}

// orphaned reports whether any replica may claim a call that is not done.
func (c *storedCall) orphaned(now time.Time) bool {
	switch {
	case c.late(now):
		return true
	case !c.held:
		return c.Phase != state.PhaseWaiting || c.Missing() == 0
	}
	unwritten := c.Epoch.Counter() > 1 && c.N == 0 && now.Sub(c.claimed) > c.owner.m.limits.ClaimLife()
	return unwritten || c.owner.lost(now)
}

func (c *storedCall) late(now time.Time) bool { return !c.Deadline.IsZero() && now.After(c.Deadline) }

// claimedBy reports whether a replica owns the call by a claim with these random bits, and nothing
// was written since.
func (c *storedCall) claimedBy(r *Store, random uint32) bool {
	return c.held && c.owner == r && c.Epoch.Random() == random && c.N == 0
}

// asks reports whether the call waits for the answer to a question.
func (c *storedCall) asks(id string) bool {
	i := c.question(id)
	return i >= 0 && c.Phase == state.PhaseWaiting && c.Asked[i].Answer == nil
}

func (c *storedCall) question(id string) int {
	return slices.IndexFunc(c.Asked, func(q medium.Question) bool { return q.ID == id })
}

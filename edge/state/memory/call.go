package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// call is the record of one call. Guarded by its session's mu.
type call struct {
	state.Call
	stream *stream
	phase  state.Phase
	owner  *Replica
	// held: the lease of epoch is in force; a waiting call has none.
	held bool
	// epoch of the lease, n of the last write under it.
	epoch, n uint64
	// The last claim: its token, when it was made, and the phase it found.
	token   string
	claimed time.Time
	found   state.Phase
	// asked is the last asking; missing counts the answers it still waits for.
	asked   []question
	missing int
	state   []byte
	// kept is what state and answers count for SessionBytes, beside the call itself.
	kept int
	// progress is the highest on the stream.
	progress    float64
	hasProgress bool
	// open are the URL elicitations whose completion was not told, by key.
	open map[string]string
}

// question is an ask with its answer, once there is one.
type question struct {
	state.Answered
	answered bool
	token    string
}

func (c *call) orphan(now time.Time) bool {
	unwritten := c.epoch > state.FirstEpoch && c.n == 0 && now.Sub(c.claimed) > c.owner.m.limits.ClaimLife()
	return c.held && (c.owner.lost(now) || unwritten) || !c.Deadline.IsZero() && now.After(c.Deadline)
}

// lease gives the call to an owner under an epoch.
func (c *call) lease(s *session, r *Replica, epoch uint64) state.Lease {
	c.owner, c.held, c.n, c.epoch = r, true, 0, epoch
	return c.current(s)
}

func (c *call) current(s *session) state.Lease {
	return state.Lease{Session: s.id, Stream: c.stream.name, Call: c.ID, Epoch: c.epoch}
}

// claim gives the call to a new owner, and begins an epoch of its log: its last owner may have written what is lost
// here, and no event id of that is given to what the next one writes.
func (c *call) claim(s *session, r *Replica, token string, now time.Time) *state.Claim {
	c.token, c.claimed, c.found = token, now, c.phase
	drawn := rand.Uint32() // #nosec G404 -- it tells histories apart and is no secret
	c.lease(s, r, state.NextEpoch(c.epoch, drawn))
	c.stream.begin(drawn)
	return c.owned(s)
}

// repeats says whether the last claim was made by this attempt, and nothing was written under it.
func (c *call) repeats(r *Replica, token string) bool {
	return token != "" && c.token == token && c.owner == r && c.n == 0
}

// owned is what the new owner of a call gets.
func (c *call) owned(s *session) *state.Claim {
	claim := &state.Claim{
		Phase: c.found, Lease: c.current(s), Call: c.Call, Session: s.record, State: c.state,
		Progress: c.progress, HasProgress: c.hasProgress, OpenElicitations: maps.Clone(c.open),
	}
	for i := range c.asked {
		if c.asked[i].answered {
			claim.Answers = append(claim.Answers, c.asked[i].Answered)
		}
	}
	return claim
}

// unask takes no more answers to the last asking.
func (c *call) unask(s *session) {
	for i := range c.asked {
		if id := c.asked[i].ID; s.asks[id] == c {
			delete(s.asks, id)
		}
	}
}

// forget ends the last asking.
func (c *call) forget(s *session) {
	c.unask(s)
	c.asked, c.missing = nil, 0
}

// write begins a write: it finds the call, locked with its session, if the write is one to apply. The
// call is nil when the write was applied before. After an error nothing is locked, else the caller
// unlocks.
func (r *Replica) write(ctx context.Context, w state.Write) (*session, *call, error) {
	s, now, err := r.enter(ctx, w.Session)
	if err != nil {
		return nil, nil, err
	}
	c := s.calls[w.Call]
	if err := r.fence(c, w, now); err != nil {
		s.mu.Unlock()
		return nil, nil, fmt.Errorf("call %.40q: %w", w.Call, err)
	}
	if w.N <= c.n {
		return s, nil, nil
	}
	return s, c, nil
}

// fence says why a write is refused.
func (r *Replica) fence(c *call, w state.Write, now time.Time) error {
	switch {
	case c == nil || c.stream.name != w.Stream || r.m.lapsed(c.stream, now):
		return state.ErrNotFound
	case w.Epoch > c.epoch:
		r.m.rollbacks.Add(1)
		return fmt.Errorf("epoch %d is ahead of the call's, which is %d: %w", w.Epoch, c.epoch, state.ErrRollback)
	case w.Epoch < c.epoch:
		return fmt.Errorf("epoch %d is not the call's, which is %d: %w", w.Epoch, c.epoch, state.ErrFenced)
	case c.owner != r:
		return fmt.Errorf("the lease is another replica's: %w", state.ErrFenced)
	case w.N == 0:
		return errors.New("a write has no number: the first under a lease is 1")
	case w.N <= c.n:
		return nil
	case !c.held || c.phase == state.PhaseDone:
		return fmt.Errorf("the lease has ended: %w", state.ErrFenced)
	case w.N > c.n+1:
		r.m.rollbacks.Add(1)
		return fmt.Errorf("write %d does not follow the last one, %d: %w", w.N, c.n, state.ErrRollback)
	}
	return nil
}

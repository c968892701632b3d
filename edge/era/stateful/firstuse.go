package stateful

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Ended records ended sessions as long as their ids could still create them. It is safe for
// concurrent use.
type Ended interface {
	// Spend records for the duration life that a session of an owner has ended. The error may be
	// once.ErrFull, or a *mcp.Error of KindLimit if most sessions of the owner are recorded.
	Spend(ctx context.Context, owner, id string, life time.Duration, most int) (fresh bool, _ error)
	// Spent reports whether Spend has recorded a session of an owner, and its time is not over.
	Spent(ctx context.Context, owner, id string) (bool, error)
}

const (
	// maxEnded bounds the ended sessions that one process remembers if replicas share no store.
	maxEnded = 256 << 10
	// maxEndedOfOne bounds the ended sessions of one principal, or of all anonymous callers. It is
	// sufficient for 180 ends a second.
	maxEndedOfOne = 64 << 10
)

// firstUses serializes the first uses of each id on this replica, because a look-up that finds
// nothing drops the copy that another one may just have created. It is safe for concurrent use.
type firstUses struct {
	mu sync.Mutex
	// current maps ids to channels that are closed at the end of their use.
	current map[string]chan struct{}
}

// begin waits until no other use of the id is current. An error is that of ctx.
func (f *firstUses) begin(ctx context.Context, id string) (end func(), _ error) {
	for {
		f.mu.Lock()
		other := f.current[id]
		if other == nil {
			own := make(chan struct{})
			if f.current == nil {
				f.current = map[string]chan struct{}{}
			}
			f.current[id] = own
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				delete(f.current, id)
				f.mu.Unlock()
				close(own)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// sealed returns the session of a sealed id. It creates the record if the id is used first.
func (e *Era) sealed(ctx context.Context, in *mcp.Incoming, id, seal string) (*localSession, *mcp.Error) {
	if s := e.sessions.get(id); s != nil && s.rec.Load() != nil {
		s, err := e.session(ctx, id)
		if err == nil || !errors.Is(err, state.ErrNotFound) {
			return s, errorOf(err)
		}
	}
	end, err := e.firstUses.begin(ctx, id)
	if err != nil {
		return nil, mcp.Errorf(mcp.KindCancelled, "the request was cancelled")
	}
	defer end()
	s, err := e.session(ctx, id)
	if err == nil || !errors.Is(err, state.ErrNotFound) {
		return s, errorOf(err)
	}
	return e.create(ctx, in, id, seal)
}

// errorOf is stateError, or nil without an error.
func errorOf(err error) *mcp.Error {
	if err == nil {
		return nil
	}
	return stateError(err)
}

// create creates the record of a session whose id is used first, unless it has ended.
func (e *Era) create(ctx context.Context, in *mcp.Incoming, id, seal string) (*localSession, *mcp.Error) {
	b, err := e.ids.open(id, seal)
	if err != nil {
		refused := sessionNotFound()
		refused.Reason = "session id: " + err.Error()
		return nil, refused
	}
	if age := time.Since(b.Created); b.Set != in.Set || age > e.firstUseWithin() || age < -clockSkew {
		return nil, sessionNotFound()
	}
	if !bytes.Equal(b.Principal, ownerOf(&in.Principal)) {
		return nil, e.foreign(ctx, in, id)
	}
	if err := e.wantNotEnded(ctx, in, id); err != nil {
		return nil, err
	}
	if err := e.chargeAddress(in); err != nil {
		return nil, err
	}
	s, err := e.newSession(ctx, in, b.session(id, in))
	if errors.Is(err, state.ErrExists) { // Another replica was first.
		s, err = e.session(ctx, id)
		return s, errorOf(err)
	}
	if err != nil {
		return nil, e.notCreated(err)
	}
	if gone := e.wantNotEnded(ctx, in, id); gone != nil { // It ended at another replica before it was created here.
		sctx, cancel := state.Bounded(ctx)
		defer cancel()
		if err := e.store.Delete(sctx, id); err != nil {
			e.log.Warn("a session that has ended could not be deleted again", "error", err)
		}
		e.drop(s, errGone)
		return nil, gone
	}
	return s, nil
}

// foreign returns the error for a session of another principal, which is recorded.
func (e *Era) foreign(ctx context.Context, in *mcp.Incoming, id string) *mcp.Error {
	if err := e.o.Telemetry.Foreign(ctx, in, id); err != nil {
		return mcp.AsError(err)
	}
	return sessionNotFound()
}

// firstUseWithin returns the maximum age of an id at its first use. It does not exceed the TTL of
// sessions. Since a record lives at least that long after its creation, an id cannot create it
// again after it has expired.
func (e *Era) firstUseWithin() time.Duration { return min(firstUseWithin, e.o.SessionTTL) }

// wantNotEnded returns the error for a session that has ended.
func (e *Era) wantNotEnded(ctx context.Context, in *mcp.Incoming, id string) *mcp.Error {
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	switch ended, err := e.o.Ended.Spent(sctx, in.Principal.Key(), id); {
	case err != nil:
		e.counters.StateErrors.Add(1)
		return stateError(err)
	case ended:
		return sessionNotFound()
	}
	return nil
}

// noteEnd records the end of a session whose id could create it again. It must be called before the record is deleted. A transport that
// remembers sessions has no such ids.
func (e *Era) noteEnd(ctx context.Context, in *mcp.Incoming, rec *record) *mcp.Error {
	if e.ids == nil || !in.PerRequest || rec.Created.IsZero() {
		return nil
	}
	left := firstUseWithin - time.Since(rec.Created) + 2*clockSkew // other replicas may have another TTL
	if left <= 0 {
		return nil
	}
	_, err := e.o.Ended.Spend(ctx, rec.Principal.Key(), rec.ID, left, maxEndedOfOne)
	switch me := (*mcp.Error)(nil); {
	case err == nil:
		return nil
	case errors.Is(err, once.ErrFull), errors.As(err, &me) && me.Kind == mcp.KindLimit:
		return &mcp.Error{Kind: mcp.KindLimit, Err: err, RetryAfter: time.Minute,
			Message: "too many sessions have ended in the last minutes to remember another: try again later, or leave the session to its expiry"}
	}
	e.counters.StateErrors.Add(1)
	return stateError(err)
}

// chargeAddress counts a session that an anonymous caller begins.
func (e *Era) chargeAddress(in *mcp.Incoming) *mcp.Error {
	if !in.Principal.Anonymous() || e.addresses.begin(in.Address) {
		return nil
	}
	e.o.Telemetry.Hit(telemetry.BoundAddressSessions)
	return mcp.Errorf(mcp.KindLimit,
		"your address has begun %d sessions, as many as it may, and regains one every %s: use those it has, or try again later",
		e.addresses.limit, e.addresses.pause())
}

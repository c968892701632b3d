package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Create implements state.Sessions. The bound on sessions may be exceeded by a few when Redis is slower
// than a second.
func (r *Replica) Create(ctx context.Context, s *state.Session) error {
	if s.ID == "" {
		return errors.New("a session needs an id")
	}
	key := r.principal(s.Principal)
	reserved, err := r.acquire(ctx, key, s)
	if err != nil {
		return err
	}
	rep, err := r.run(ctx, createScript, s.ID, packSession(s), strconv.FormatUint(s.Serial, 10), key, rand.Text())
	if err != nil {
		return err // Whether it was made is not known: the reservation ends by itself.
	}
	if rep.code == "exists" {
		if reserved {
			r.release(ctx, key, s.ID)
		}
		return fmt.Errorf("session %.40q: %w", s.ID, state.ErrExists)
	}
	r.uses.counted(s.ID)
	return nil
}

// Load implements state.Sessions.
func (r *Replica) Load(ctx context.Context, id string) (*state.Session, error) {
	rep, err := r.run(ctx, loadScript, id)
	if err != nil {
		return nil, err
	}
	if rep.code == "gone" {
		return nil, noSession(id)
	}
	r.uses.counted(id)
	return unpackSession(rep.text(0))
}

// Update implements state.Sessions. Redis holds the record as a whole: it is replaced if nobody else
// was faster, else the patch is applied to what they made of it. To apply a patch again whose reply was
// lost changes nothing, as Patch says.
func (r *Replica) Update(ctx context.Context, id string, p state.Patch) (*state.Session, error) {
	old, err := r.Load(ctx, id)
	for {
		if err != nil {
			return nil, err
		}
		next, changed, err := old.With(p, r.limits.Subscriptions)
		if err != nil {
			return nil, fmt.Errorf("session %.40q: %w", id, err)
		}
		if !changed {
			return old, nil
		}
		next.Serial++
		rep, err := r.run(ctx, updateScript, id, strconv.FormatUint(old.Serial, 10),
			strconv.FormatUint(next.Serial, 10), packSession(next))
		if err != nil {
			return nil, err
		}
		switch rep.code {
		case "gone":
			return nil, noSession(id)
		case "ok":
			return next, nil
		}
		if old, err = unpackSession(rep.text(0)); err != nil {
			return nil, err
		}
	}
}

// Delete implements state.Sessions. When the reply of an erasure was lost, the session counts for its
// principal for a while longer.
func (r *Replica) Delete(ctx context.Context, id string) error {
	rep, err := r.run(ctx, deleteScript, id, state.Ringable.Milliseconds())
	r.tails.forgetSession(r.session(id))
	r.followers.wakeAll(r.session(id))
	if err != nil {
		return err
	}
	switch rep.code {
	case "gone":
		return noSession(id)
	case "erased":
		return nil
	}
	r.release(ctx, rep.text(0), id)
	var streams []string
	for _, s := range rep.list(1) {
		if name, ok := s.(string); ok {
			streams = append(streams, name)
		}
	}
	r.unindex(ctx, id, streams...)
	return nil
}

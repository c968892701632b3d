package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// Create implements medium.Sessions. The bound on sessions may be exceeded by a few if Redis takes
// longer than a second.
func (r *Replica) Create(ctx context.Context, s *state.Session) error {
	size, err := s.Check(r.limits.SessionBytes)
	if err != nil {
		return err
	}
	key := r.principal(s.Principal)
	reserved, err := r.acquire(ctx, key, s)
	if err != nil {
		return err
	}
	bare := *s
	bare.Principal.Claims = nil // Most sessions keep their first credentials.
	args := []any{r.seals.seal(bindRecord(s.ID), pack(&bare, (*codec).session)), text(s.Serial), key, rand.Text(), size, millis(s.Keep), r.account(s)}
	for _, uri := range s.Subscriptions {
		args = append(args, r.seals.sealName(bindSubscription(s.ID), uri))
	}
	if _, err := r.run(ctx, createScript, s.ID, "", args...); err != nil {
		if reserved && (errors.Is(err, state.ErrLimit) || errors.Is(err, state.ErrExists)) {
			r.release(ctx, key, s.ID)
		}
		return err // Otherwise the outcome is unknown: the reservation expires.
	}
	r.renewals.recordUse(s.ID)
	return nil
}

// Load implements medium.Sessions.
func (r *Replica) Load(ctx context.Context, id string, use bool) (*state.SessionInfo, error) {
	if !use {
		return r.peek(ctx, id)
	}
	rep, err := r.run(ctx, loadScript, id, "")
	if err != nil {
		return nil, err
	}
	r.renewals.recordUse(id)
	s, err := r.readReplied(id, rep.list(0))
	if err != nil {
		return nil, err
	}
	return &state.SessionInfo{Session: s, Requests: rep.texts(1)}, nil
}

// readReplied converts the result of the scripts' function record.
func (r *Replica) readReplied(id string, record []any) (*state.Session, error) {
	rep := reply{rest: record}
	return r.readSession(id, rep.text(0), rep.text(1), rep.texts(2))
}

// readSession converts a session as it is stored: record, serial, subscriptions.
func (r *Replica) readSession(id, sealed, number string, subscriptions []string) (*state.Session, error) {
	record, err := r.seals.open(bindRecord(id), sealed)
	if err != nil {
		return nil, err
	}
	s := new(state.Session)
	if err := unpack(record, s, (*codec).session); err != nil {
		return nil, err
	}
	if s.Serial, err = serial(s.ID, number); err != nil {
		return nil, err
	}
	for _, stored := range subscriptions {
		uri, err := r.seals.open(bindSubscription(id), stored)
		if err != nil {
			return nil, err
		}
		s.Subscriptions = append(s.Subscriptions, string(uri))
	}
	return s, nil
}

// Update implements medium.Sessions. It replaces the record if no other replica changed it first;
// otherwise it applies the patch to the changed record. It reads the record first only if the
// caller does not know it. Repeating a patch whose reply was lost changes nothing, as documented at
// Patch.
func (r *Replica) Update(ctx context.Context, id string, p state.Patch) (*state.Session, error) {
	old, read := p.From, false
	for {
		if old == nil {
			loaded, err := r.Load(ctx, id, true)
			if err != nil {
				return nil, err
			}
			old, read = loaded.Session, true
		}
		next, changed, err := old.With(p, r.limits.Subscriptions)
		switch {
		case !read && (err != nil || !changed):
			// The caller's record may be old: it can show what to change, never that nothing
			// changes.
			old = nil
			continue
		case err != nil:
			return nil, fmt.Errorf("session %s: %w", mcp.SessionPrint(id), err)
		case !changed:
			return old, nil
		}
		next.Serial++
		rep, err := r.run(ctx, updateScript, id, "", r.updateArgs(old, next, p)...)
		if err != nil {
			return nil, err
		}
		if rep.code == "ok" {
			return next, nil
		}
		if old, err = r.readReplied(id, rep.list(0)); err != nil {
			return nil, err
		}
		read = true
	}
}

// updateArgs returns the arguments of update.lua.
func (r *Replica) updateArgs(old, next *state.Session, p state.Patch) []any {
	begins := ""
	if p.Subscribe != "" && p.Subscribe != p.Unsubscribe && !slices.Contains(old.Subscriptions, p.Subscribe) {
		begins = r.seals.sealName(bindSubscription(old.ID), p.Subscribe)
	}
	args := []any{
		text(old.Serial), text(next.Serial), r.seals.seal(bindRecord(old.ID), pack(next, (*codec).session)), next.Bytes(), begins,
	}
	if p.Unsubscribe != "" {
		args = append(args, r.seals.formsOf(bindSubscription(old.ID), p.Unsubscribe)...)
	}
	return args
}

// Delete implements medium.Sessions. If the reply of an erasure is lost, the session counts for its
// principal a while longer.
func (r *Replica) Delete(ctx context.Context, id string) error {
	rep, err := r.run(ctx, deleteScript, id, "", state.NotifiableFor.Milliseconds())
	r.logs.forgetSession(r.session(id))
	r.followers.wakeAll(r.session(id))
	if err != nil || rep.code == "erased" {
		return err
	}
	r.release(ctx, rep.text(0), id)
	if account := rep.text(2); r.cluster != nil && account != "" {
		actx, cancel := detachedContext(ctx)
		r.settle(actx, id, account, "0", "0")
		cancel()
	}
	r.unindex(ctx, id, rep.texts(1)...)
	return nil
}

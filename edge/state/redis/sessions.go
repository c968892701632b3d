package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Create implements medium.Sessions. The bound on sessions may be exceeded by a few if Redis takes
// longer than a second.
func (r *Replica) Create(ctx context.Context, s *state.Session) error {
	if s.ID == "" {
		return errors.New("a session needs an id")
	}
	size := s.Bytes()
	if size > r.limits.SessionBytes {
		return fmt.Errorf("session %.40q: %w", s.ID, &state.RoomError{More: size, Max: r.limits.SessionBytes})
	}
	key := r.principal(s.Principal)
	reserved, err := r.acquire(ctx, key, s)
	if err != nil {
		return err
	}
	bare := *s
	bare.Principal.Claims = nil // Most sessions keep their first credentials.
	args := []any{r.seals.seal(bindRecord(s.ID), pack(&bare, (*codec).session)), strconv.FormatUint(s.Serial, 10), key, rand.Text(), size, milliseconds(s.Keep), r.account(s)}
	for _, uri := range s.Subscriptions {
		args = append(args, r.seals.sealName(bindSubscription(s.ID), uri))
	}
	rep, err := r.run(ctx, createScript, s.ID, args...)
	if err != nil {
		if reserved && errors.Is(err, state.ErrLimit) {
			r.release(ctx, key, s.ID)
		}
		return err // Otherwise the outcome is unknown: the reservation expires.
	}
	if rep.code != "ok" && reserved {
		r.release(ctx, key, s.ID)
	}
	switch rep.code {
	case "owned":
		return r.refused(s.ID, "", rep)
	case "exists":
		return fmt.Errorf("session %.40q: %w", s.ID, state.ErrExists)
	}
	r.renewals.recordUse(s.ID)
	return nil
}

// milliseconds formats a time for the scripts, in ms since 1970; 0 is the zero time.
func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Load implements medium.Sessions.
func (r *Replica) Load(ctx context.Context, id string, use bool) (*state.SessionInfo, error) {
	if !use {
		return r.peek(ctx, id)
	}
	s, requests, err := r.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return &state.SessionInfo{Session: s, Requests: requests}, nil
}

// load returns a session, and the request ids of its calls that are not done.
func (r *Replica) load(ctx context.Context, id string) (s *state.Session, requests []string, err error) {
	rep, err := r.run(ctx, loadScript, id)
	if err != nil {
		return nil, nil, err
	}
	if rep.code == "gone" {
		return nil, nil, noSession(id)
	}
	r.renewals.recordUse(id)
	for _, v := range rep.list(1) {
		request, _ := v.(string)
		requests = append(requests, request)
	}
	s, err = r.readSession(id, rep.list(0))
	return s, requests, err
}

// readSession converts the result of the scripts' function record: record, serial, subscriptions.
func (r *Replica) readSession(id string, list []any) (*state.Session, error) {
	rep := reply{rest: list}
	record, err := r.seals.open(bindRecord(id), rep.text(0))
	if err != nil {
		return nil, err
	}
	s := new(state.Session)
	if err := unpack(record, s, (*codec).session); err != nil {
		return nil, err
	}
	if s.Serial, err = serial(s.ID, rep.text(1)); err != nil {
		return nil, err
	}
	for _, v := range rep.list(2) {
		if stored, ok := v.(string); ok {
			uri, err := r.seals.open(bindSubscription(id), stored)
			if err != nil {
				return nil, err
			}
			s.Subscriptions = append(s.Subscriptions, string(uri))
		}
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
			var err error
			if old, _, err = r.load(ctx, id); err != nil {
				return nil, err
			}
			read = true
		}
		next, changed, err := old.With(p, r.limits.Subscriptions)
		switch {
		case !read && (err != nil || !changed):
			// The caller's record may be old: it can show what to change, never that nothing
			// changes.
			old = nil
			continue
		case err != nil:
			return nil, fmt.Errorf("session %.40q: %w", id, err)
		case !changed:
			return old, nil
		}
		next.Serial++
		rep, err := r.run(ctx, updateScript, id, r.updateArgs(old, next, p)...)
		if err != nil {
			return nil, err
		}
		switch rep.code {
		case "gone":
			return nil, noSession(id)
		case "room":
			return nil, fmt.Errorf("session %.40q: %w", id, r.noRoom(rep))
		case "owned":
			return nil, r.refused(id, "", rep)
		case "ok":
			return next, nil
		}
		if old, err = r.readSession(id, rep.list(0)); err != nil {
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
		strconv.FormatUint(old.Serial, 10), strconv.FormatUint(next.Serial, 10), r.seals.seal(bindRecord(old.ID), pack(next, (*codec).session)), next.Bytes(), begins,
	}
	if p.Unsubscribe != "" {
		args = append(args, r.seals.formsOf(bindSubscription(old.ID), p.Unsubscribe)...)
	}
	return args
}

// Delete implements medium.Sessions. If the reply of an erasure is lost, the session counts for its
// principal a while longer.
func (r *Replica) Delete(ctx context.Context, id string) error {
	rep, err := r.run(ctx, deleteScript, id, state.NotifiableFor.Milliseconds())
	r.logs.forgetSession(r.session(id))
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
	if account := rep.text(2); r.bucketsApart && account != "" {
		actx, cancel := detachedContext(ctx)
		r.settle(actx, id, account, "0", "0")
		cancel()
	}
	var streams []string
	for _, s := range rep.list(1) {
		if name, ok := s.(string); ok {
			streams = append(streams, name)
		}
	}
	r.unindex(ctx, id, streams...)
	return nil
}

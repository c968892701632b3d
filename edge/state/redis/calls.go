package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Begin implements state.Calls. When its reply is lost, the calls may be there with nobody to run them:
// begin again, or they end as orphans at their deadline.
func (r *Replica) Begin(ctx context.Context, id, name string, calls []state.Call) ([]state.Lease, error) {
	if name == "" || strings.Contains(name, ".") || len(calls) == 0 {
		return nil, fmt.Errorf("stream %.40q with %d calls: the name must have no dot, and a stream has a call", name, len(calls))
	}
	args := make([]any, 0, 5+7*len(calls))
	args = append(args, name, indexed(id, name), bucketLife.Milliseconds(), len(calls), calls[0].Trace)
	leases := make([]state.Lease, len(calls))
	for i := range calls {
		c := &calls[i]
		if c.ID == "" {
			return nil, errors.New("a call needs an id")
		}
		args = append(args, c.ID, c.RequestID, packCall(c), millis(c.Deadline), c.Round, c.Attempt, c.Bytes())
		leases[i] = state.Lease{Session: id, Stream: name, Call: c.ID, Epoch: state.FirstEpoch}
	}
	if r.bucketsApart {
		if err := r.index(ctx, id, name); err != nil {
			return nil, err
		}
	}
	rep, err := r.runIndexed(ctx, beginScript, id, args...)
	if err != nil {
		return nil, err
	}
	switch rep.code {
	case "ok":
		r.tails.begin(place{r.session(id), name}, calls[0].Trace)
		return leases, nil
	case "gone":
		if r.bucketsApart {
			r.unindex(ctx, id, name)
		}
		return nil, noSession(id)
	case "room":
		return nil, fmt.Errorf("session %.40q: %w", id, r.noRoom(rep))
	case "limit":
		return nil, fmt.Errorf("session %.40q has %.60s: %w", id, rep.text(0), state.ErrLimit)
	}
	return nil, fmt.Errorf("stream %.40q, %.60s: %w", name, rep.text(0), state.ErrExists)
}

// millis is a deadline for scripts; 0: none.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.UnixMilli(), 1)
}

// Park implements state.Calls.
func (r *Replica) Park(ctx context.Context, w state.Write, asks []state.Ask, kept []byte) error {
	if err := r.bounded("a state", len(kept)); err != nil {
		return err
	}
	args := []any{kept, len(asks)}
	for i := range asks {
		a := &asks[i]
		if err := r.bounded("a request", len(a.Message)); err != nil {
			return err
		}
		args = append(args, a.ID, a.Key, a.ElicitationID, a.Message, packAsk(a))
	}
	_, err := r.write(ctx, parkScript, w, nil, args...)
	return err
}

// Finish implements state.Calls.
func (r *Replica) Finish(ctx context.Context, w state.Write, response []byte, before ...state.Entry) error {
	if err := r.bounded("a response", len(response)); err != nil {
		return err
	}
	if err := r.admitAll(before); err != nil {
		return err
	}
	packed := packEntries(before, r.limits.LogBytes)
	has, entries := 0, before
	if response != nil {
		has = 1
		entries = append(slices.Clip(before), state.Entry{Kind: state.EntryResponse, Data: response})
	}
	rep, err := r.write(ctx, finishScript, w, entries, has, response, indexed(w.Session, w.Stream), packed)
	if err == nil && rep.number(1) == 1 && r.bucketsApart {
		r.unindex(ctx, w.Session, w.Stream)
	}
	return err
}

// Conclude implements state.Calls.
func (r *Replica) Conclude(ctx context.Context, id, name string, c state.Call, response []byte, before ...state.Entry) error {
	if name == "" || strings.Contains(name, ".") || c.ID == "" {
		return fmt.Errorf("stream %.40q of call %.40q: the name must have no dot, and the call an id", name, c.ID)
	}
	if err := r.bounded("a response", len(response)); err != nil {
		return err
	}
	if err := r.admitAll(before); err != nil {
		return err
	}
	rep, err := r.runIndexed(ctx, concludeScript, id, name, c.ID, c.RequestID, c.Trace, response, packEntries(before, r.limits.LogBytes))
	switch {
	case err != nil:
		return err
	case rep.code == "gone":
		return noSession(id)
	case rep.code != "ok":
		return fmt.Errorf("stream %.40q: %w", name, state.ErrExists)
	}
	at, entries := place{r.session(id), name}, append(slices.Clip(before), state.Entry{Kind: state.EntryResponse, Data: response})
	if rep.number(4) == int64(len(entries)) {
		r.tails.begin(at, c.Trace)
		r.tails.wrote(at, rep.unsigned(2), rep.unsigned(3), entries, true)
	}
	r.dropped.Add(rep.unsigned(0))
	return nil
}

// bounded holds a length against ResultBytes.
func (r *Replica) bounded(what string, n int) error {
	if n <= r.limits.ResultBytes {
		return nil
	}
	return fmt.Errorf("%s of %d bytes, at most %d can be kept: %w", what, n, r.limits.ResultBytes, state.ErrTooLarge)
}

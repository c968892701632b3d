package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// restoreTries bounds the number of times that a call which changes during its restore is read.
const restoreTries = 8

// Restore implements medium.Calls. It reads the stored call, merges it here, and replaces it if it
// has not changed meanwhile.
func (r *Replica) Restore(ctx context.Context, rec *medium.Record, entries []medium.Entry, runs bool) (medium.Verdict, error) {
	for try := 1; ; try++ {
		v, err := r.restore(ctx, rec, entries, runs)
		switch {
		case !errors.Is(err, errChanged):
			return v, err
		case try == restoreTries:
			return 0, fmt.Errorf("call %s: %w: %w", medium.NameOf(rec.Session, rec.ID), err, state.ErrUnavailable)
		}
	}
}

// known is what Redis has of a call.
type known struct {
	medium.Record
	there bool
	// fields are the call's fields as stored. log is its stream's log if the stream has no other
	// call.
	fields map[string]string
	log    []medium.Entry
}

func (r *Replica) restore(ctx context.Context, rec *medium.Record, entries []medium.Entry, runs bool) (medium.Verdict, error) {
	answered := slices.ContainsFunc(rec.Asked, func(q medium.Question) bool { return q.Answer != nil })
	rep, err := r.run(ctx, knownScript, rec.Session, rec.ID, rec.Stream, rec.ID, text(rec.Epoch), text(rec.N), flag(!answered), flag(runs))
	if err != nil {
		return 0, err
	}
	if rep.code == "stands" {
		return medium.AlreadyStored, nil
	}
	k, err := r.readKnown(rec, rep)
	if err != nil {
		return 0, err
	}
	next := k.Record
	verdict := next.Merge(rec, k.there)
	owner, held, claimed := k.fields["ow"], k.fields["hd"] == "1", k.fields["cl"]
	if verdict == medium.Restored && next.Epoch == rec.Epoch {
		owner, claimed = r.id, "" // now, by Redis's clock
		held = runs && next.Phase != state.PhaseWaiting && next.Phase != state.PhaseDone
	}
	released := held && owner == r.id && next.Epoch == rec.Epoch && !runs
	held = held && !released
	what, log := r.restoredLog(k, rec, entries, &next, verdict)
	if verdict != medium.Restored && !released && what == "leave" {
		return verdict, nil
	}
	next.RequestID, next.Trace = rec.RequestID, rec.Trace
	return verdict, r.replace(ctx, k, &next, what, log, []any{"ow", owner, "hd", flag(held), "cl", claimed})
}

// readKnown converts the result of known.lua: the call's fields, the number of known calls of the
// stream, the number of its calls, the log, its floor, and the beginnings of its epochs.
func (r *Replica) readKnown(rec *medium.Record, rep reply) (*known, error) {
	k := &known{fields: fieldsOf(rep.list(0))}
	if len(k.fields) == 0 {
		if n := rep.number(1); n > 0 && (rec.Batch == 0 || rep.number(2) != int64(rec.Batch) || n == int64(rec.Batch)) {
			return nil, fmt.Errorf("call %s of stream %.40q: %w", medium.NameOf(rec.Session, rec.ID), rec.Stream, state.ErrExists)
		}
		return k, nil
	}
	if err := r.seals.openFields(rec.Session, rec.ID, k.fields); err != nil {
		return nil, fmt.Errorf("call %s: %w", medium.NameOf(rec.Session, rec.ID), err)
	}
	there, err := readRecord(rec.Session, rec.ID, k.fields)
	if err != nil {
		return nil, err
	}
	k.Record, k.there = *there, true
	k.log, err = r.readLog(rec.Session, rec.Stream, rep.list(3), rep.unsigned(4), rep.list(5))
	return k, err
}

// restoredLog returns what restore.lua must do with the log, and with which entries.
func (r *Replica) restoredLog(k *known, rec *medium.Record, entries []medium.Entry, next *medium.Record, v medium.Verdict) (string, []medium.Entry) {
	if next.Batch > 0 {
		has := medium.Position{Epoch: medium.Epoch(count(k.fields["he"])), Seq: count(k.fields["hs"])}
		if lost := medium.MissingEntries(has, next, rec, entries); len(lost) > 0 || v == medium.Restored {
			return "append", lost
		}
		return "leave", nil
	}
	log := medium.MergeLog(k.log, rec, entries, next)
	same := func(a, b medium.Entry) bool { return a.Position() == b.Position() }
	if k.there && slices.EqualFunc(log, k.log, same) && medium.LastOf(log, next) == medium.LastOf(k.log, &k.Record) {
		return "leave", nil
	}
	return "replace", log
}

// replace replaces the stored call by next.
func (r *Replica) replace(ctx context.Context, k *known, next *medium.Record, what string, log []medium.Entry, owner []any) error {
	expected := ""
	if k.there {
		expected = strings.Join([]string{k.fields["ep"], k.fields["n"], k.fields["hd"], k.fields["ow"], k.fields["rv"]}, " ")
	}
	size, kept := 0, 0
	if next.Phase != state.PhaseDone {
		size, kept = next.Request.Bytes(), next.KeptBytes()
		if r.cluster != nil {
			if err := r.index(ctx, next.Session, next.Stream, 0); err != nil {
				return err
			}
		}
	}
	packed, last, has := []byte(nil), medium.LastOf(log, next), medium.Position{}
	switch {
	case what == "replace":
		packed = packLog(r.seals.sealLog(next.Session, next.Stream, log), r.limits.LogBytes)
	case what == "append":
		last = medium.Position{Epoch: medium.Epoch(mrand.Uint32())} // #nosec G404 -- it distinguishes histories and keeps nothing secret
		packed = packEntries(r.seals.sealEntries(next.Session, next.Stream, withoutEpochs(log)), r.limits.LogBytes)
		if n := len(log); n > 0 {
			has = log[n-1].Position()
		}
	}
	args := []any{
		next.Stream, next.ID, expected, rand.Text(), next.RequestID, next.Trace, millis(next.Deadline), size, kept, int(next.Phase), next.Batch, what, packed,
		text(last.Epoch), text(last.Seq), text(has.Epoch), text(has.Seq), indexed(next.Session, next.Stream), bucketLife.Milliseconds(), len(next.Asked),
	}
	for i := range next.Asked {
		args = append(args, next.Asked[i].ID)
	}
	if f := k.fields; f["he"] != "" {
		args = append(args, "he", f["he"], "hs", f["hs"])
	}
	rep, err := r.runOften(ctx, restoreScript, next.Session, next.ID, append(append(args, owner...), r.seals.sealFields(next, recordFields(next))...)...)
	at := r.place(next.Session, next.Stream)
	r.logs.forget(at)
	r.followers.wake(at)
	if err != nil {
		return err
	}
	r.dropped.Add(rep.unsigned(0))
	if rep.number(1) == 1 && r.cluster != nil {
		r.unindex(ctx, next.Session, next.Stream)
	}
	return nil
}

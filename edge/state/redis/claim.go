package redis

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Claim implements medium.Calls.
func (r *Replica) Claim(ctx context.Context, w medium.ClaimTarget) (*medium.Owned, error) {
	by := flag(w.Cancel) + string(r.seals.seal(bindCanceller(w.Session), []byte(w.CancelledBy)))
	rep, err := r.run(ctx, claimScript, w.Session, w.Call+w.RequestID, w.Call, text(w.Epoch), w.RequestID, w.Random, flag(w.Lapsed), by, indexed(w.Session, ""), r.seals.heads(), millis(w.Latest))
	if err != nil {
		return nil, err
	}
	o, err := r.readOwned(w.Session, rep)
	if err == nil && w.Epoch == 0 { // Otherwise the call had an owner, so that the index has its stream, and no sweep has postponed it.
		r.reindex(ctx, o)
	}
	return o, err
}

// answerStatuses maps the reply codes of answer.lua.
var answerStatuses = map[string]state.AnswerStatus{
	"unknown": state.AnswerUnknown, "duplicate": state.AnswerDuplicate,
	"taken": state.AnswerTaken, "completed": state.AnswerCompleted,
}

// Answer implements medium.Calls.
func (r *Replica) Answer(ctx context.Context, session, ask string, a state.Answer, random uint32) (state.AnswerStatus, *medium.Owned, error) {
	args := []any{ask, r.seals.seal(bindAsk(session, ask, "r"), pack(&a, (*codec).answer)), a.Token, a.Bytes(), random, indexed(session, ""), r.seals.heads()}
	rep, err := r.run(ctx, answerScript, session, ask, append(args, flag(r.cluster == nil))...)
	slow := false
	if err == nil && rep.code == "index" {
		// This replica may be lost right after the claim. The delay keeps a sweep from postponing the stream again before the
		// claim; the heartbeat of a lost replica lasts longer.
		delay, began := r.limits.Lease/2, time.Now()
		if err = r.index(ctx, session, rep.text(0), delay); err == nil {
			rep, err = r.run(ctx, answerScript, session, ask, append(args, flag(true))...)
		}
		slow = time.Since(began) > delay
	}
	if err != nil {
		return state.AnswerUnknown, nil, err
	}
	out := answerStatuses[rep.code]
	if out != state.AnswerTaken && out != state.AnswerCompleted {
		return out, nil, nil
	}
	o, err := r.readOwned(session, rep)
	if err == nil && out == state.AnswerCompleted && slow {
		r.reindex(ctx, o) // A sweep may have postponed the stream.
	}
	return out, o, err
}

// Asking implements medium.Calls.
func (r *Replica) Asking(ctx context.Context, session, ask string) (*medium.Record, error) {
	rep, err := r.runOften(ctx, askingScript, session, ask, ask)
	if err != nil || rep.code == "unknown" {
		return nil, err
	}
	o, err := r.readOwned(session, rep)
	if err != nil {
		return nil, err
	}
	return o.Record, nil
}

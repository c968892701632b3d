package redis

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// answerStatuses maps the reply codes of answer.lua.
var answerStatuses = map[string]state.AnswerStatus{
	"unknown": state.AnswerUnknown, "duplicate": state.AnswerDuplicate,
	"taken": state.AnswerTaken, "completed": state.AnswerCompleted,
}

// Answer implements medium.Calls.
func (r *Replica) Answer(ctx context.Context, session, ask string, a state.Answer, random uint32) (state.AnswerStatus, *medium.Owned, error) {
	rep, err := r.runClaiming(ctx, answerScript, session, ask, r.seals.seal(bindAsk(session, ask, "r"), pack(&a, (*codec).answer)), a.Token, a.Bytes(), random, indexed(session, ""), r.seals.heads())
	if err != nil {
		return state.AnswerUnknown, nil, err
	}
	if err := r.refused(session, ask, rep); err != nil {
		return state.AnswerUnknown, nil, err
	}
	out := answerStatuses[rep.code]
	if out != state.AnswerTaken && out != state.AnswerCompleted {
		return out, nil, nil
	}
	o, err := r.readOwned(session, rep)
	if err == nil && out == state.AnswerCompleted {
		r.reindex(ctx, o)
	}
	return out, o, err
}

// Asking implements medium.Calls.
func (r *Replica) Asking(ctx context.Context, session, ask string) (*medium.Record, error) {
	rep, err := r.runOften(ctx, askingScript, session, []string{r.session(session)}, ask)
	if err != nil {
		return nil, err
	}
	if err := r.refused(session, ask, rep); err != nil || rep.code == "unknown" {
		return nil, err
	}
	o, err := r.readOwned(session, rep)
	if err != nil {
		return nil, err
	}
	return o.Record, nil
}

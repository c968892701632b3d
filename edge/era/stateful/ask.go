package stateful

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// ask sends a round's requests to the client and parks the call: from here on no replica runs it.
func (r *run) ask(in *mcp.InputRequired) {
	if r.asked+2 > r.e.o.MaxRounds {
		r.e.o.Telemetry.Hit(telemetry.BoundRounds)
		r.finish(failure(r.rules, r.id, mcp.Errorf(mcp.KindLimit,
			"the call asked the client for the %dth time; a call has at most %d rounds", r.asked+1, r.e.o.MaxRounds)))
		return
	}
	if err := r.opened(); err != nil {
		if errors.Is(err, errNobody) {
			r.leave(outcome{seen: telemetry.Outcome{Kind: mcp.KindCancelled, Message: errNobody.Error()}})
			return
		}
		r.finish(failure(r.rules, r.id, stateError(err)))
		return
	}
	asks, params := r.asks(in.Requests)
	r.complete(asks)
	r.settle()
	began := time.Now()
	store, kept := r.e.store, keptState(r.asked+1, r.op.SpanContext(), in.State)
	park := func(ctx context.Context, w state.Write) error { return store.Park(ctx, w, asks, kept) }
	err := state.ErrExists
	for draws := 0; draws < maxDraws && errors.Is(err, state.ErrExists); draws++ {
		r.e.number(asks, params)
		err = r.write(park)
	}
	r.stored("park", began, err)
	switch {
	case err == nil:
		r.ended(len(kept)+bytesOf(asks), park)
		r.op.Pause(&telemetry.Outcome{InputRequired: true})
		r.e.counters.Appended.Add(int64(len(asks)))
		r.s.park(r)
		r.e.counters.CallsParked.Add(1)
	case errors.Is(err, state.ErrTooLarge):
		r.deliver(failure(r.rules, r.id, mcp.Errorf(mcp.KindTooLarge,
			"what the call asks of the client is larger than what a stream may keep")))
	case errors.Is(err, state.ErrLimit):
		r.e.o.Telemetry.Hit(telemetry.BoundSessionBytes)
		r.deliver(failure(r.rules, r.id, stateError(err)))
	case errors.Is(err, state.ErrExists):
		r.deliver(failure(r.rules, r.id, mcp.Errorf(mcp.KindInternal,
			"the client has so many requests to answer that no id was found for another")))
	case !lostCall(err):
		r.e.log.WarnContext(r.ctx, "a call could not be parked; another replica finishes it", "error", err, "call", r.call.ID)
	}
}

func bytesOf(asks []state.Ask) (n int) {
	for _, a := range asks {
		n += len(a.Message)
	}
	return n
}

// asks makes server requests, and their params, which number makes messages of. A URL that the client was
// sent to and is asked for again keeps its id.
func (r *run) asks(in []mcp.InputRequest) (asks []state.Ask, params []json.RawMessage) {
	asks, params = make([]state.Ask, len(in)), make([]json.RawMessage, len(in))
	for i, q := range in {
		a := &asks[i]
		*a = state.Ask{Key: q.Key, Method: q.Method, Asked: time.Now()}
		params[i] = telemetry.WithTrace(q.Params, r.op.Promise())
		if q.URLMode && r.rules.ElicitationID {
			if a.ElicitationID = r.openElicitations[q.Key]; a.ElicitationID == "" {
				a.ElicitationID = rand.Text()
			}
			params[i] = withElicitationID(params[i], a.ElicitationID)
		}
	}
	return asks, params
}

// withElicitationID puts the member first in a params object.
func withElicitationID(params json.RawMessage, id string) json.RawMessage {
	open := bytes.IndexByte(params, '{')
	if open < 0 {
		params, open = []byte("{}"), 0
	}
	rest := bytes.TrimLeft(params[open+1:], " \t\r\n")
	b := append(make([]byte, 0, len(params)+len(id)+24), `{"elicitationId":`...)
	b = jsonrpc.AppendString(b, id)
	if len(rest) > 0 && rest[0] != '}' {
		b = append(b, ',')
	}
	return append(b, rest...)
}

// complete tells the client of the URL elicitations that are over: those that are not asked again.
func (r *run) complete(asks []state.Ask) {
	for key, id := range r.openElicitations {
		if asksAgain(asks, id) {
			continue
		}
		params := jsonrpc.AppendString([]byte(`{"elicitationId":`), id)
		r.push(state.Entry{
			Kind: state.EntryNotice, Completes: key,
			Data: notification(mcp.NotifyElicitComplete, append(params, '}')),
		})
	}
	r.openElicitations = nil
}

func asksAgain(asks []state.Ask, id string) bool {
	for _, a := range asks {
		if a.ElicitationID == id {
			return true
		}
	}
	return false
}

// answered takes a client's response to a server request. The answer that completes an asking makes
// this replica the call's owner: release, unless it is nil, runs the next round, and is to be called once
// the client was told that the answer is safe. An answer that nobody waits for is taken and counted.
func (e *Era) answered(ctx context.Context, s *held, msg jsonrpc.Message) (release func(), _ *mcp.Error) {
	ask := askOf(msg.ID)
	if ask == "" {
		e.counters.AnswersUnknown.Add(1)
		return nil, nil
	}
	given := state.Answer{Result: bytes.Clone(msg.Result), Error: bytes.Clone(msg.Error), Token: rand.Text()}
	release, err := e.giveAnswer(ctx, s.id, ask, given)
	if err == nil {
		return release, nil
	}
	me := e.lost(s, err)
	if me.Kind == mcp.KindStateUnavailable {
		e.insist(ctx, s.id, ask, given)
	}
	return nil, me
}

// giveAnswer gives the store an answer, and keeps it if nobody would miss it.
func (e *Era) giveAnswer(ctx context.Context, session, ask string, a state.Answer) (release func(), _ error) {
	outcome, release, err := e.tryAnswer(ctx, session, ask, a)
	if err != nil {
		return nil, err
	}
	switch outcome {
	case state.AnswerUnknown:
		e.counters.AnswersUnknown.Add(1)
	case state.AnswerDuplicate:
		e.counters.AnswersDuplicate.Add(1)
	}
	if outcome == state.AnswerUnknown || outcome == state.AnswerTaken {
		kept := givenAnswer{at: time.Now(), session: session, ask: ask, answer: a, due: outcome == state.AnswerUnknown}
		if e.answers.keep(kept) {
			e.spawn(e.giveAgain)
		}
	}
	return release, nil
}

// tryAnswer gives the store an answer; release, unless it is nil, runs the call that the answer completed.
func (e *Era) tryAnswer(ctx context.Context, session, ask string, a state.Answer) (_ state.AnswerOutcome, release func(), _ error) {
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	began := time.Now()
	outcome, claim, err := e.store.Answer(sctx, session, ask, a)
	if errors.Is(err, state.ErrLimit) {
		e.o.Telemetry.Hit(telemetry.BoundSessionBytes)
	}
	if err == nil && outcome == state.AnswerCompleted {
		release = func() { e.resume(ctx, claim, began) }
	}
	return outcome, release, err
}

// insist gives an answer again until the store takes it: it may have been taken before the store was
// lost, and this replica may own the call without knowing. The client was told to try again, too.
func (e *Era) insist(ctx context.Context, session, ask string, a state.Answer) {
	if e.insisting.Add(1) > maxInsisting {
		e.insisting.Add(-1)
		return
	}
	ctx = context.WithoutCancel(ctx)
	e.spawn(func() {
		defer e.insisting.Add(-1)
		for end := time.Now().Add(e.o.CallLifetime); time.Now().Before(end) && e.sleep(time.Second); {
			release, err := e.giveAnswer(ctx, session, ask, a)
			if release != nil {
				release()
			}
			if err == nil || stateError(err).Kind != mcp.KindStateUnavailable {
				return
			}
		}
	})
}

// resume runs the next round of a claimed call in a goroutine of its own. The caller is inside the
// work gate.
func (e *Era) resume(ctx context.Context, c *state.Claim, began time.Time) {
	r, err := e.claimed(ctx, c, telemetry.ReasonAnswered)
	if err != nil {
		// The record stays a ready call without a runner, for the sweepers.
		e.log.Warn("a claimed call could not be resumed here", "error", err, "call", c.Call.ID)
		return
	}
	e.o.Telemetry.Stored(r.origin, "answer", began, nil)
	r.answeredAll(c)
	e.spawn(func() { r.resume(c) })
}

// resume is the body of a claimed call's goroutine.
func (r *run) resume(c *state.Claim) {
	for _, a := range c.Answers {
		resp, ok := answerOf(a)
		if !ok {
			defer r.done()
			r.refusedBy(a)
			return
		}
		r.call.Responses = append(r.call.Responses, resp)
	}
	r.rerun()
}

// rerun calls the backend for a call that has a lease but whose round is not marked.
func (r *run) rerun() {
	if !r.markDispatched() {
		defer r.done()
		r.interrupted()
		return
	}
	r.e.work.add() // main leaves once for itself
	r.main()
}

// refusedBy ends the call because of the client's error answer.
func (r *run) refusedBy(a state.Answered) {
	text := refused(a)
	if r.call.Method == mcp.MethodToolsCall {
		o := resultOf(r.id, toolError(text))
		o.seen.ToolError = true
		r.finish(o)
		return
	}
	r.finish(failure(r.rules, r.id, mcp.Errorf(mcp.KindCancelled, "%s", text)))
}

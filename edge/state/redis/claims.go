package redis

import (
	"context"
	"crypto/rand"
	"fmt"
	mrand "math/rand/v2"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/state"
)

// outcomes are the codes of answer.lua.
var outcomes = map[string]state.AnswerOutcome{
	"unknown": state.AnswerUnknown, "duplicate": state.AnswerDuplicate,
	"taken": state.AnswerTaken, "completed": state.AnswerCompleted,
}

// Answer implements state.Calls.
func (r *Replica) Answer(ctx context.Context, session, ask string, a state.Answer) (state.AnswerOutcome, *state.Claim, error) {
	if err := ctx.Err(); err != nil {
		return state.AnswerUnknown, nil, err
	}
	rep, err := r.run(ctx, answerScript, session, ask, packAnswer(a), token(a.Token), a.Bytes(), draw())
	if err != nil {
		return state.AnswerUnknown, nil, err
	}
	if err := r.refusal(session, ask, rep); err != nil {
		return state.AnswerUnknown, nil, err
	}
	out := outcomes[rep.code]
	if out != state.AnswerCompleted {
		return out, nil, nil
	}
	c, err := readClaim(session, rep)
	return out, c, err
}

// token is the caller's, or one for the repetitions of the client library alone.
func token(callers string) string {
	if callers == "" {
		return rand.Text()
	}
	return callers
}

// draw is the random part of an epoch.
func draw() uint32 { return mrand.Uint32() } // #nosec G404 -- it tells histories apart and is no secret

// flag is a truth as the scripts read it.
func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// Claim implements state.Calls.
func (r *Replica) Claim(ctx context.Context, w state.Which) (*state.Claim, error) {
	if w.Call == "" && w.RequestID == "" {
		return nil, fmt.Errorf("a call without id and request id: %w", state.ErrNotFound)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rep, err := r.run(ctx, claimScript, w.Session, w.Call, strconv.FormatUint(w.Epoch, 10), w.RequestID, token(w.Token), flag(w.Lapsed), draw())
	if err != nil {
		return nil, err
	}
	if err := r.refusal(w.Session, w.Call+w.RequestID, rep); err != nil {
		return nil, err
	}
	return readClaim(w.Session, rep)
}

// readClaim reads what the scripts' function claim returned: phase, session record, call id, call fields.
func readClaim(session string, rep reply) (*state.Claim, error) {
	f := map[string]string{}
	for list := rep.list(3); len(list) > 1; list = list[2:] {
		k, _ := list[0].(string)
		f[k], _ = list[1].(string)
	}
	rec, err := readSession(rep.list(1))
	if err != nil {
		return nil, fmt.Errorf("session %.40q: %w", session, err)
	}
	c := &state.Claim{Session: rec.Session, Phase: state.Phase(rep.number(0))} // #nosec G115 -- the script gives a Phase
	if c.Call, err = unpackCall(rep.text(2), f["b"]); err != nil {
		return nil, fmt.Errorf("call %.40q: %w", rep.text(2), err)
	}
	c.Call.Round, c.Call.Attempt, c.Call.Lapses = int(count(f["rd"])), int(count(f["at"])), int(count(f["lp"])) // #nosec G115 -- small counts
	c.Lease = state.Lease{Session: session, Stream: f["st"], Call: c.Call.ID, Epoch: count(f["ep"])}
	if s := f["sv"]; s != "" {
		c.State = []byte(s)
	}
	if p, ok := f["pr"]; ok {
		c.Progress, _ = strconv.ParseFloat(p, 64)
		c.HasProgress = true
	}
	for k, v := range f {
		if key, ok := strings.CutPrefix(k, "o:"); ok {
			if c.OpenElicitations == nil {
				c.OpenElicitations = map[string]string{}
			}
			c.OpenElicitations[key] = v
		}
	}
	c.Answers, err = readAnswers(f)
	return c, err
}

// readAnswers reads the answers among a call's fields, in the order of the asks.
func readAnswers(f map[string]string) ([]state.Answered, error) {
	var out []state.Answered
	for i := uint64(1); i <= count(f["na"]); i++ {
		n := strconv.FormatUint(i, 10)
		answer, ok := f["r:"+n]
		if !ok {
			continue
		}
		ask, err := unpackAsk(f["a:"+n], f["g:"+n])
		if err != nil {
			return nil, err
		}
		got, err := unpackAnswer(answer)
		if err != nil {
			return nil, err
		}
		out = append(out, state.Answered{Ask: ask, Answer: got})
	}
	return out, nil
}

func count(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}

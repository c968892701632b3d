package run

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

const (
	// looseFor is how long an answer to an unknown question is kept: the question may have been
	// lost and come back. A return of the store restarts the time.
	looseFor = 10 * time.Second
	// maxLoose and looseBytes bound the loose answers of a replica, sessionLoose those of one
	// session. The oldest are dropped first.
	maxLoose, looseBytes, sessionLoose = 1024, 1 << 20, 32
	// looseSize is the size of the largest loose answer that is kept.
	looseSize = 64 << 10
	// insistTries bounds the retries, one a second, of an answer or cancellation whose outcome is
	// unknown.
	insistTries = 20
	// maxInsisting bounds the answers, and the cancellations, that are retried at a time;
	// insistBytes bounds what they hold. Over the bounds there is no retry.
	maxInsisting, insistBytes = 256, 4 << 20
	// answerOverhead is the size that an answer counts beside its result or error.
	answerOverhead = 256
)

// answer is a client's answer in progress.
type answer struct {
	session, ask string
	given        state.Answer
	random       uint32
	// by is the principal that answered, with token.
	by    mcp.Principal
	token mcp.Token
}

// bytes returns the bytes that x counts.
func (x *answer) bytes() int {
	return answerOverhead + len(x.session) + len(x.ask) + len(x.given.Token) + x.given.Bytes() + len(x.token.Reveal())
}

// loose is an answer to an unknown question.
type loose struct {
	answer
	until time.Duration
}

// Answer takes a client's answer to a question. The answer that completes a set makes this replica
// the owner of the call; release is then not nil and continues the call. Call it after the client's
// answer was acknowledged. After an error the outcome is unknown: the client should retry, and the
// replica retries too. The call continues with the credentials of by and the token of ctx, however
// often the answer was stored.
func (r *Replica) Answer(ctx context.Context, session, ask string, a state.Answer, by mcp.Principal) (_ state.AnswerOutcome, release func(), _ error) {
	x := answer{session: session, ask: ask, given: a, random: r.o.Random(), by: by, token: mcp.TokenOf(ctx)}
	out, release, err := r.give(context.WithoutCancel(ctx), x)
	switch {
	case call.FaultOf(err) == call.Unavailable:
		r.insist(x)
	case err == nil && out == state.AnswerUnknown:
		r.setAside(x)
	}
	return out, release, err
}

func (r *Replica) give(ctx context.Context, x answer) (state.AnswerOutcome, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	began, returns := time.Now(), r.returns.Load()
	out, o, err := r.store.Answer(ctx, x.session, x.ask, x.given, x.random)
	if err != nil {
		return out, nil, err
	}
	switch {
	case out == state.AnswerTaken && (o.Record.Phase == state.PhaseWaiting || o.Record.Phase == state.PhaseReady && o.Record.N == 0):
		// Later steps are known to the replica that takes them.
		r.keep(o.Record, nil)
		if r.returns.Load() != returns {
			r.restoreCall(o.Record.ID)
		}
	case out == state.AnswerCompleted:
		return out, func() { r.resume(o, Reason{Why: call.ByAnswer, Began: began, By: &x.by, Token: x.token}, returns) }, nil
	}
	return out, nil, nil
}

// insist retries an answer until its outcome is known: it may make this replica the owner of the
// call.
func (r *Replica) insist(x answer) {
	r.insistOn(&r.insisting, x.bytes(), func() {
		for range insistTries {
			if !r.sleep(time.Second) {
				return
			}
			_, release, err := r.give(r.life, x)
			if release != nil {
				release()
			}
			if call.FaultOf(err) != call.Unavailable {
				return
			}
		}
	})
}

// insistOn calls fn in a goroutine, unless n, the number of its kind that run, or the bytes that
// all of them hold exceed their bounds.
func (r *Replica) insistOn(n *atomic.Int32, bytes int, fn func()) {
	size := int64(bytes)
	done := func() {
		n.Add(-1)
		r.insistingBytes.Add(-size)
	}
	most, held := n.Add(1) > maxInsisting, r.insistingBytes.Add(size) > insistBytes
	if most || held {
		done()
		return
	}
	r.work.Spawn(func() {
		defer done()
		fn()
	})
}

// setAside keeps an answer to an unknown question. It is stored again if the store was away
// recently.
func (r *Replica) setAside(x answer) {
	if x.bytes() > looseSize {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.forgetLoose(now)
	bytes, ofSession := x.bytes(), 1
	for i := range r.loose {
		bytes += r.loose[i].bytes()
		if r.loose[i].session == x.session {
			ofSession++
		}
	}
	n := len(r.loose) + 1
	r.loose = slices.DeleteFunc(r.loose, func(o loose) bool {
		same := o.session == x.session
		if n <= maxLoose && bytes <= looseBytes && (!same || ofSession <= sessionLoose) {
			return false
		}
		n, bytes = n-1, bytes-o.bytes()
		if same {
			ofSession--
		}
		return true
	})
	r.loose = append(r.loose, loose{x, now + looseFor})
	if r.hasBack && now-r.back < looseFor {
		r.giveLoose()
	}
}

// forgetLoose drops loose answers that have expired. The caller holds r.mu.
func (r *Replica) forgetLoose(now time.Duration) {
	r.loose = slices.DeleteFunc(r.loose, func(o loose) bool { return o.until <= now })
	if len(r.loose) == 0 {
		r.loose = nil
	}
}

// giveLoose starts a goroutine that stores the loose answers again, once a second, unless one runs.
// The caller holds r.mu.
func (r *Replica) giveLoose() {
	if r.giving || len(r.loose) == 0 {
		return
	}
	r.giving = true
	r.work.Spawn(func() {
		for r.sleep(time.Second) {
			for _, l := range r.dueLoose() {
				out, release, err := r.give(r.life, l.answer)
				if release != nil {
					release()
				}
				if err == nil && out != state.AnswerUnknown {
					r.settleLoose(l)
				}
			}
			r.mu.Lock()
			if r.giving = len(r.loose) > 0 && r.now()-r.back < looseFor; !r.giving {
				r.mu.Unlock()
				return
			}
			r.mu.Unlock()
		}
	})
}

// dueLoose returns the loose answers that have not expired.
func (r *Replica) dueLoose() []loose {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLoose(r.now())
	return slices.Clone(r.loose)
}

// settleLoose drops an answer whose question was found.
func (r *Replica) settleLoose(l loose) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loose = slices.DeleteFunc(r.loose, func(o loose) bool { return o.given.Token == l.given.Token })
}

package runtime

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

const (
	// unmatchedFor is the time for which an answer to an unknown question is kept, because a store
	// that has lost the question may restore it. A return of the store restarts the time.
	unmatchedFor = missingStreamWait
	// maxUnmatched and unmatchedBytes bound these answers of a replica, sessionUnmatched those of
	// one session. The oldest are dropped first.
	maxUnmatched, unmatchedBytes, sessionUnmatched = 1024, 1 << 20, 32
	// unmatchedSize is the size of the largest such answer that is kept.
	unmatchedSize = 64 << 10
	// retryTries bounds the retries, one a second, of an answer or cancellation that
	// may have been stored.
	retryTries = 20
	// maxRetries bounds the concurrently retried answers, and cancellations; maxRetryBytes bounds
	// their memory. Over the bounds there is no retry.
	maxRetries, maxRetryBytes = 256, 4 << 20
	// answerOverhead is the counted size of an answer beside its result or error.
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
	// awaits is true if the answer is kept for an unknown question that the store may restore.
	awaits bool
}

// bytes returns the counted bytes of x.
func (x *answer) bytes() int {
	return answerOverhead + len(x.session) + len(x.ask) + len(x.given.Token) + x.given.Bytes() + len(x.token.Reveal())
}

// unmatched is an answer to an unknown question.
type unmatched struct {
	answer
	until time.Duration
}

// Answer takes a client's answer to a question. The answer that completes a set makes this replica
// the owner of the call; release is then not nil and continues the call. Call release after the
// client's answer was acknowledged. After an error the answer may have been stored: the client
// should retry, and the replica also retries. The call continues with the credentials of by and the
// token of ctx, even if the answer is stored several times.
func (r *Replica) Answer(ctx context.Context, session, ask string, a state.Answer, by mcp.Principal) (_ state.AnswerStatus, release func(), _ error) {
	return r.take(ctx, answer{session: session, ask: ask, given: a, by: by, awaits: true})
}

// AnswerNow takes an answer as Answer does, but AnswerUnknown is final: the answer is not kept for
// a question that the store may restore.
func (r *Replica) AnswerNow(ctx context.Context, session, ask string, a state.Answer, by mcp.Principal) (_ state.AnswerStatus, release func(), _ error) {
	return r.take(ctx, answer{session: session, ask: ask, given: a, by: by})
}

// take takes an answer with the credentials of ctx, and retries one that may have been stored.
func (r *Replica) take(ctx context.Context, x answer) (state.AnswerStatus, func(), error) {
	x.random, x.token = r.o.Random(), mcp.TokenOf(ctx)
	out, release, err := r.match(context.WithoutCancel(ctx), x)
	if call.FaultOf(err) == call.Unavailable {
		r.retryAnswer(x)
	}
	return out, release, err
}

// match stores an answer, and keeps it if its question is unknown.
func (r *Replica) match(ctx context.Context, x answer) (state.AnswerStatus, func(), error) {
	out, release, err := r.answer(ctx, x)
	if err == nil && out == state.AnswerUnknown && x.awaits {
		r.keepUnmatched(x)
	}
	return out, release, err
}

func (r *Replica) answer(ctx context.Context, x answer) (state.AnswerStatus, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, state.Timeout)
	defer cancel()
	began, returns := time.Now(), r.returns.Load()
	out, o, err := r.store.Answer(ctx, x.session, x.ask, x.given, x.random)
	if err != nil {
		return out, nil, err
	}
	switch {
	case out == state.AnswerTaken && (o.Record.Phase == state.PhaseWaiting || o.Record.Phase == state.PhaseReady && o.Record.N == 0):
		// The replica that takes later steps keeps those.
		r.keep(o.Record, nil)
		if r.returns.Load() != returns {
			r.restoreCall(o.Record.ID)
		}
	case out == state.AnswerCompleted:
		return out, func() { r.resume(o, Reason{Why: call.ByAnswer, Began: began, By: &x.by, Token: x.token}, returns) }, nil
	}
	return out, nil, nil
}

// retryAnswer retries an answer until it is known whether it was stored, because it may make this
// replica the owner of the call.
func (r *Replica) retryAnswer(x answer) {
	r.retryLater(&r.answerRetries, x.bytes(), func() {
		for range retryTries {
			if !r.sleep(time.Second) {
				return
			}
			_, release, err := r.match(r.life, x)
			if release != nil {
				release()
			}
			if call.FaultOf(err) != call.Unavailable {
				return
			}
		}
	})
}

// retryLater calls fn in a goroutine. It does nothing if n, the number of running goroutines of its
// kind, or the bytes of all of them exceed their bounds.
func (r *Replica) retryLater(n *atomic.Int32, bytes int, fn func()) {
	size := int64(bytes)
	done := func() {
		n.Add(-1)
		r.retryBytes.Add(-size)
	}
	most, held := n.Add(1) > maxRetries, r.retryBytes.Add(size) > maxRetryBytes
	if most || held {
		done()
		return
	}
	r.work.Spawn(func() {
		defer done()
		fn()
	})
}

// keepUnmatched keeps an answer to an unknown question. It is stored again if the store was
// recently unavailable.
func (r *Replica) keepUnmatched(x answer) {
	if x.bytes() > unmatchedSize {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.forgetUnmatched(now)
	var n, bytes, ofSession int
	r.unmatched = slices.DeleteFunc(slices.Insert(r.unmatched, 0, unmatched{x, now + unmatchedFor}), func(o unmatched) bool {
		if o.session == x.session {
			ofSession++
		}
		if o.session == x.session && ofSession > sessionUnmatched {
			return true
		}
		n, bytes = n+1, bytes+o.bytes()
		return n > maxUnmatched || bytes > unmatchedBytes
	})
	if r.mayRestore(now) {
		r.matchAgain()
	}
}

// mayRestore reports whether the store may lack a question that a replica restores: it has returned lately, or
// it may have done so before this replica started, which hears of no earlier return. The caller holds r.mu.
func (r *Replica) mayRestore(now time.Duration) bool { return min(now, now-r.back) < unmatchedFor }

// forgetUnmatched drops unmatched answers that have expired. The caller holds r.mu.
func (r *Replica) forgetUnmatched(now time.Duration) {
	r.unmatched = slices.DeleteFunc(r.unmatched, func(o unmatched) bool { return o.until <= now })
	if len(r.unmatched) == 0 {
		r.unmatched = nil
	}
}

// matchAgain starts a goroutine that stores the unmatched answers again, once a second, unless one
// runs. The caller holds r.mu.
func (r *Replica) matchAgain() {
	if r.matching || len(r.unmatched) == 0 {
		return
	}
	r.matching = true
	r.work.Spawn(func() {
		for r.sleep(time.Second) {
			for _, l := range slices.Backward(r.allUnmatched()) {
				out, release, err := r.answer(r.life, l.answer)
				if release != nil {
					release()
				}
				if err == nil && out != state.AnswerUnknown {
					r.dropUnmatched(l)
				}
			}
			r.mu.Lock()
			if r.matching = len(r.unmatched) > 0 && r.mayRestore(r.now()); !r.matching {
				r.mu.Unlock()
				return
			}
			r.mu.Unlock()
		}
	})
}

// allUnmatched returns the unmatched answers that have not expired.
func (r *Replica) allUnmatched() []unmatched {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetUnmatched(r.now())
	return slices.Clone(r.unmatched)
}

// dropUnmatched drops an answer whose question was found.
func (r *Replica) dropUnmatched(l unmatched) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unmatched = slices.DeleteFunc(r.unmatched, func(o unmatched) bool { return o.given.Token == l.given.Token })
}

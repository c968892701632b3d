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
	// looseFor is how long an answer is kept that nobody seems to wait for: its question may have been lost and come
	// back. When the store was away it is kept as long again.
	looseFor = 10 * time.Second
	// maxLoose and looseBytes bound the loose answers of a replica, sessionLoose those of one session; the oldest go first.
	maxLoose, looseBytes, sessionLoose = 1024, 1 << 20, 32
	// looseSize is how large a loose answer may be; a larger one is not kept.
	looseSize = 64 << 10
	// insistTries bounds how often what a client gave is given again, once a second, of which it is not known what came of
	// it.
	insistTries = 20
	// maxInsisting bounds how many answers, and how many cancellations, are at a time, insistBytes what they hold; those
	// that come then are not given again.
	maxInsisting, insistBytes = 256, 4 << 20
	// answerOverhead is what an answer counts beside its result or error.
	answerOverhead = 256
)

// answer is a client's answer under way.
type answer struct {
	session, ask string
	given        state.Answer
	random       uint32
	// by is who gave it, with token.
	by    mcp.Principal
	token mcp.Token
}

// bytes is what it counts.
func (x *answer) bytes() int {
	return answerOverhead + len(x.session) + len(x.ask) + len(x.given.Token) + x.given.Bytes() + len(x.token.Reveal())
}

// loose is an answer that nobody seems to wait for.
type loose struct {
	answer
	until time.Duration
}

// Answer takes a client's answer to a question. The one that completes a set makes the call this replica's: release,
// unless it is nil, goes on with it, and is to be called once the client was told that the answer is safe. After an
// error it is not known, and the client should try again: the answer is given again here too. The call goes on with the
// credentials of by, who gave the answer, however often it was given, and with the token of ctx.
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
		// A later step is another's to know.
		r.keep(o.Record, nil)
		if r.returns.Load() != returns {
			r.restoreCall(o.Record.ID)
		}
	case out == state.AnswerCompleted:
		return out, func() { r.resume(o, Reason{Why: call.ByAnswer, Began: began, By: &x.by, Token: x.token}, returns) }, nil
	}
	return out, nil, nil
}

// insist gives an answer again until it is known what came of it: the call may be this replica's.
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

// insistOn calls fn in a goroutine, unless as many of its kind, which n counts, are at it as may be, or what all hold is too
// much.
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

// setAside keeps an answer that nobody seems to wait for; shortly after the store was away it is given again.
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

// forgetLoose lets go of loose answers that were kept for long enough. r.mu is locked.
func (r *Replica) forgetLoose(now time.Duration) {
	r.loose = slices.DeleteFunc(r.loose, func(o loose) bool { return o.until <= now })
	if len(r.loose) == 0 {
		r.loose = nil
	}
}

// giveLoose has the loose answers given again, once a second, by one goroutine. r.mu is locked.
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

// dueLoose are the loose answers that are still kept.
func (r *Replica) dueLoose() []loose {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLoose(r.now())
	return slices.Clone(r.loose)
}

// settleLoose forgets an answer whose question was there.
func (r *Replica) settleLoose(l loose) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loose = slices.DeleteFunc(r.loose, func(o loose) bool { return o.given.Token == l.given.Token })
}

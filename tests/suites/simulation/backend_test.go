package simulation

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// round is what the backend does in one round of a call.
type round struct {
	pauses []time.Duration // before each progress
	last   time.Duration   // before its end
	end    call.ReplyKind
	asks   int
	// checkpoint is the progress after which the round may be run again from there; 0: after none.
	checkpoint int
}

// backendRun is one run of a round.
type backendRun struct {
	r       *replica
	c       *request
	events  *runtime.Driver
	returns chan *call.Reply
	stopped bool
}

// begin runs a round of a call.
func (b *backendRun) begin(rec *medium.Record) {
	w, c := b.r.w, b.c
	if w.now < b.r.paused {
		b.after(b.r.paused-w.now, func() { b.begin(rec) })
		return
	}
	from := w.judge.ran(c, rec)
	r := c.plan[min(rec.Round, len(c.plan))-1]
	run := w.draw32()
	w.logf("r%d runs %s, round %d attempt %d", b.r.id, c.id, rec.Round, rec.Attempt)
	at := time.Duration(0)
	for i, pause := range r.pauses {
		if i < from {
			continue
		}
		at += pause
		v := float64(100*rec.Round + i)
		b.after(at, func() {
			b.events.Emit(&state.Entry{Kind: state.EntryProgress, Progress: v, Data: fmt.Appendf(nil, "progress %v of %d", v, run)})
			if i+1 == r.checkpoint {
				text := fmt.Sprintf("checkpoint %d of round %d with %s", r.checkpoint, rec.Round, answersIn(rec))
				w.judge.checkpoint(c, text)
				b.events.Checkpoint([]byte(text))
			}
		})
	}
	reply := &call.Reply{Kind: r.end, State: fmt.Appendf(nil, "after round %d", rec.Round)}
	switch r.end {
	case call.Final:
		reply.Response = fmt.Appendf(nil, "result %d %s", run, answersIn(rec))
	case call.Asks:
		for i := range r.asks {
			id := fmt.Sprintf("%s-%d-%d-%d", c.id, rec.Round, i, run)
			reply.Asks = append(reply.Asks, state.Ask{ID: id, Message: []byte(id)})
		}
	case call.Busy:
		reply.Pause = 100 * time.Millisecond
	}
	b.after(at+r.last, func() {
		c.returned = w.now
		b.returns <- reply
	})
}

func (b *backendRun) after(d time.Duration, do func()) {
	b.r.after(d, backendSends, func() {
		if !b.stopped {
			b.r.w.judge.runs(b.c)
			do()
		}
	})
}

// answersIn are the answers that a round has, those that a checkpoint has kept included.
func answersIn(r *medium.Record) string {
	if _, kept, ok := strings.Cut(string(r.State), " with "); ok && r.Resumable {
		return kept
	}
	return answersOf(r)
}

// answersOf are the answers that a round is run with.
func answersOf(r *medium.Record) string {
	var out []string
	for _, q := range r.Asked {
		if q.Answer != nil {
			out = append(out, string(q.Answer.Result))
		}
	}
	return strings.Join(out, ", ")
}

package simulation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// round is what the backend does in one round of a call.
type round struct {
	pauses []time.Duration // before each progress
	last   time.Duration   // before its end
	end    call.ReplyKind
	asks   int
	// pause is how long a busy backend wants to be left alone. approval is how long the round waits for the approval of another person, which
	// it asks for instead of its client; 0: it does not.
	pause, approval time.Duration
	// checkpoint is the progress after which the round may be run again from there; 0: after none.
	checkpoint int
	// repeatable: the next round may be run again from the state of this one's end, and may ask again.
	repeatable bool
}

// run is what a backend is given to run a round.
type run struct {
	round, attempt, lapses int
	// answers are those that the round has, those that a checkpoint has kept included.
	answers string
	// checkpoint is the state from which it is run again; empty: it begins.
	checkpoint string
}

// runOf is the run of a call's record.
func runOf(r *medium.Record) *run {
	out := &run{round: r.Round, attempt: r.Attempt, lapses: r.Lapses}
	var answers []string
	for _, q := range r.Asked {
		if q.Answer != nil {
			answers = append(answers, string(q.Answer.Result))
		}
	}
	out.answers = strings.Join(answers, ", ")
	if state := string(r.State); r.Resumable && strings.HasPrefix(state, "checkpoint") { // Otherwise it begins again.
		out.resumes(state)
	}
	return out
}

// resumes has the run begin at a checkpoint.
func (u *run) resumes(checkpoint string) {
	u.checkpoint = checkpoint
	if _, kept, ok := strings.Cut(checkpoint, " with "); ok {
		u.answers = kept
	}
}

// repeats says whether a round may be run again, because the one before permits it.
func (c *request) repeats(round int) bool {
	return round > 1 && c.plan[min(round-1, len(c.plan))-1].repeatable
}

// ending is how a round ends.
type ending struct {
	kind          call.ReplyKind
	state, result []byte
	asks          []string
	// pause, approval and repeatable are as in round.
	pause, approval time.Duration
	repeatable      bool
}

// backendRun is one run of a round.
type backendRun struct {
	r *replica
	c *request
	// progresses takes progress, checkpoints the state of a checkpoint.
	progresses  func(v float64, text []byte)
	checkpoints func(state []byte)
	returns     chan *ending
	stopped     bool
	// running: it has begun, and has not ended.
	running bool
}

// run has the backend run a round, and waits for its end; false: ctx has ended first. number orders the runs of a call here.
func (b *backendRun) run(ctx context.Context, number uint64, u *run) (*ending, bool) {
	b.returns = make(chan *ending, 1)
	b.r.arrive(arrival{what: backendRuns, name: b.c.id, n: number, do: func() { b.begin(u) }})
	select {
	case end := <-b.returns:
		return end, true
	case <-ctx.Done():
		b.r.arrive(arrival{what: backendEnds, name: b.c.id, n: number, do: func() {
			b.stopped = true
			b.ends(nil)
		}})
		return nil, false
	}
}

// begin runs a round of a call.
func (b *backendRun) begin(u *run) {
	w, c := b.r.w, b.c
	if w.now < b.r.paused {
		b.after(b.r.paused-w.now, func() { b.begin(u) })
		return
	}
	b.begins()
	from := w.judge.ran(c, u)
	r := c.plan[min(u.round, len(c.plan))-1]
	number := w.draw32()
	w.logf("r%d runs %s, round %d attempt %d", b.r.id, c.id, u.round, u.attempt)
	at := time.Duration(0)
	for i, pause := range r.pauses {
		if i < from {
			continue
		}
		at += pause
		v := float64(100*u.round + i)
		b.after(at, func() {
			b.progresses(v, fmt.Appendf(nil, "progress %v of %s in run %d", v, c.id, number))
			if i+1 == r.checkpoint {
				text := fmt.Sprintf("checkpoint %d of round %d with %s", r.checkpoint, u.round, u.answers)
				w.judge.checkpoint(c, text)
				b.checkpoints([]byte(text))
			}
		})
	}
	end := &ending{kind: r.end, state: fmt.Appendf(nil, "after round %d", u.round), repeatable: r.repeatable}
	switch r.end {
	case call.Final:
		end.result = fmt.Appendf(nil, "result of %s %d %s", c.id, number, u.answers)
	case call.Asks:
		for i := range r.asks {
			end.asks = append(end.asks, fmt.Sprintf("%s-%d-%d-%d", c.id, u.round, i, number))
		}
		end.approval = r.approval
	case call.Busy:
		end.pause = r.pause
	}
	b.after(at+r.last, func() {
		b.ends(end)
		c.returned = w.now
		w.judge.results[string(end.result)] = true
		b.returns <- end
	})
}

// begins notes that the backend runs a round of a task.
func (b *backendRun) begins() {
	if k := b.r.w.taskOf(b.c.id); k != nil {
		b.running, k.jobs.running, k.jobs.begun = true, k.jobs.running+1, true
		b.r.runs++
	}
}

// ends notes that it has ended, or was cancelled if end is nil.
func (b *backendRun) ends(end *ending) {
	k := b.r.w.taskOf(b.c.id)
	if k == nil || !b.running {
		return
	}
	b.running = false
	k.jobs.running--
	b.r.runs--
	if k.jobs.kept = ""; end != nil && end.kind != call.Final {
		k.jobs.kept = string(end.state)
	}
}

func (b *backendRun) after(d time.Duration, do func()) {
	b.r.after(d, backendSends, func() {
		if !b.stopped {
			b.r.w.judge.runs(b.c)
			do()
		}
	})
}

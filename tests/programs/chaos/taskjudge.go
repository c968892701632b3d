package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// takeoverBound is within what a lost task that may be run again must be run, at p99: after the last loss, or Redis's return.
const takeoverBound = 10 * time.Second

// tasks holds what became of tasks against what must be true.
func (r *report) tasks(e *evidence) {
	ends := r.check("every task ends")
	once := r.check("a task that has ended stays so, and nothing else is odd about it")
	safe := r.check("a task that may be run again is completed, unless as many replicas were lost as may be")
	unsafe := r.check("a task that may not be run again is run once in a round; unknown only after a loss")
	staged := r.check("a task that goes on from its last checkpoint leaves no stage out")
	soon := r.check(fmt.Sprintf("99 of 100 lost tasks that may be run again are run within %s of the last loss", takeoverBound))
	kinds, took, slowest := map[string]int{}, []time.Duration{}, map[time.Duration]string{}
	happened := e.happened()
	for _, h := range e.holders {
		for _, t := range h.tasks {
			runs := e.ledger.of(t.tag)
			say := func(why string) string { return why + "\n" + t.transcript(runs, happened) }
			kinds[t.tool]++
			why := ""
			if !t.over() || t.forgotten && !e.rules.rollback && len(t.odd) == 0 {
				why = fmt.Sprintf("the task is %s, forgotten %v", t.status, t.forgotten)
			}
			ends.see(why, say)
			once.see(strings.Join(t.odd, "; "), say)
			if t.forgotten {
				continue
			}
			lost := lossesOfTask(t, happened)
			if t.tool == "task_steps" && t.status == "completed" {
				staged.see(e.ledger.skipped(t.tag), say)
			}
			if taskKinds[t.tool] && !t.beforeCheckpoint(runs, lost, e) {
				safe.see(t.safely(lost, e.rules), say)
				for _, d := range takeovers(runs, happened) {
					if took = append(took, d); d > takeoverBound {
						slowest[d] = t.transcript(runs, happened)
					}
				}
			} else {
				unsafe.see(t.unsafely(runs, lost, e), say)
			}
		}
	}
	soon.seen = len(took)
	if slices.Sort(took); len(took) > 0 {
		if p99 := took[min(len(took)-1, len(took)*99/100)]; p99 > takeoverBound {
			soon.miss(fmt.Sprintf("p99 is %s of %d takeovers\n%s", p99.Round(time.Millisecond), len(took), slowest[p99]))
		}
	}
	for _, kind := range slices.Sorted(func(yield func(string) bool) {
		for k := range kinds {
			if !yield(k) {
				return
			}
		}
	}) {
		r.rows = append(r.rows, row{"tasks of " + kind, kinds[kind], 0})
	}
	r.rows = append(r.rows, row{"tasks that were run again", len(took), 0})
}

// lossesOfTask are the losses while a task lived: whose they were is not known of one that was claimed and not run.
func lossesOfTask(t *held, all []loss) (out []loss) {
	for _, l := range all {
		if l.at.After(t.began) && (t.ended.IsZero() || l.at.Before(t.ended)) {
			out = append(out, l)
		}
	}
	return out
}

// storing is how long a checkpoint may take from the backend into Redis. Nobody waits for it, so a replica may be lost meanwhile.
const storing = 500 * time.Millisecond

// beforeCheckpoint says whether a task may have been lost before Redis had a checkpoint to go on from, and so was not run again.
func (t *held) beforeCheckpoint(runs []*run, lost []loss, e *evidence) bool {
	if t.tool != "task_steps" || t.code != codeUnknownOutcome || !e.rules.unknown {
		return false
	}
	if len(runs) == 0 {
		return len(lost) > 0 // It was recorded as called, and then its replica was lost.
	}
	owner, sent := runs[len(runs)-1].by, e.ledger.kept[t.tag]
	return slices.ContainsFunc(lost, func(l loss) bool { return l.by == owner && !e.stored(sent, l.at) })
}

// stored says whether a checkpoint that was sent at a time, zero: never, was in Redis at another.
func (e *evidence) stored(sent, by time.Time) bool {
	return !sent.IsZero() && by.Sub(sent) >= storing &&
		!slices.ContainsFunc(e.stalls, func(s stall) bool { return s.from.Before(by) && s.to.After(sent) })
}

// safely judges how a task ended that may be run again.
func (t *held) safely(lost []loss, rules rules) string {
	if t.status == "completed" && t.text == "" || t.status == "failed" && t.code == codeUnknownOutcome && len(lost) >= attempts && rules.unknown {
		return ""
	}
	return fmt.Sprintf("%s, %d %s, after %d losses", t.status, t.code, t.text, len(lost))
}

// unsafely judges one that may not.
func (t *held) unsafely(runs []*run, lost []loss, e *evidence) string {
	rounds := map[int]int{}
	for _, r := range runs {
		if rounds[r.round]++; rounds[r.round] > 1 && !e.rules.rollback {
			return fmt.Sprintf("round %d was run %d times", r.round, rounds[r.round])
		}
	}
	switch n := e.ledger.bookings[trip(t.tag)]; {
	case n > 1 && !e.rules.rollback:
		return fmt.Sprintf("booked %d times", n)
	case t.status == "completed" && t.text == "" && n > 0:
		return ""
	case t.status == "failed" && t.code == codeUnknownOutcome && e.rules.unknown && len(lost) > 0:
		return ""
	}
	return fmt.Sprintf("%s, %d %s, after %d losses", t.status, t.code, t.text, len(lost))
}

// takeovers are how long it took, after each loss of the one who ran a task, until it was run again.
func takeovers(runs []*run, losses []loss) (out []time.Duration) {
	for i := 1; i < len(runs); i++ {
		if runs[i].attempt == 1 {
			continue // It was called again, or answered.
		}
		var last time.Time
		for _, l := range losses {
			if l.at.After(runs[i-1].start) && l.at.Before(runs[i].start) && (l.by == runs[i-1].by || l.by == "") {
				last = l.at
			}
		}
		if !last.IsZero() {
			out = append(out, runs[i].start.Sub(last))
		}
	}
	return out
}

// transcript is what is known of a task.
func (t *held) transcript(runs []*run, losses []loss) string {
	var b strings.Builder
	at := func(x time.Time) string { return x.Format("05.000") }
	fmt.Fprintf(&b, "  %s %s, task %s, began %s, ended %s as %s %d %s\n", t.tool, t.tag, t.id, at(t.began), at(t.ended), t.status, t.code, t.text)
	for _, r := range runs {
		fmt.Fprintf(&b, "  %s  run by %s, round %d, attempt %d, until %s\n", at(r.start), r.by, r.round, r.attempt, at(r.end))
	}
	for _, l := range losses {
		if l.at.After(t.began) && (t.ended.IsZero() || l.at.Before(t.ended)) {
			fmt.Fprintf(&b, "  %s  %s\n", at(l.at), l.what)
		}
	}
	return b.String()
}

package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// judge holds a history against the invariants of durable state.
type judge struct {
	w *world
	// ids are the event ids that were sent, of all histories of the store.
	ids map[place]string
	// attempts are how often a round was run, answers those that it was run with.
	attempts map[string]int
	answers  map[string]string
	// checkpoints are those that backends sent, by their texts.
	checkpoints map[string]bool
	failures    []string
}

type place struct {
	stream string
	medium.Position
}

func (j *judge) init(w *world) {
	*j = judge{w: w, ids: map[place]string{}, attempts: map[string]int{}, answers: map[string]string{}, checkpoints: map[string]bool{}}
}

func (j *judge) fail(format string, args ...any) {
	j.failures = append(j.failures, fmt.Sprintf(format, args...))
}

// hearsBy is how long after a rewind all replicas have heard of it, and have sent again what they know.
const hearsBy = 5 * time.Second

// calm says that the store has lost nothing so far.
func (j *judge) calm() bool { return j.w.rewinds == 0 }

// sent judges an event that is sent to a client.
func (j *judge) sent(k *conn, e *event) {
	c := k.c
	if c.responses > 0 {
		j.fail("%s is sent %q after its response", c.id, e.data)
	}
	if !e.numbered {
		if j.calm() || e.kind == state.EntryProgress {
			j.fail("%s is sent %q without an id", c.id, e.data)
		}
		return
	}
	if slices.Contains(k.ids, e.at) {
		j.fail("%s is sent the id %v twice on one connection", c.id, printed(e.at))
	}
	k.ids = append(k.ids, e.at)
	at := place{c.stream, e.at}
	if was, ok := j.ids[at]; ok && was != e.data {
		j.fail("the id %v of %s stands for %q and for %q", printed(e.at), c.id, was, e.data)
	}
	j.ids[at] = e.data
	for i := range c.got {
		g := &c.got[i]
		again := g.numbered && g.at == e.at
		if again && (j.calm() || e.kind == state.EntryProgress && !branched(c.got[i:])) {
			j.fail("%s is sent %v again", c.id, printed(e.at))
		}
		if j.calm() && !again && !g.at.Before(e.at) {
			j.fail("%s is sent %v after %v", c.id, printed(e.at), printed(g.at))
		}
		if j.calm() && g.kind == state.EntryProgress && e.kind == state.EntryProgress && g.progress >= e.progress {
			j.fail("%s is told progress %v after %v", c.id, e.progress, g.progress)
		}
	}
}

func printed(p medium.Position) string {
	return fmt.Sprintf("%d/%x.%d", p.Epoch.Counter(), p.Epoch.Random(), p.Seq)
}

// branched says whether a client was sent something of another branch after the first entry: the store had lost that,
// and its author had not sent it again yet.
func branched(got []event) bool {
	for i := range got {
		if got[i].numbered && got[i].at.Epoch != got[0].at.Epoch && got[i].at.Epoch.Counter() <= got[0].at.Epoch.Counter() {
			return true
		}
	}
	return false
}

// checkpoint notes from where a round may be run again.
func (j *judge) checkpoint(c *request, text string) { j.checkpoints[c.id+" "+text] = true }

// ran judges a run of the backend. It gives how much of the round is done: up to its checkpoint.
func (j *judge) ran(c *request, r *medium.Record) (from int) {
	round := fmt.Sprintf("%s/%d", c.id, r.Round)
	j.attempts[round]++
	answers := answersIn(r)
	if r.Resumable {
		of := 0
		_, err := fmt.Sscanf(string(r.State), "checkpoint %d of round %d", &from, &of)
		if err != nil || of != r.Round || !j.checkpoints[c.id+" "+string(r.State)] {
			j.fail("round %d of %s is run from the checkpoint %q, which it never had", r.Round, c.id, r.State)
		}
	}
	if j.calm() && !c.safe {
		if j.attempts[round] > 1 && !r.Resumable {
			j.fail("round %d of %s is run again, which is not safe", r.Round, c.id)
		}
		j.firstAnswers(c, answers)
		if was, ok := j.answers[round]; ok && was != answers {
			j.fail("round %d of %s is run with %q and with %q", r.Round, c.id, was, answers)
		}
	}
	j.answers[round] = answers
	if r.Lapses >= j.w.config.MaxAttempts {
		j.fail("%s is run though %d replicas were lost with it", c.id, r.Lapses)
	}
	if last := min(r.Round-1, len(c.plan)) - 1; last >= 0 && c.plan[last].end == call.Asks {
		if n := len(strings.Split(answers, ", ")); answers == "" || n != c.plan[last].asks {
			j.fail("round %d of %s is run with the answers %q, of %d questions", r.Round, c.id, answers, c.plan[last].asks)
		}
	}
	return from
}

// firstAnswers judges the answers that a round is run with: none was sent after another was taken.
func (j *judge) firstAnswers(c *request, answers string) {
	for text := range strings.SplitSeq(answers, ", ") {
		a := c.given[text]
		if a == nil {
			continue
		}
		for other, o := range c.given {
			if o.ask == a.ask && o.taken > 0 && o.taken < a.sent {
				j.fail("%s is run with %q, though %q had been taken", c.id, text, other)
			}
		}
	}
}

// end judges a history that has ended.
func (j *judge) end() {
	for _, c := range j.w.requests {
		j.ended(c)
	}
}

// endedDeleted judges a call whose client has sent a DELETE of its session.
func (j *judge) endedDeleted(c *request) {
	_, _, stored := j.w.medium.Call(c.id)
	switch {
	case !c.done:
		j.fail("%s hangs, though its session was deleted", c.id)
	case c.responses > 1:
		j.fail("%s has %d responses", c.id, c.responses)
	case stored && j.calm() && j.w.deletions[c.session].done > 0:
		j.fail("the record of %s stays, though its session was deleted", c.id)
	}
}

func (j *judge) ended(c *request) {
	w := j.w
	if c.deleted() {
		j.endedDeleted(c)
		return
	}
	if !j.calm() && w.lost(c.session) { // Its calls end as those of an unknown session.
		if !c.done || c.responses > 1 {
			j.fail("%s has %d responses and ended %v, with its session lost", c.id, c.responses, c.done)
		}
		return
	}
	// Who has cancelled answers no more; a cancellation may be lost with the replica that takes it.
	late := strings.HasPrefix(c.response, "failure 1 ") && !(c.cancelled && w.stops+w.outages+w.rewinds > 0) && !(c.cancelled && w.lossy)
	switch {
	case !c.done:
		j.fail("%s hangs", c.id)
	case c.unknown && j.calm():
		j.fail("the stream of %s is unknown though nothing was lost", c.id)
	case c.responses > 1:
		j.fail("%s has %d responses", c.id, c.responses)
	case late && j.calm():
		j.fail("%s ended by its lifetime: %q", c.id, c.response)
	case strings.HasPrefix(c.response, "failure") && j.calm() && w.stops == 0 && w.outages == 0 && !w.lossy && !w.refuses:
		j.fail("%s ended with %q without a fault", c.id, c.response)
	}
	// The store's absence stops nobody.
	unknown := strings.HasPrefix(c.response, fmt.Sprintf("failure %d ", call.UnknownOutcome))
	poison := strings.HasPrefix(c.response, fmt.Sprintf("failure %d ", call.Poison))
	if (unknown || poison) && j.calm() && w.stops == 0 && !w.lossy {
		j.fail("%s ended with %q though nobody has stopped", c.id, c.response)
	}
	rec, log, stored := w.medium.Call(c.id)
	if j.calm() && c.responses == 1 && len(c.got) > 0 && stored && len(c.got) != len(log) {
		j.fail("%s was sent %d of %d entries", c.id, len(c.got), len(log))
	}
	if stored && w.stops == 0 && rec.Phase == state.PhaseDone && !w.refuses {
		for i := 1; i < len(log); i++ {
			if a, b := &log[i-1], &log[i]; b.Epoch == rec.Epoch && b.Seq != a.Seq+1 && a.Epoch == b.Epoch {
				j.fail("the log of %s has a gap behind %d.%d", c.id, a.Epoch.Counter(), a.Seq)
			}
		}
	}
	if stored && j.calm() && rec.Phase != state.PhaseDone && rec.Phase != state.PhaseWaiting {
		j.fail("the record of %s stays, and nobody runs it", c.id)
	}
	// Where nobody stops, everybody who hears of it sends again what was lost; and who writes later hears of it.
	if w.silent && !j.calm() && (c.returned < w.rewound+opTimeout || len(c.given) > 0) {
		return
	}
	// A client that comes back before its replica hears of it is told that there is no such stream.
	if c.unknown && w.stops == 0 && c.unknownAt > w.rewound+hearsBy {
		j.fail("the stream of %s is unknown though nobody has stopped", c.id)
	}
	if late && w.stops == 0 {
		j.fail("%s ended by its lifetime though nobody has stopped", c.id)
	}
}

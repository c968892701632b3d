package simulation

import (
	"fmt"
	"slices"
	"strings"

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
	// results are those that backends sent.
	results map[string]bool
	// ends are those that the store took, by calls.
	ends     map[string][]*callEnd
	failures []string
}

type place struct {
	stream string
	medium.Position
}

func (j *judge) init(w *world) {
	*j = judge{
		w: w, ids: map[place]string{}, attempts: map[string]int{}, answers: map[string]string{},
		checkpoints: map[string]bool{}, results: map[string]bool{}, ends: map[string][]*callEnd{},
	}
}

func (j *judge) fail(format string, args ...any) {
	j.failures = append(j.failures, fmt.Sprintf(format, args...))
}

// calm says that the store has lost nothing so far.
func (j *judge) calm() bool { return j.w.rewinds == 0 }

// sent judges an event that is sent to a client.
func (j *judge) sent(k *conn, e *event) {
	x, c := k.x, e.of
	if c.responses > 0 && (!x.repeats() || e.kind == state.EntryResponse && e.data != c.response && !c.endedAgain()) {
		j.fail("%s is sent %q after its response", c.id, e.data)
	}
	if !e.numbered {
		if j.calm() || e.kind == state.EntryProgress {
			j.fail("%s is sent %q without an id", c.id, e.data)
		}
		return
	}
	if slices.Contains(k.ids, e.at) {
		j.fail("%s is sent the id %v twice on one connection", x.id, printed(e.at))
	}
	k.ids = append(k.ids, e.at)
	at := place{x.stream, e.at}
	if was, ok := j.ids[at]; ok && was != e.data {
		j.fail("the id %v of %s stands for %q and for %q", printed(e.at), x.id, was, e.data)
	}
	j.ids[at] = e.data
	for i := range x.got {
		g := &x.got[i]
		again := g.numbered && g.at == e.at
		if again && (j.calm() || e.kind == state.EntryProgress && !branched(x.got[i:])) {
			j.fail("%s is sent %v again", x.id, printed(e.at))
		}
		if j.calm() && !again && !g.at.Before(e.at) {
			j.fail("%s is sent %v after %v", x.id, printed(e.at), printed(g.at))
		}
		if j.calm() && g.of == c && g.kind == state.EntryProgress && e.kind == state.EntryProgress && g.progress >= e.progress {
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
func (j *judge) ran(c *request, u *run) (from int) {
	round := fmt.Sprintf("%s/%d", c.id, u.round)
	j.attempts[round]++
	j.runsTask(c, true)
	if u.checkpoint != "" {
		of := 0
		_, err := fmt.Sscanf(u.checkpoint, "checkpoint %d of round %d", &from, &of)
		if err != nil || of != u.round || !j.checkpoints[c.id+" "+u.checkpoint] {
			j.fail("round %d of %s is run from the checkpoint %q, which it never had", u.round, c.id, u.checkpoint)
		}
	}
	if j.calm() && !c.safe {
		if j.attempts[round] > 1 && u.checkpoint == "" && !c.repeats(u.round) {
			j.fail("round %d of %s is run again, which is not safe", u.round, c.id)
		}
		j.firstAnswers(c, u.answers)
		if was, ok := j.answers[round]; ok && was != u.answers {
			j.fail("round %d of %s is run with %q and with %q", u.round, c.id, was, u.answers)
		}
	}
	j.answers[round] = u.answers
	for text := range strings.SplitSeq(u.answers, ", ") {
		if text != "" && c.given[text] == nil {
			j.fail("round %d of %s is run with %q, which its client has not answered", u.round, c.id, text)
		}
		j.expired(c, text)
	}
	if u.lapses >= j.w.config.MaxAttempts {
		j.fail("%s is run though %d replicas were lost with it", c.id, u.lapses)
	}
	if last := min(u.round-1, len(c.plan)) - 1; last >= 0 && c.plan[last].end == call.Asks {
		if n := len(strings.Split(u.answers, ", ")); u.answers == "" || n != c.plan[last].asks {
			j.fail("round %d of %s is run with the answers %q, of %d questions", u.round, c.id, u.answers, c.plan[last].asks)
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
	for _, x := range j.w.exchanges {
		j.exchange(x)
		for _, c := range x.calls {
			j.ended(c)
		}
	}
	for _, k := range j.w.tasks {
		j.task(k)
	}
	j.counted()
}

// exchange judges an exchange that has ended.
func (j *judge) exchange(x *exchange) {
	w, c := j.w, x.calls[0]
	rec, log, stored := w.medium.Call(c.id)
	// The rest of a batch is waited for without end if the store has lost one of its calls for good.
	if !x.done && !x.answered() && !x.mayMiss() || !x.done && j.calm() {
		j.fail("%s hangs: %v", x.id, x.answers())
	}
	if x.deleted() || !j.calm() && w.lost(x.session) {
		return
	}
	if x.unknown && j.calm() {
		j.fail("the stream of %s is unknown though nothing was lost", x.id)
	}
	if j.calm() && x.complete() && len(x.got) > 0 && stored && len(x.got) != len(log) {
		j.fail("%s was sent %d of %d entries", x.id, len(x.got), len(log))
	}
	if stored && w.stops == 0 && rec.Phase == state.PhaseDone && !w.refuses && len(x.calls) == 1 {
		for i := 1; i < len(log); i++ {
			if a, b := &log[i-1], &log[i]; b.Epoch == rec.Epoch && b.Seq != a.Seq+1 && a.Epoch == b.Epoch {
				j.fail("the log of %s has a gap behind %d.%d", x.id, a.Epoch.Counter(), a.Seq)
			}
		}
	}
	j.responses(x, log)
	// A client that comes back before its replica hears of it is told that there is no such stream: a replica that waited for each unknown
	// stream, in case that the store was away, would answer late for each that has expired. One that has heard waits until it is restored.
	if x.unknown && x.heardOf && w.stops == 0 && !w.excused(x.calls...) {
		j.fail("the stream of %s is unknown though its replica had heard of the loss, and nobody has stopped", x.id)
	}
}

// answers are how many responses the calls have, by their ids.
func (x *exchange) answers() map[string]int {
	out := map[string]int{}
	for _, c := range x.calls {
		out[c.id] = c.responses
	}
	return out
}

// complete says whether all calls have responses.
func (x *exchange) complete() bool {
	return !slices.ContainsFunc(x.calls, func(c *request) bool { return c.responses == 0 })
}

// responses judges the responses in the log of an exchange: one for each call, unless the store lost one that was written; and of one owner
// that heard of it the one that was sent.
func (j *judge) responses(x *exchange, log []medium.Entry) {
	for _, c := range x.calls {
		n := 0
		for i := range log {
			e := &log[i]
			if e.Kind != state.EntryResponse || j.w.subject(string(e.Data)) != c {
				continue
			}
			n++
			j.runsAgain(c, string(e.Data))
			other := func(g event) bool {
				return g.kind == state.EntryResponse && g.at.Epoch == e.Epoch && g.data != string(e.Data)
			}
			if len(x.calls) == 1 && !j.w.silent && slices.ContainsFunc(x.got, other) {
				j.fail("the log has %q of %s, which was sent %q", e.Data, c.id, c.response)
			}
		}
		if n > 1 {
			j.fail("the log has %d responses of %s", n, c.id)
		}
	}
}

// runsAgain judges a response in a log: a round that may be run again does not end because its replica is lost, unless the store has
// refused the record that said so, or the client has another response.
func (j *judge) runsAgain(c *request, response string) {
	of := fmt.Sprintf("failure %d of %s/%%d/", call.UnknownOutcome, c.id)
	round := 0
	if _, err := fmt.Sscanf(response, of, &round); err == nil && c.repeats(round) && response == c.response && !j.w.refuses {
		j.fail("%s ended with %q, though its round %d may be run again", c.id, response, round)
	}
}

// excused says whether what was lost of calls may be lost: nobody heard of it, and nobody wrote later.
func (w *world) excused(calls ...*request) bool {
	return w.silent && !w.judge.calm() && slices.ContainsFunc(calls, func(c *request) bool {
		return c.returned < w.rewound+opTimeout || len(c.given) > 0
	})
}

// repeats says whether the exchange may be sent again what it was sent, or miss a response: it is a batch that goes on after the store has
// lost writes. The comment of the package says why that is not exact.
func (x *exchange) repeats() bool { return len(x.calls) > 1 && !x.w.judge.calm() }

// mayMiss says whether the store may have lost a call of a batch for good: its writer has ended, or no replica heard of it.
func (x *exchange) mayMiss() bool { return x.repeats() && (x.w.stops > 0 || x.w.silent || x.left()) }

// left says whether the writers of the calls may have left them to a DELETE of their session, which the store then lost. No client
// waits for such calls.
func (x *exchange) left() bool {
	d := x.w.deletions[x.session]
	return d != nil && x.w.rewound > d.sent
}

// endedDeleted judges a call whose client has sent a DELETE of its session.
func (j *judge) endedDeleted(c *request) {
	_, _, stored := j.w.medium.Call(c.id)
	switch {
	case c.responses > 1 && !c.endedAgain():
		j.fail("%s has %d responses", c.id, c.responses)
	case stored && j.calm() && j.w.deletions[c.x.session].done > 0:
		j.fail("the record of %s stays, though its session was deleted", c.id)
	}
}

func (j *judge) ended(c *request) {
	w := j.w
	if c.x.deleted() {
		j.endedDeleted(c)
		return
	}
	if !j.calm() && w.lost(c.x.session) { // Its calls end as those of an unknown session.
		if c.responses > 1 && !c.endedAgain() {
			j.fail("%s has %d responses, with its session lost", c.id, c.responses)
		}
		return
	}
	if c.responses > 1 && !c.endedAgain() {
		j.fail("%s has %d responses", c.id, c.responses)
	}
	late := j.failure(c, c.response)
	rec, _, stored := w.medium.Call(c.id)
	if stored && j.calm() && rec.Phase != state.PhaseDone && rec.Phase != state.PhaseWaiting {
		j.fail("the record of %s stays, and nobody runs it", c.id)
	}
	// Where nobody stops, everybody who hears of it sends again what was lost; and who writes later hears of it.
	if late && w.stops == 0 && !c.x.repeats() && !w.excused(c) {
		j.fail("%s ended by its lifetime though nobody has stopped", c.id)
	}
	// A replica that stood still cancels the call again if the store has lost its claim, unless nobody hears that it has, or the replica
	// does so when it does not keep the call any more.
	if r := c.canceller; r != nil && r.alive && !r.closed && !w.silent && r.back < c.claimed+keptFor && isFailure(c.response, call.Late) {
		j.fail("%s ended by its lifetime though r%d, which has cancelled it, has not stopped", c.id, r.id)
	}
}

// isFailure says whether a response is a failure of the edge.
func isFailure(response string, f call.Failure) bool {
	return strings.HasPrefix(response, fmt.Sprintf("failure %d ", f))
}

// failure judges the response of a call if it is a failure of the edge. late says whether it ended by its lifetime without its client's
// doing: who has cancelled answers no more, and a cancellation may be lost with the replica that takes it.
func (j *judge) failure(c *request, response string) (late bool) {
	w := j.w
	is := func(f call.Failure) bool { return isFailure(response, f) }
	late = is(call.Late) && !(c.cancelled && w.stops+w.outages+w.rewinds > 0) && !(c.cancelled && w.lossy)
	switch {
	case late && j.calm():
		j.fail("%s ended by its lifetime: %q", c.id, response)
	case strings.HasPrefix(response, "failure") && j.calm() && w.stops == 0 && w.outages == 0 && !w.lossy && !w.refuses:
		j.fail("%s ended with %q without a fault", c.id, response)
	}
	// The store's absence stops nobody.
	if (is(call.UnknownOutcome) || is(call.Poison)) && j.calm() && w.stops == 0 && !w.lossy {
		j.fail("%s ended with %q though nobody has stopped", c.id, response)
	}
	return late
}

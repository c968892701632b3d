package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// evidence is all that is known after a run.
type evidence struct {
	clients   []*client
	holders   []*holder
	ledger    *ledger
	losses    []loss
	stalls    []stall
	traffic   *traffic
	trail     *trail // nil: nothing was recorded
	rules     rules
	disturbed time.Duration
}

// bound is how long a stream may be silent after the last loss of its call's owner: the lease and the
// pause before a client comes back, both as they are by default, and 2 s.
const bound = 3*time.Second + retryDefault + 2*time.Second

// judge holds the evidence against what must be true.
func (r *report) judge(e *evidence) {
	one := r.check("every call that got an event id has exactly one response")
	ids := r.check("no event id comes twice")
	order := r.check("progress comes once and in order")
	calm := r.check("countdown never errs")
	unknown := r.check("an outcome is unknown only when the call was dispatched at a loss")
	quiet := r.check(fmt.Sprintf("no stream is silent for more than %s after a loss", bound))
	odd := r.check("nothing else goes wrong")
	for _, what := range []string{"POSTs cut before an event id", "resumptions cut", "answers cut"} {
		if n := e.traffic.n[what]; n > 0 && !e.rules.cuts {
			odd.miss(fmt.Sprintf("%s: %d", what, n))
		}
	}
	happened := e.happened()
	for _, c := range e.clients {
		seen := map[string]bool{}
		for _, x := range c.calls {
			runs, rules := e.ledger.of(x.tag), e.rulesOf(x)
			losses := lossesOf(x, runs, happened)
			say := func(why string) string { return why + "\n" + x.transcript(runs, happened) }
			one.see(oneResponse(x, rules), say)
			ids.see(repeated(x, seen), say)
			order.see(progress(x, rules), say)
			if x.tool == "countdown" {
				calm.see(r.countdown(x, losses, rules), say)
			} else {
				unknown.see(r.booking(x, runs, losses, rules), say)
			}
			quiet.see(r.silence(x, losses), say)
			odd.see(oddities(x), say)
		}
	}
	r.bookings(e)
	r.count(e)
	r.tasks(e)
	r.audit(e)
}

// oneResponse judges how a call ended.
func oneResponse(c *call, rules rules) string {
	responses := 0
	for _, e := range c.entries {
		switch e.kind {
		case responded:
			responses++
		case progressed, asked:
			if responses > 0 {
				return "something came after the response"
			}
		}
	}
	switch {
	case c.fate == forgotten && rules.rollback:
		return ""
	case c.fate == answered && responses == 1:
		return ""
	case responses > 0 || c.identified():
		return fmt.Sprintf("the client has an event id, %d responses, and is %s", responses, fates[c.fate])
	case c.fate == cut && rules.cuts, c.fate == rejected && rules.unavailable:
		return ""
	}
	return "the call is " + fates[c.fate]
}

// repeated finds an event id that the session has seen before. The events without a message repeat the
// id that a client is to come back with.
func repeated(c *call, seen map[string]bool) string {
	for _, e := range c.entries {
		if e.kind != progressed && e.kind != asked && e.kind != responded || e.id == "" {
			continue
		}
		if seen[e.id] {
			return "event id " + e.id + " came twice"
		}
		seen[e.id] = true
	}
	return ""
}

// progress judges the progress that came. A log that was rolled back starts over in a new epoch, the
// part of the event ids before the last dot.
func progress(c *call, rules rules) string {
	last, epoch := 0, ""
	for _, e := range c.entries {
		if e.kind != progressed {
			continue
		}
		i := max(0, strings.LastIndexByte(e.id, '.'))
		if e.id[:i] != epoch && rules.rollback {
			last = 0
		}
		epoch = e.id[:i]
		if e.n <= last {
			return fmt.Sprintf("progress %d came after %d", e.n, last)
		}
		if e.n != last+1 && !rules.unavailable {
			return fmt.Sprintf("progress %d came after %d: some is missing", e.n, last)
		}
		last = e.n
	}
	if r := c.response(); r != nil && r.text == "" && c.tool == "countdown" && last != steps && !rules.unavailable {
		return fmt.Sprintf("progress ended at %d of %d", last, steps)
	}
	return ""
}

// attempts is how many replicas may be lost with a call that is safe to run again: the edge's default.
const attempts = 5

// countdown judges what a countdown came to. It is run again: only when so many replicas were lost with it that it may
// be what ended them may its outcome be unknown.
func (r *report) countdown(c *call, losses []loss, rules rules) string {
	e := c.response()
	switch {
	case e == nil || e.text == "":
		return ""
	case e.n == codeUnknownOutcome && rules.unknown && (len(losses) >= attempts || rules.rollback):
		r.poison++
		return ""
	}
	return fmt.Sprintf("error %d, after %d losses of its owner: %s", e.n, len(losses), e.text)
}

// booking judges what a trip's call came to.
func (r *report) booking(c *call, runs []*run, losses []loss, rules rules) string {
	e := c.response()
	switch {
	case e == nil || e.text == "":
		return ""
	case e.n == codeUnknownOutcome && rules.unknown && (rules.rollback || explained(c, runs, losses)):
		r.unknown++
		return ""
	case e.n == codeStateUnavailable && rules.unavailable:
		r.unavailable++
		return ""
	}
	return fmt.Sprintf("error %d: %s", e.n, e.text)
}

func (r *report) silence(c *call, losses []loss) string {
	d := silences(c, losses)
	r.longest = max(r.longest, d)
	if d <= bound {
		return ""
	}
	return fmt.Sprintf("silent for %.1f s", d.Seconds())
}

func oddities(c *call) string {
	i := slices.IndexFunc(c.entries, func(e entry) bool { return e.kind == strange })
	if i < 0 {
		return ""
	}
	return c.entries[i].text
}

// bookings holds what was booked against what the clients were told.
func (r *report) bookings(e *evidence) {
	twice := r.check("no trip is booked twice, and what is told as booked is")
	for _, c := range e.clients {
		for _, x := range c.calls {
			if x.tool != "book_trip" {
				continue
			}
			n := e.ledger.bookings[trip(x.tag)]
			told := x.response() != nil && x.response().text == ""
			why := ""
			switch {
			case told && n == 0:
				why = "told as booked, but nothing was"
			case n > 1 && e.rules.rollback:
				r.again++
			case n > 1:
				why = fmt.Sprintf("booked %d times", n)
			}
			twice.see(why, func(why string) string { return why + "\n" + x.transcript(e.ledger.of(x.tag), e.happened()) })
		}
	}
}

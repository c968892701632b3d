package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// report is what is printed of one mode.
type report struct {
	o      options
	m      mode
	rows   []row
	checks []*check

	poison, unknown, unavailable, again int
	longest                             time.Duration
}

// row is a count, and what it must reach; 0: nothing.
type row struct {
	name     string
	n, least int
}

// check is one thing that must be true.
type check struct {
	name   string
	seen   int
	misses []string
}

func newReport(o options, m mode) *report { return &report{o: o, m: m} }

// check begins a line of the report.
func (r *report) check(name string) *check {
	c := &check{name: name}
	r.checks = append(r.checks, c)
	return c
}

// fail is a check that failed.
func (r *report) fail(name, why string) { r.check(name).miss(why) }

// see looks at one thing: why says what is wrong with it, "" nothing, and detail shows it.
func (c *check) see(why string, detail func(string) string) {
	c.seen++
	if why != "" {
		c.misses = append(c.misses, detail(why))
	}
}

func (c *check) miss(why string) { c.misses = append(c.misses, why) }

// leftovers checks what is left once the clients have gone.
func (r *report) leftovers(ctx context.Context, s *stage, clients []*client) error {
	keys := r.check("no key of the sessions is left in Redis")
	keys.seen = len(clients)
	left, err := s.leftKeys(ctx, clients)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		keys.miss(fmt.Sprintf("%d keys, as %s", len(left), strings.Join(left[:min(len(left), 10)], " ")))
	}
	routines := r.check("no goroutine of the clients is left in the replicas")
	routines.seen = len(s.edges)
	routines.misses, err = s.leftGoroutines(ctx)
	return err
}

// count makes the rows.
func (r *report) count(e *evidence) {
	calls := map[string]int{}
	resumes, elsewhere := 0, 0
	made, lost := 0, 0
	for _, c := range e.clients {
		for _, x := range c.calls {
			calls[x.tool]++
			made++
			if x.fate == unanswered || x.fate == forgotten {
				lost++
			}
			resumes += resumesElsewhere(x)
			elsewhere += answersElsewhere(x, e.ledger.of(x.tag))
		}
	}
	for _, h := range e.holders {
		for _, t := range h.tasks {
			made++
			if !t.over() || t.forgotten {
				lost++
			}
		}
	}
	losses, load := inMidCall(e.losses)
	least := r.m.least.over(e.disturbed)
	r.rows = []row{
		{"calls and tasks made", made, 0},
		{"of them lost", lost, 0},
		{"countdown calls", calls["countdown"], 0},
		{"book_trip calls", calls["book_trip"], 0},
		{"trips booked", len(e.ledger.bookings), 0},
		{"losses in mid-call", losses, least.losses},
		{"runs in progress at a loss", load, least.runs},
		{"takeovers", e.ledger.reruns() + r.unknown + r.poison, least.takeovers},
		{"resumes on another replica", resumes, least.resumes},
		{"answers on a replica that did not ask", elsewhere, least.answers},
		{"unknown outcomes of book_trip", r.unknown, 0},
		{"countdowns not run again", r.poison, 0},
		{"questions without state", r.unavailable, 0},
		{"trips booked again after lost writes", r.again, 0},
	}
	if n := len(e.stalls); n > 0 {
		r.rows = append(r.rows, row{"times Redis did not answer, undisturbed: the machine is too busy", n, 0})
	}
	for what, n := range e.traffic.n {
		r.rows = append(r.rows, row{what, n, 0})
	}
	slices.SortStableFunc(r.rows[14:], func(a, b row) int { return strings.Compare(a.name, b.name) })
	enough := r.check("the run contains enough of what it is about")
	for _, row := range r.rows {
		if row.least > 0 {
			enough.seen++
		}
		if row.n < row.least {
			enough.miss(fmt.Sprintf("%s: %d, at least %d are needed in %s", row.name, row.n, row.least, r.o.duration))
		}
	}
}

// over scales the numbers for a run that is shorter than a minute.
func (l least) over(d time.Duration) least {
	f := min(1, d.Minutes())
	scale := func(n int) int { return int(math.Ceil(float64(n) * f)) }
	return least{
		losses: scale(l.losses), runs: scale(l.runs), takeovers: scale(l.takeovers), resumes: scale(l.resumes), answers: scale(l.answers),
	}
}

// resumesElsewhere counts the streams that went on at another incarnation than before.
func resumesElsewhere(c *call) (n int) {
	by := ""
	for _, e := range c.entries {
		if e.kind != opened {
			continue
		}
		if by != "" && e.by != by {
			n++
		}
		by = e.by
	}
	return n
}

// answersElsewhere counts the answers that another incarnation took than the one that asked: the last
// that ran the call before the question came.
func answersElsewhere(c *call, runs []*run) (n int) {
	for _, q := range c.entries {
		if q.kind != asked {
			continue
		}
		asker := ""
		for _, r := range runs {
			if r.start.Before(q.at) {
				asker = r.by
			}
		}
		if slices.ContainsFunc(c.entries, func(e entry) bool {
			return e.kind == taken && e.text == q.text && e.by != asker
		}) {
			n++
		}
	}
	return n
}

// tally counts the checks.
func (r *report) tally() (passed, failed int) {
	for _, c := range r.checks {
		if len(c.misses) > 0 {
			failed++
		} else {
			passed++
		}
	}
	return passed, failed
}

// most is how many misses of a check are shown.
const most = 3

func (r *report) print(w io.Writer) {
	cluster := ""
	if r.o.cluster {
		cluster = fmt.Sprintf("a Cluster of %d masters, ", masters)
	}
	fmt.Fprintf(w, "\nchaos %s: %s, %d clients, %d replicas, %s-seed %d\n", r.m.name, r.o.duration, r.o.clients, r.o.replicas, cluster, r.o.seed)
	for _, row := range r.rows {
		least := ""
		if row.least > 0 {
			least = fmt.Sprintf("  (at least %d)", row.least)
		}
		fmt.Fprintf(w, "  %6d  %s%s\n", row.n, row.name, least)
	}
	if r.longest > 0 {
		fmt.Fprintf(w, "  %5.1fs  longest silence\n", r.longest.Seconds())
	}
	for _, c := range r.checks {
		if len(c.misses) == 0 {
			fmt.Fprintf(w, "  ok      %s (%d)\n", c.name, c.seen)
			continue
		}
		fmt.Fprintf(w, "  FAIL    %s: %d of %d\n", c.name, len(c.misses), max(c.seen, len(c.misses)))
	}
	for _, c := range r.checks {
		for _, miss := range c.misses[:min(most, len(c.misses))] {
			fmt.Fprintf(w, "\n--- %s: %s: %s\n", r.m.name, c.name, strings.TrimRight(miss, "\n"))
		}
	}
}

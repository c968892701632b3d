package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// outcome is a line of the first table.
type outcome struct {
	name, what string
	took, left time.Duration // the attack; until nothing of it was left
	peak       int64         // bytes, resident
	calls      int           // honest ones meanwhile
	slowest    time.Duration // of them
	notes      []string
	missed     []string // what did not hold; none: it passed
}

func (o *outcome) miss(format string, args ...any) {
	o.missed = append(o.missed, strings.ReplaceAll(fmt.Errorf(format, args...).Error(), "\n", "; "))
}

func (o *outcome) result() string {
	if o.missed == nil {
		return "ok"
	}
	return "FAIL"
}

// line tells of an attack as it ends.
func (o *outcome) line() {
	fmt.Printf("%-4s  %-22s %5.1f s  peak %4d MiB  gone after %4.1f s  %5d honest calls, slowest %4.1f s  %s\n",
		o.result(), o.name, o.took.Seconds(), o.peak>>20, o.left.Seconds(), o.calls, o.slowest.Seconds(), strings.Join(o.notes, ", "))
	for _, m := range o.missed {
		fmt.Printf("      %.600s\n", m)
	}
}

// wait is a line of the second table: one client until it was disconnected.
type wait struct {
	listener, kind string
	// bound is the setting, or the constant, that ends it, after due.
	bound string
	due   time.Duration
	// after is when it was gone; 0: it was not.
	after time.Duration
	err   error
}

// ok says whether it was gone in time. A deaf client is due only once all that lies between it and the edge is
// full, which takes a while on a machine that is busy with attacks.
func (w wait) ok() bool { return w.err == nil && w.after > 0 && w.after <= w.due+filling }

// filling is how long it may take until all that lies between a deaf client and the edge is full.
const filling = 20 * time.Second

func (w wait) String() string {
	switch {
	case w.err != nil:
		return w.err.Error()
	case w.after == 0:
		return fmt.Sprintf("still there after %s", patience)
	}
	return fmt.Sprintf("%.1f s", w.after.Seconds())
}

// report is what is printed at the end.
type report struct {
	rows   []outcome
	silent []wait
}

// print writes both tables and counts their lines.
func (r *report) print(w io.Writer, o options) (passed, failed int) {
	count := func(ok bool) string {
		if ok {
			passed++
			return "ok"
		}
		failed++
		return "FAIL"
	}
	fmt.Fprintf(w, "\nattacks: budget %d MiB, %d honest clients, late is %s, %s each where there is no end\n", o.memory, o.clients, o.late, o.duration)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tATTACK\tWHAT\tPEAK\tGONE AFTER\tHONEST CALLS\tSLOWEST")
	for _, row := range r.rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d MiB\t%.1f s\t%d\t%.1f s\n", count(row.missed == nil), row.name, row.what,
			row.peak>>20, row.left.Seconds(), row.calls, row.slowest.Seconds())
	}
	_ = t.Flush()
	if len(r.silent) > 0 {
		fmt.Fprintf(w, "\nslow, deaf and silent clients, with the default settings\n")
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "\tLISTENER\tCLIENT\tBOUND\tGONE AFTER")
		for _, c := range r.silent {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s, %s\t%s\n", count(c.ok()), c.listener, c.kind, c.bound, c.due, c)
		}
		_ = t.Flush()
	}
	fmt.Fprintf(w, "\nattack: %d passed, %d failed\n", passed, failed)
	return passed, failed
}

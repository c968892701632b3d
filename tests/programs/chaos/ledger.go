package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// run is one run of a tool's handler, as the service saw it.
type run struct {
	tag string
	// by is the incarnation that called, as in "2.5".
	by             string
	attempt, round int
	start          time.Time
	// end is zero while it runs.
	end time.Time
}

// ledger is what the service knows: who ran what when, and what was booked. Safe for concurrent use.
type ledger struct {
	mu       sync.Mutex
	runs     map[string][]*run // by tag, in order
	running  map[*run]bool
	bookings map[string]int // by trip
	stages   map[string][]int
	// kept is when each task sent its first checkpoint, by its tag.
	kept map[string]time.Time
}

func newLedger() *ledger {
	return &ledger{runs: map[string][]*run{}, running: map[*run]bool{}, bookings: map[string]int{}, stages: map[string][]int{}, kept: map[string]time.Time{}}
}

// begin notes that a handler runs; the function it returns, that it does not any more.
func (l *ledger) begin(tag, by string, attempt, round int) (end func()) {
	r := &run{tag: tag, by: by, attempt: attempt, round: round, start: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[tag] = append(l.runs[tag], r)
	l.running[r] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		r.end = time.Now()
		delete(l.running, r)
	}
}

// book makes the booking of the trip that a call is about.
func (l *ledger) book(tag string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bookings[trip(tag)]++
}

// stage notes that a stage of a task's work was done, of which a checkpoint is sent now.
func (l *ledger) stage(tag string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stages[tag] = append(l.stages[tag], n)
	if l.kept[tag].IsZero() {
		l.kept[tag] = time.Now()
	}
}

// skipped says what is wrong with the stages of a task that is completed; "" nothing. Call it when nothing runs any more.
func (l *ledger) skipped(tag string) string {
	for n := range stages {
		if !slices.Contains(l.stages[tag], n) {
			return fmt.Sprintf("stage %d was never done: %v", n, l.stages[tag])
		}
	}
	return ""
}

// load counts the handlers that run now for an incarnation, "" for any.
func (l *ledger) load(by string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.running {
		if by == "" || r.by == by {
			n++
		}
	}
	return n
}

// of are the runs of a call, in order. Call it when nothing runs any more.
func (l *ledger) of(tag string) []*run { return l.runs[tag] }

// reruns counts the runs that are a second attempt or later.
func (l *ledger) reruns() (n int) {
	for _, runs := range l.runs {
		for _, r := range runs {
			if r.attempt > 1 {
				n++
			}
		}
	}
	return n
}

// trip is what a tag is about, however often it was sent: all but the last number.
func trip(tag string) string { return tag[:strings.LastIndexByte(tag, '-')] }

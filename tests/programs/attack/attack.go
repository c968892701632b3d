package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// attack is one row of the table.
type attack struct {
	// name chooses it; what says what is done.
	name, what string
	// redis: the edge must have its state in Redis.
	redis bool
	// locked: the edge must want tokens, which honest clients have.
	locked bool
	// boot is how the edges are started that the attack has of its own.
	boot boot
	// run attacks until it has done what it does, and returns what did not hold. What it opened, it closes.
	run func(context.Context, *site) error
}

// attacks in the order in which they run.
var attacks = concat(
	bodyAttacks, schemaAttacks, argumentAttacks, memoryAttacks, floodAttacks, http2Attacks, forgeryAttacks, raceAttacks, backendAttacks,
	tokenAttacks, taskAttacks, redisAttacks, policyAttacks, learnAttacks, uriAttacks, clientNameAttacks, headerAttacks, swollenAttacks,
	everyBoot(concat(hiddenAttacks, exchangeAttacks, ownershipAttacks, varsAttacks, taskRightsAttacks, questionAttacks, leaverAttacks)),
)

func concat(groups ...[]attack) (all []attack) {
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// longest is how long an attack may take beside its duration.
const longest = 60 * time.Second

// answersWithin is how long an attacker waits for one answer. It is generous, since other programs may have the machine busy; what an
// answer costs is bounded by edge.costs.
const answersWithin = 20 * time.Second

// attackAll runs the attacks one after the other.
func (s *site) attackAll(ctx context.Context, chosen []attack, r *report) {
	for _, a := range chosen {
		if ctx.Err() != nil {
			return
		}
		row := outcome{name: a.name, what: a.what}
		if err := s.ready(ctx, a.redis || s.o.redis, a.locked); err != nil {
			row.miss("no edge to attack: %v", err)
			r.rows = append(r.rows, row)
			continue
		}
		s.attack(ctx, a, &row)
		r.rows = append(r.rows, row)
		row.line()
		if row.missed != nil {
			s.replace()
		}
	}
	if err := s.retire(); err != nil {
		r.rows = append(r.rows, outcome{name: "the end", what: "SIGTERM after everything", missed: []string{err.Error()}})
	}
}

// attack runs one attack and judges it.
func (s *site) attack(ctx context.Context, a attack, row *outcome) {
	s.notes, s.boot = nil, a.boot
	mark := s.crowd.mark()
	s.edge.peak.Store(0)
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, longest+s.o.duration)
	err := a.run(limited, s)
	cancel()
	row.took = time.Since(began)
	pause(ctx, time.Second-row.took) // so that each honest client calls at least once
	if err != nil {
		row.miss("%v", err)
	}
	row.notes = s.notes
	ended := time.Now()
	if left := s.settle(ctx); left != nil {
		row.miss("%s after it ended there are still %w", s.o.within, left)
	}
	row.left = time.Since(ended)
	s.judge(row, mark)
}

// judge holds what was seen outside the attack against what must be true.
func (s *site) judge(row *outcome, mark tally) {
	row.peak = s.edge.peak.Load()
	if most := s.o.memory << 20 * 11 / 10; row.peak > most {
		row.miss("resident memory was %d MiB, the budget with a tenth is %d MiB", row.peak>>20, most>>20)
	}
	if why := s.edge.gone(); why != nil {
		row.miss("the process is gone: %v", why)
	}
	done := s.crowd.since(mark)
	row.calls, row.slowest = done.calls, done.slowest
	if done.calls == 0 {
		row.miss("no honest call was answered")
	}
	if len(done.lost) > 0 {
		row.miss("%d honest calls were lost, as: %s", len(done.lost), done.lost[0])
	}
	if done.late > 0 {
		row.miss("%d honest calls took longer than %s, up to %.1f s", done.late, s.o.late, done.slowest.Seconds())
	}
}

// note adds a figure to the attack's line of the report.
func (s *site) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// collect joins the errors of many attackers into one of a few lines.
func collect(errs []error) error {
	const most = 3
	var few []error
	n := 0
	for _, err := range errs {
		if err == nil {
			continue
		}
		if n++; n <= most {
			few = append(few, err)
		}
	}
	if n > most {
		few = append(few, fmt.Errorf("and %d more", n-most))
	}
	return errors.Join(few...)
}

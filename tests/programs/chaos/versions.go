package main

import (
	"context"
	"time"
)

// versions rolls replicas of two versions. It is no part of what is run when no mode is named, since it takes an edge of another
// version.
var versions = mode{
	name: "versions", prepare: mix, disturb: exchangeVersions, flags: []string{"MCPEDGE_SHUTDOWN_DELAY=500ms"},
	least: least{losses: 10, runs: 20, answers: 20},
}

// mix gives every second replica the other version.
func mix(s *stage, o options) {
	for i, e := range s.edges {
		if i%2 == 1 {
			e.Use(o.other)
		}
	}
}

// exchangeVersions rolls the replicas to the usual version, then to the other one, and so on.
func exchangeVersions(ctx context.Context, s *stage, o options) error {
	programs, next := []string{o.program, o.other}, 0
	return every(ctx, time.Second, func() error {
		e := s.edges[next%len(s.edges)]
		program := programs[next/len(s.edges)%len(programs)]
		next++
		if err := s.lose(e.Name(), "replica "+e.Name()+" was told to end for "+program+", and has", e.Stop); err != nil {
			return err
		}
		e.Use(program)
		if err := e.Start(); err != nil {
			return err
		}
		return e.AwaitReady(context.WithoutCancel(ctx))
	})
}

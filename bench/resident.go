package main

import (
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/bench/internal/load"
)

// few sessions or streams are what a small installation has at a time.
const few = 1_000

// settled is how little the resident memory changes between two looks when it is taken for good, and pause the time
// between them; looks bounds how many there are.
const (
	settled = 0.01
	pause   = 500 * time.Millisecond
	looks   = 20
)

// residentCase tells the resident memory of the edge as operators see it: the program as it is released, with its
// default settings and one backend, in a process of its own for each round, without a collection that nobody asked for.
func residentCase() benchCase {
	subjects := []string{"idle", "1000-sessions", "1000-streams", "called"}
	c := benchCase{name: "resident", rounds: some, cold: true, start: residents}
	for _, s := range subjects {
		c.claims = append(c.claims, figureOf(resident, s), figureOf(anonymous, s))
	}
	return c
}

func residents(f *fleet) ([]subject, error) {
	if err := f.buildReleased(); err != nil {
		return nil, err
	}
	backends, err := f.service()
	if err != nil {
		return nil, err
	}
	after := func(name string, do func(addr string) (load.Streams, error)) subject {
		return subject{name: name, round: func(time.Duration) (sample, error) {
			p, err := f.beginProgram(released, nil, backends...)
			if err != nil {
				return sample{}, err
			}
			defer f.end(p)
			if err := p.awaitReady(20 * time.Millisecond); err != nil {
				return sample{}, err
			}
			open, err := do(p.addr)
			if err != nil {
				return sample{}, err
			}
			defer open.Close()
			all, err := p.settle()
			if err != nil {
				return sample{}, err
			}
			own, err := p.anonymous()
			return sample{values: map[metric]float64{resident: all / (1 << 20), anonymous: float64(own) / (1 << 20)}}, err
		}}
	}
	return []subject{
		after("idle", func(string) (load.Streams, error) { return nil, nil }),
		after("1000-sessions", inSession),
		after("1000-streams", func(addr string) (load.Streams, error) { return openSessions(addr, few) }),
		after("called", called),
	}, nil
}

// called has been called by 64 connections for some seconds.
func called(addr string) (load.Streams, error) {
	c, err := modern.connect(addr, nil)
	if err != nil {
		return nil, err
	}
	_, err = load.Run(addr, []load.Call{echo.call(c)}, 64, 5*time.Second)
	return nil, err
}

// inSession has sessions and no stream of any.
func inSession(addr string) (load.Streams, error) {
	return nil, load.Once(addr, func(c *load.Conn) error {
		for range few {
			if _, err := initialize(addr, nil, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// settle waits until the resident memory does not change any more, and returns it in bytes.
func (p *process) settle() (float64, error) {
	before := 0.0
	for range looks {
		now, err := p.resident()
		if err != nil {
			return 0, err
		}
		if d := float64(now) - before; d < settled*before && -d < settled*before {
			return float64(now), nil
		}
		before = float64(now)
		time.Sleep(pause)
	}
	return 0, fmt.Errorf("the resident memory of %.1f MiB does not settle within %s", before/(1<<20), looks*pause)
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// program is an edge that was built beforehand, to be compared with the one that is built here.
type program struct{ name, path string }

// programs are the command line's, each as NAME=PATH.
type programs []program

func (p *programs) String() string { return fmt.Sprint(*p) }

func (p *programs) Set(text string) error {
	name, path, found := strings.Cut(text, "=")
	if !found || name == "" {
		return fmt.Errorf("%q: want NAME=PATH", text)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return err
	}
	*p = append(*p, program{name, path})
	return nil
}

// againstCases compare the edge with others of its kind in plain calls, so that one run tells what a change costs.
// Ratios are the edge's over the other's.
func againstCases(others programs) []benchCase {
	if len(others) == 0 {
		return nil
	}
	var cases []benchCase
	for _, e := range eras {
		for _, n := range []int{8, 64} {
			c := benchCase{name: fmt.Sprintf("against-%s-%d", e.name, n), rounds: fine, slice: brief}
			for _, o := range others {
				c.claims = append(c.claims, ratio(callRate, "edge", o.name), ratio(cpuTime, "edge", o.name))
			}
			c.start = func(f *fleet) ([]subject, error) { return f.against(e, echo, n, others) }
			cases = append(cases, c)
		}
	}
	return cases
}

// against are several processes of each program, on one backend.
func (f *fleet) against(e era, w work, connections int, others programs) ([]subject, error) {
	backends, err := f.service()
	if err != nil {
		return nil, err
	}
	var servers []server
	for range processes {
		for _, o := range append(programs{{"edge", "edge"}}, others...) {
			p, err := f.beginProgram(o.path, nil, append(backends, "MCPEDGE_ADMIN_PPROF=true")...)
			if err == nil {
				err = p.awaitReady(20 * time.Millisecond)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.name, err)
			}
			servers = append(servers, server{o.name, p})
		}
	}
	subjects, err := speaking(e, w, connections, servers...)
	return inTurn(subjects), err
}

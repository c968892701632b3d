package main

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/bench/internal/load"
)

// idleSessions are open and idle, each with an open GET stream, in the cases about that.
const idleSessions = 10_000

// sessionCases are about sessions: how fast they start, what idle ones take, and what others feel of them.
func sessionCases() []benchCase {
	return []benchCase{
		{name: "session-start-8", rounds: some, start: startingSessions,
			claims: []claim{ratio(callRate, "edge", "sdk"), ratio(callRate, "redis", "edge")}},
		{name: "idle-memory", rounds: 4, cold: true, start: idleMemory, claims: slices.Concat(idleClaims(rss, 1), idleClaims(live, 0.6))},
		residentCase(),
		// So many that the collections of garbage have their part: there is one in a second or two.
		{name: "idle-others-8", rounds: 6 * shown, slice: 500 * time.Millisecond, start: idleOthers,
			claims: []claim{ratio(callRate, "crowded", "empty").atLeast(0.95), ratio(p99, "crowded", "empty"), ratio(cpuTime, "crowded", "empty")}},
		changesCase(modern, "--events"),
		changesCase(legacy),
	}
}

// startingSessions opens sessions, each with its two requests, and deletes them.
func startingSessions(f *fleet) ([]subject, error) {
	servers, err := f.memoryAndRedis()
	if err != nil {
		return nil, err
	}
	sdk, err := f.serving("sdk")
	if err != nil {
		return nil, err
	}
	var subjects []subject
	for _, s := range append(servers, server{"sdk", sdk}) {
		addr := s.proc.addr
		subjects = append(subjects, under(s.name, s.proc, 8, func(c *load.Conn) error {
			id, err := initialize(addr, nil, c)
			if err != nil {
				return err
			}
			a, err := c.Do(load.Prepare(http.MethodDelete, addr, "/mcp", sessionHeader(nil, id), ""))
			if err == nil && a.Status/100 != 2 {
				err = fmt.Errorf("DELETE: status %d: %.300q", a.Status, a.Body)
			}
			return err
		}))
	}
	return subjects, nil
}

// openSessions opens sessions with a GET stream each.
func openSessions(addr string, n int) (load.Streams, error) {
	return load.OpenStreams(addr, n, func(c *load.Conn) (load.Request, error) {
		id, err := initialize(addr, nil, c)
		h := sessionHeader(nil, id)
		h.Set("Accept", "text/event-stream")
		return load.Prepare(http.MethodGet, addr, "/mcp", h, ""), err
	})
}

// openBare opens streams of the bare server, which knows no sessions.
func openBare(addr string, n int) (load.Streams, error) {
	r := load.Prepare(http.MethodGet, addr, "/", nil, "")
	return load.OpenStreams(addr, n, func(*load.Conn) (load.Request, error) { return r, nil })
}

// idleClaims are about what an idle stream takes, which is at most so much of what a bare one does.
func idleClaims(m metric, most float64) []claim {
	return []claim{ratio(m, "edge", "bare").atMost(most), ratio(m, "sdk", "bare"), ratio(m, "edge", "sdk")}
}

// idleMemory is what an idle session with its stream takes: of memory that the kernel counts, and of heap
// and stacks in use after collections. Each round has a new process, which has served some streams before.
func idleMemory(f *fleet) ([]subject, error) {
	backends, err := f.service()
	if err != nil {
		return nil, err
	}
	holding := func(name string, begin func() (*process, error), open func(string, int) (load.Streams, error)) subject {
		return subject{name: name, round: func(time.Duration) (sample, error) {
			p, err := begin()
			if err != nil {
				return sample{}, err
			}
			defer f.end(p)
			return held(p, open)
		}}
	}
	return []subject{
		holding("edge", func() (*process, error) { return f.edge(backends...) }, openSessions),
		holding("sdk", func() (*process, error) { return f.serving("sdk") }, openSessions),
		holding("bare", func() (*process, error) { return f.serving("sse") }, openBare),
	}, nil
}

// held is what a process takes more with the idle sessions than before.
func held(p *process, open func(string, int) (load.Streams, error)) (sample, error) {
	warm, err := open(p.addr, 100)
	if err != nil {
		return sample{}, err
	}
	warm.Close()
	rss0, live0, err := p.held()
	if err != nil {
		return sample{}, err
	}
	streams, err := open(p.addr, idleSessions)
	if err != nil {
		return sample{}, err
	}
	defer streams.Close()
	rss1, live1, err := p.held()
	return sample{values: map[metric]float64{
		rss:  (float64(rss1) - float64(rss0)) / idleSessions,
		live: (float64(live1) - float64(live0)) / idleSessions,
	}}, err
}

// held is the memory that a Go process holds after a collection, in bytes.
func (p *process) held() (rss, live uint64, err error) {
	var m map[string]uint64
	for range 2 { // what pools keep goes with the second collection
		if m, err = p.memory("heap?gc=1&debug=1"); err != nil {
			return 0, 0, err
		}
	}
	rss, err = p.resident()
	return rss, m["HeapInuse"] + m["Stack"], err
}

// idleOthers are the calls of others on two edges that differ in their idle sessions: all, and none.
func idleOthers(f *fleet) ([]subject, error) {
	backends, err := f.service()
	if err != nil {
		return nil, err
	}
	var servers []server
	for _, name := range []string{"crowded", "empty"} {
		p, err := f.edge(backends...)
		if err != nil {
			return nil, err
		}
		servers = append(servers, server{name, p})
	}
	streams, err := openSessions(servers[0].proc.addr, idleSessions)
	if err != nil {
		return nil, err
	}
	f.onStop(streams.Close)
	return speaking(legacy, echo, 8, servers...)
}

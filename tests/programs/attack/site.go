package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// site is what attackers meet: backends, the edge and its honest clients. One attack runs at a time.
type site struct {
	dir      string
	o        options
	backends *backends
	config   string // the edge's file

	edge    *edge // nil: none runs
	redis   *redisserver.Server
	lock    *lock // nil: the edge is open
	crowd   *crowd
	fresh   figures // before any attack
	started int     // edges
	notes   []string
	boot    boot          // of the attack that runs
	addr    atomic.Uint32 // of the attackers, see rogue
}

// The edge's settings in this run: short times, so that what is left after an attack is soon gone. The rest
// is as it is by default.
func (s *site) settings() []setting {
	config, level := s.config, "warn"
	if s.lock != nil {
		config, level = s.lock.config, "info" // an attack on it counts what is logged
	}
	all := []setting{
		{"config", config}, {"log.level", level},
		{"listen.read-timeout", readTimeout.String()}, {"listen.write-timeout", writeTimeout.String()}, {"sessions.ttl", sessionTTL.String()},
		{"streams.ttl", "5s"}, {"calls.lifetime", "10s"}, {"listen.keep-alive", "2s"},
	}
	if s.redis != nil {
		all = append(all, setting{"redis.url", s.redis.URL()})
	}
	return all
}

const (
	readTimeout  = 3 * time.Second
	writeTimeout = 3 * time.Second
	sessionTTL   = 8 * time.Second
)

// newSite starts the backends.
func newSite(dir string, o options) (*site, error) {
	s := &site{dir: dir, o: o, config: filepath.Join(dir, "edge.yaml")}
	var err error
	if s.backends, err = startBackends(); err != nil {
		return nil, err
	}
	if err := s.backends.configure(s.config); err != nil {
		return s, err
	}
	text, err := os.ReadFile(s.config)
	if err != nil {
		return s, err
	}
	return s, os.WriteFile(s.config, append(text, vaultPolicy...), 0o644)
}

// ready sees to an edge with its honest clients, with or without Redis, locked or open.
func (s *site) ready(ctx context.Context, redis, locked bool) error {
	if s.edge != nil && (s.redis != nil) == redis && (s.lock != nil) == locked {
		return nil
	}
	s.replace()
	if redis {
		var err error
		if s.redis, err = redisserver.Start("--appendonly", "yes"); err != nil {
			return err
		}
	}
	s.started++
	var err error
	if locked {
		if s.lock, err = newLock(); err != nil {
			return err
		}
		if err = s.lock.configure(s.backends, filepath.Join(s.dir, "locked.yaml")); err != nil {
			return err
		}
	}
	if s.edge, err = startEdge(s.o, s.log(), s.settings()...); err != nil {
		return err
	}
	if err = s.edge.awaitReady(ctx); err == nil {
		s.crowd, err = gather(ctx, s.o, s.edge.url(), s.lock)
	}
	if err == nil {
		err = s.served(ctx)
	}
	if err == nil {
		err = s.warm(ctx)
	}
	if err != nil {
		s.replace()
	}
	return err
}

func (s *site) log() string { return filepath.Join(s.dir, fmt.Sprintf("edge%d.log", s.started)) }

// served checks that the tools of every backend are there: an attack on one that is not would attack nothing.
func (s *site) served(ctx context.Context) error {
	r := s.rogue()
	defer r.close()
	r.authorization = s.lock.bearer("who looks around", s.edge.url())
	for _, tool := range []string{"echo", "numbers", "t0_0", stockTool, "flap"} {
		a, err := r.call(ctx, tool, "{}")
		if err != nil {
			return err
		}
		if strings.Contains(string(a.body), "unknown tool") {
			return fmt.Errorf("a backend is not served: %.200s", a.body)
		}
	}
	return nil
}

// warm lets the honest clients call for a while, and takes the figures of that.
func (s *site) warm(ctx context.Context) error {
	for range 4 {
		time.Sleep(500 * time.Millisecond)
		f, err := s.edge.figures(ctx, true)
		if err != nil {
			return err
		}
		s.fresh = figures{max(s.fresh.files, f.files), max(s.fresh.goroutines, f.goroutines), max(s.fresh.sessions, f.sessions), max(s.fresh.live, f.live)}
	}
	if lost := s.crowd.since(tally{}).lost; len(lost) > 0 {
		return fmt.Errorf("an honest call fails without any attack: %s", lost[0])
	}
	return nil
}

// How much more than fresh may be there after an attack: honest calls that are just running, connections
// that come and go, caches that have filled.
const (
	moreFiles      = 8
	moreGoroutines = 30
	moreLive       = 24 << 20
)

// settle waits until nothing of an attack is left, and returns what is; nil: nothing.
func (s *site) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.within)
	defer cancel()
	var left error
	for {
		if s.edge.gone() != nil {
			return nil // judged elsewhere
		}
		f, err := s.edge.figures(ctx, false)
		if err == nil && f.within(s.fresh) == nil {
			f, err = s.edge.figures(ctx, true)
		}
		switch {
		case err == nil:
			left = f.within(s.fresh)
		case ctx.Err() == nil:
			left = err
		}
		if left == nil && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return left
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// within says what is more than fresh.
func (f figures) within(fresh figures) error {
	switch {
	case f.files > fresh.files+moreFiles:
		return fmt.Errorf("%d open files, before it %d", f.files, fresh.files)
	case f.sessions > fresh.sessions:
		return fmt.Errorf("%d sessions, before it %d", f.sessions, fresh.sessions)
	case f.goroutines > fresh.goroutines+moreGoroutines:
		return fmt.Errorf("%d goroutines, before it %d", f.goroutines, fresh.goroutines)
	case f.live > fresh.live+moreLive:
		return fmt.Errorf("%d KiB of live memory, before it %d", f.live>>10, fresh.live>>10)
	}
	return nil
}

// replace ends the edge whatever it does, with its clients: the next attack gets a new one.
func (s *site) replace() {
	if s.crowd != nil {
		s.crowd.leave()
	}
	if s.edge != nil {
		s.edge.kill()
	}
	if s.redis != nil {
		s.redis.Close()
	}
	if s.lock != nil {
		s.lock.stop()
	}
	s.crowd, s.edge, s.redis, s.lock, s.fresh = nil, nil, nil, nil, figures{}
}

// retire ends the edge as its operator does.
func (s *site) retire() error {
	if s.edge == nil {
		return nil
	}
	s.crowd.leave()
	err := s.edge.stop()
	s.edge, s.crowd = nil, nil
	s.replace()
	return err
}

func (s *site) stop() {
	s.replace()
	s.backends.stop()
}

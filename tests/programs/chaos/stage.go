package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/tests/helpers/process"
	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// loss is a moment from which on something that ran is not there any more.
type loss struct {
	at time.Time
	// by is the incarnation that was lost; "" when all of them lost something, as Redis for a while.
	by   string
	what string
	// load is how many handlers ran for it.
	load int
	// until is from when others may take over what was lost, if that is later: no replica ran before.
	until time.Time
}

// over is from when others may take over what was lost.
func (l loss) over() time.Time {
	if l.until.After(l.at) {
		return l.until
	}
	return l.at
}

// stage is what the clients meet: Redis, replicas with a backend each, and a proxy before them.
type stage struct {
	dir     string
	redis   []*replicas.Redis   // one server, or the masters of a Cluster
	standby *replicas.Redis     // promotion only
	front   *replicas.Forwarder // promotion only
	edges   replicas.Group
	proxy   *replicas.Proxy
	ledger  *ledger
	taskFor time.Duration // how long a task works at least

	endServices context.CancelFunc
	services    sync.WaitGroup
	fresh       []int // goroutines of the replicas before any client came

	losses []loss
}

// build builds the edge into dir.
func build(ctx context.Context, dir string) error { return process.Build(ctx, dir, "./edge") }

// newStage starts everything, with the logs in dir.
func newStage(ctx context.Context, dir string, o options, m mode) (_ *stage, err error) {
	s := &stage{dir: dir, ledger: newLedger(), taskFor: o.taskFor, endServices: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	url, err := s.startRedis(ctx, o, m)
	if err != nil {
		return nil, err
	}
	backends, err := process.FreeAddrs(o.replicas)
	if err != nil {
		return nil, err
	}
	configured := m.audited || o.keys
	if configured {
		if err := writeSettings(dir, o, m); err != nil {
			return nil, err
		}
	}
	s.edges, err = replicas.New(replicas.Options{
		Program: o.program, Dir: dir, Redis: url, Count: o.replicas,
		Flags: func(n int) []string {
			flags := append([]string{"MCPEDGE_ADMIN_PPROF=true", "MCPEDGE_CLIENTS_TASKS=1000000", "--backend", "chaos=" + backends[n-1]}, m.flags...)
			if configured {
				flags = append(flags, "--config", settingsName(dir))
			}
			return flags
		},
	})
	if err != nil {
		return nil, err
	}
	if m.prepare != nil {
		m.prepare(s, o)
	}
	if err := s.serve(backends); err != nil {
		return nil, err
	}
	if err := s.edges.Start(ctx); err != nil {
		return nil, err
	}
	for _, e := range s.edges {
		n, _, err := e.Goroutines(ctx)
		if err != nil {
			return nil, err
		}
		s.fresh = append(s.fresh, n)
	}
	s.proxy, err = replicas.StartProxy(s.edges)
	return s, err
}

// masters is the number of masters of a Cluster.
const masters = 3

// startRedis starts Redis, and returns its URL for the replicas.
func (s *stage) startRedis(ctx context.Context, o options, m mode) (url string, err error) {
	if o.cluster {
		if s.redis, err = replicas.StartCluster(ctx, s.dir, masters, m.durable); err != nil {
			return "", err
		}
		return s.redis[0].URL(), nil
	}
	only, err := replicas.StartRedis(ctx, s.dir, "redis1", m.durable)
	if err != nil {
		return "", err
	}
	s.redis = []*replicas.Redis{only}
	if !m.standby {
		return only.URL(), nil
	}
	if s.standby, err = replicas.StartRedis(ctx, s.dir, "redis2", m.durable); err != nil {
		return "", err
	}
	if err := s.standby.Copy(ctx, only); err != nil {
		return "", err
	}
	if s.front, err = replicas.Forward(only.Addr); err != nil {
		return "", err
	}
	return "redis://" + s.front.Addr, nil
}

// serve starts one backend for each replica, so that the ledger knows who calls.
func (s *stage) serve(addrs []string) error {
	ctx, cancel := context.WithCancel(context.Background())
	s.endServices = cancel
	for i, e := range s.edges {
		l, err := net.Listen("tcp", addrs[i])
		if err != nil {
			return err
		}
		service := newService(s.ledger, e.Name, s.taskFor)
		s.services.Go(func() { _ = service.Serve(ctx, l) }) // ends with ctx
	}
	return nil
}

// stop ends everything. It reports what did not end well.
func (s *stage) stop() error {
	if s.proxy != nil {
		s.proxy.Stop()
	}
	err := s.edges.Stop()
	s.endServices()
	s.services.Wait()
	if s.front != nil {
		s.front.Stop()
	}
	for _, r := range s.redis {
		err = errors.Join(err, r.Stop())
	}
	if s.standby != nil {
		err = errors.Join(err, s.standby.Stop())
	}
	return err
}

// lose does what loses something, and notes it. An incarnation that is lost ran nothing after that.
func (s *stage) lose(by, what string, do func() error) error {
	load := s.ledger.load(by)
	err := do()
	s.losses = append(s.losses, loss{at: time.Now(), by: by, what: what, load: load})
	return err
}

// inMidCall counts the losses that hit runs, and the runs.
func inMidCall(losses []loss) (n, runs int) {
	for _, l := range losses {
		if l.load > 0 {
			n++
			runs += l.load
		}
	}
	return n, runs
}

// play lets the clients work for as long as the options say while the mode disturbs the stage, and
// returns the clients, disconnected, and the holders of tasks. On a machine that stood still, with fewer losses than a run must
// have, all that goes on for as long again.
func (s *stage) play(ctx context.Context, o options, m mode) ([]*client, []*holder, *traffic, error) {
	t := &traffic{n: map[string]int{}}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 2*o.clients + o.holders}
	defer transport.CloseIdleConnections()
	h := &http.Client{Transport: transport}
	clients := make([]*client, o.clients)
	for i := range clients {
		clients[i] = newClient(i+1, s.proxy.URL, o.seed, h, t)
		clients[i].key = o.key("client", i+1)
	}
	if err := together(clients, func(c *client) error { return c.connect(ctx) }); err != nil {
		return nil, nil, nil, err
	}
	holders := newHolders(o, s.proxy.URL, h, t)
	stop := make(chan struct{})
	var working sync.WaitGroup
	for _, c := range holders {
		working.Go(func() { c.work(ctx, stop) })
	}
	for _, c := range clients {
		working.Go(func() { c.work(ctx, stop) })
	}
	// Disturbing starts processes: it stays in this goroutine, the one that is bound to its thread.
	disturb := func(d time.Duration) error {
		until, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		err := m.disturb(until, s, o)
		if err == nil {
			<-until.Done()
		}
		return err
	}
	err := disturb(o.duration)
	if n, _ := inMidCall(s.losses); err == nil && n < m.least.over(o.duration).losses {
		err = disturb(o.duration)
	}
	close(stop)
	if err == nil {
		err = s.edges.AwaitReady(ctx)
	}
	working.Wait()
	if err == nil {
		err = recheckAll(ctx, holders)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	return clients, holders, t, together(clients, func(c *client) error { return c.disconnect(ctx) })
}

// together does something for all clients at the same time.
func together(clients []*client, do func(*client) error) error {
	errs := make([]error, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() { errs[i] = do(c) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// leftKeys waits until Redis has no key of the clients' sessions any more, and returns those that stay.
func (s *stage) leftKeys(ctx context.Context, clients []*client) ([]string, error) {
	mine := map[string]bool{}
	for _, c := range clients {
		mine[c.session] = true
	}
	var servers []*redis.Client
	for _, r := range s.redis {
		c := r.Client()
		defer c.Close()
		servers = append(servers, c)
	}
	// The holders of an erased session are kept for 10 s.
	for end := time.Now().Add(time.Minute); ; {
		var left []string
		var err error
		for _, c := range servers {
			scan := c.Scan(ctx, 0, "*", 1000).Iterator()
			for scan.Next(ctx) {
				if id, ok := sessionOf(scan.Val()); ok && mine[id] {
					left = append(left, scan.Val())
				}
			}
			err = errors.Join(err, scan.Err())
		}
		if err != nil || len(left) == 0 || time.Now().After(end) {
			return left, err
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return left, ctx.Err()
		}
	}
}

// leftGoroutines waits until each replica has as few goroutines as before the clients came, and tells
// of those that have more, with their stacks in dir.
func (s *stage) leftGoroutines(ctx context.Context) ([]string, error) {
	// Connections to backends and Redis come and go.
	const slack = 5
	s.proxy.CloseIdle()
	var left []string
	for i, e := range s.edges {
		for end := time.Now().Add(time.Minute); ; {
			n, stacks, err := e.Goroutines(ctx)
			if err != nil {
				return nil, err
			}
			if n <= s.fresh[i]+slack {
				break
			}
			if time.Now().After(end) {
				file := filepath.Join(s.dir, fmt.Sprintf("goroutines%d.txt", e.Number))
				left = append(left, fmt.Sprintf("replica %s has %d goroutines, fresh it had %d: see %s", e.Name(), n, s.fresh[i], file))
				if err := os.WriteFile(file, stacks, 0o644); err != nil {
					return left, err
				}
				break
			}
			if !sleep(ctx, 200*time.Millisecond) {
				return left, ctx.Err()
			}
		}
	}
	return left, nil
}

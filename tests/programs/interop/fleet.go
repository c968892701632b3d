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

	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// fleet is two replicas on one Redis behind a plain load balancer, and a way to drain the replica that serves a
// call. Not safe for concurrent use, but for its control address.
type fleet struct {
	redis *replicas.Redis
	group replicas.Group
	proxy *replicas.Proxy
	// url is the endpoint for clients.
	url     string
	control *http.Server
	// drain is the URL of the control address: a POST there ends the replica that serves the most POSTs with
	// SIGTERM, and answers with its name at once.
	drain string

	mu sync.Mutex
	// draining are the replicas that were told to end, and where to hear how each did.
	draining map[*replicas.Edge]chan error
}

// startFleet starts everything, with logs in the folder results, and returns once the replicas are ready.
func startFleet(ctx context.Context, dir, results, program string, flags []string) (_ *fleet, err error) {
	f := &fleet{draining: map[*replicas.Edge]chan error{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.stop())
		}
	}()
	if f.redis, err = replicas.StartRedis(ctx, dir, "redis", false); err != nil {
		return nil, err
	}
	logs := filepath.Join(results, "replicas")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, err
	}
	if f.group, err = replicas.New(replicas.Options{
		Program: program, Dir: logs, Redis: f.redis.URL(), Count: 2, Flags: func(int) []string { return flags },
	}); err != nil {
		return nil, err
	}
	if err := f.group.Start(ctx); err != nil {
		return nil, err
	}
	if f.proxy, err = replicas.StartProxy(f.group); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f.drain = "http://" + l.Addr().String()
	f.control = &http.Server{Handler: http.HandlerFunc(f.serveDrain), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = f.control.Serve(l) }() // ends by stop
	return f, nil
}

func (f *fleet) serveDrain(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	e := f.group[f.proxy.Busiest()]
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.draining[e] == nil {
		ended := make(chan error, 1)
		f.draining[e] = ended
		go func() { ended <- e.Stop() }()
	}
	fmt.Fprint(w, e.Name())
}

// restore waits for the replicas that were drained, starts them again, and returns once all are ready. It reports
// drains that did not end well. It is called by the goroutine that started the fleet, to whose thread the processes
// are bound, while no client runs.
func (f *fleet) restore(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for e, ended := range f.draining {
		if err := <-ended; err != nil {
			errs = append(errs, fmt.Errorf("a drain did not end well: %w", err))
		}
		errs = append(errs, e.Start())
		delete(f.draining, e)
	}
	return errors.Join(append(errs, f.group.AwaitReady(ctx))...)
}

// stop ends everything that was started.
func (f *fleet) stop() error {
	var errs []error
	if f.control != nil {
		errs = append(errs, f.control.Close())
	}
	if f.proxy != nil {
		f.proxy.Stop()
	}
	errs = append(errs, f.group.Stop())
	if f.redis != nil {
		errs = append(errs, f.redis.Stop())
	}
	return errors.Join(errs...)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// fleet is two replicas on one Redis behind a plain load balancer, and a way to drain or kill the replica that serves a
// call. Not safe for concurrent use, but for its control address.
type fleet struct {
	redis *replicas.Redis
	group replicas.Group
	proxy *replicas.Proxy
	// url is the endpoint for clients.
	url     string
	control *http.Server
	// drain is the URL of the control address: a POST there ends the replica that serves the most POSTs with
	// SIGTERM, and answers with its name at once, one to its path /kill with SIGKILL. A POST to /restore starts the
	// replicas that ended, and answers once all are ready.
	drain string
	// starts has what starts processes, for a goroutine to whose thread they are bound: see process.Bind.
	starts chan func()

	mu sync.Mutex
	// ended are the replicas that were told to end, and where to hear how each did.
	ended map[*replicas.Edge]chan error
}

// startFleet starts everything, with logs in the folder results, and returns once the replicas are ready.
func startFleet(ctx context.Context, dir, results, program string, flags []string) (_ *fleet, err error) {
	f := &fleet{starts: make(chan func()), ended: map[*replicas.Edge]chan error{}}
	go func() {
		runtime.LockOSThread() // until stop has ended the last process
		for start := range f.starts {
			start()
		}
	}()
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
	f.control = &http.Server{Handler: http.HandlerFunc(f.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = f.control.Serve(l) }() // ends by stop
	return f, nil
}

func (f *fleet) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	case "/":
		f.serveDrain(w)
	case "/kill":
		f.serveKill(r.Context(), w)
	case "/restore":
		if err := f.restore(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	default:
		http.NotFound(w, r)
	}
}

// serveDrain has the replica end that serves a call, and answers at once.
func (f *fleet) serveDrain(w http.ResponseWriter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.group[f.proxy.Busiest()]
	if f.ended[e] == nil {
		ended := make(chan error, 1)
		f.ended[e] = ended
		go func() { ended <- e.Stop() }()
	}
	fmt.Fprint(w, e.Name())
}

// serveKill kills the replica that serves a call, and answers once the load balancer uses the other one only.
func (f *fleet) serveKill(ctx context.Context, w http.ResponseWriter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	busiest := f.proxy.Busiest()
	if f.proxy.Posts(busiest) == 0 {
		http.Error(w, "no replica serves a call", http.StatusConflict)
		return
	}
	e := f.group[busiest]
	if f.ended[e] != nil {
		http.Error(w, e.Name()+" was told to end before", http.StatusConflict)
		return
	}
	f.ended[e] = make(chan error, 1)
	f.ended[e] <- e.Kill()
	if err := f.proxy.AwaitGone(ctx, busiest); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, e.Name())
}

// restore waits for the replicas that were told to end, starts them again, and returns once all are ready. It reports
// those that did not end well.
func (f *fleet) restore(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for e, ended := range f.ended {
		if err := <-ended; err != nil {
			errs = append(errs, fmt.Errorf("a replica did not end well: %w", err))
		}
		started := make(chan error)
		f.starts <- func() { started <- e.Start() }
		errs = append(errs, <-started)
		delete(f.ended, e)
	}
	return errors.Join(append(errs, f.group.AwaitReady(ctx), f.proxy.AwaitReady(ctx))...)
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
	close(f.starts)
	if f.redis != nil {
		errs = append(errs, f.redis.Stop())
	}
	return errors.Join(errs...)
}

package replicas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// Options configure a Group.
type Options struct {
	// Program is the path of the built edge.
	Program string
	// Dir is the directory for the logs.
	Dir string
	// Redis is the URL of the shared Redis.
	Redis string
	// Count is the number of replicas.
	Count int
	// Flags returns the arguments, as those of process.Command, of the replica with this number, from 1, such as
	// its backends. New adds those for addresses, Redis and the name.
	Flags func(replica int) []string
}

// Group is a set of replicas. Start starts all; each can be started separately.
type Group []*Edge

// New prepares replicas, each with its own addresses. It starts nothing.
func New(o Options) (Group, error) {
	addrs, err := process.FreeAddrs(2 * o.Count)
	if err != nil {
		return nil, err
	}
	var g Group
	for i := range o.Count {
		e := &Edge{
			Number: i + 1, Addr: addrs[2*i], Admin: addrs[2*i+1],
			program: o.Program, log: filepath.Join(o.Dir, fmt.Sprintf("edge%d.log", i+1)),
		}
		e.flags = append([]string{
			"--listen", e.Addr, "--admin", e.Admin, "--redis", o.Redis, "--replica", Name(e.Number),
		}, o.Flags(e.Number)...)
		g = append(g, e)
	}
	return g, nil
}

// Name returns the name of the replica with a number: its setting replica.
func Name(number int) string { return fmt.Sprintf("edge-%d", number) }

// Start starts all replicas and returns when they are ready.
func (g Group) Start(ctx context.Context) error {
	for _, e := range g {
		if err := e.Start(); err != nil {
			return err
		}
	}
	return g.AwaitReady(ctx)
}

// AwaitReady waits until all replicas are ready.
func (g Group) AwaitReady(ctx context.Context) error {
	for _, e := range g {
		if err := e.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops all started replicas gracefully.
func (g Group) Stop() error {
	var errs []error
	for _, e := range g {
		errs = append(errs, e.Stop())
	}
	return errors.Join(errs...)
}

// Edge is one replica: a succession of processes on the same addresses. Methods that start and end
// processes are for one goroutine; the others are safe for concurrent use.
type Edge struct {
	// Number is the number of the replica, from 1.
	Number int
	// Addr is the MCP address, Admin the admin address.
	Addr, Admin string

	program, log string
	flags        []string
	proc         *process.Process
	incarnation  atomic.Int64
}

// Incarnation returns the number of processes so far, including the running one.
func (e *Edge) Incarnation() int { return int(e.incarnation.Load()) }

// Name returns the number and the incarnation, as in "2.5".
func (e *Edge) Name() string { return fmt.Sprintf("%d.%d", e.Number, e.Incarnation()) }

// Start starts the next incarnation, and does not wait until it is ready.
func (e *Edge) Start() error {
	e.incarnation.Add(1)
	var err error
	e.proc, err = process.Start("edge "+e.Name(), e.program, e.log, e.flags...)
	return err
}

// Use makes later incarnations run another built edge.
func (e *Edge) Use(program string) { e.program = program }

// AwaitReady waits until the running incarnation is ready.
func (e *Edge) AwaitReady(ctx context.Context) error {
	return process.AwaitOK(ctx, "http://"+e.Admin+"/readyz", e.proc)
}

// Kill ends the process with SIGKILL and waits.
func (e *Edge) Kill() error { return e.proc.Kill() }

// Stop ends the process with SIGTERM and waits until it has drained. It returns an error if the
// process ended with one, and nil if it was never started.
func (e *Edge) Stop() error { return e.proc.Stop() }

// Goroutines returns the number of goroutines of the process and their stacks. It needs the setting
// admin.pprof.
func (e *Edge) Goroutines(ctx context.Context) (n int, stacks []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.Admin+"/debug/pprof/goroutine?debug=1", nil)
	if err != nil {
		return 0, nil, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	if stacks, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil, err
	}
	if _, err := fmt.Fscanf(bytes.NewReader(stacks), "goroutine profile: total %d", &n); err != nil {
		return 0, nil, fmt.Errorf("edge %s shows no goroutines, start it with MCPEDGE_ADMIN_PPROF=true: %s: %.80q", e.Name(), resp.Status, stacks)
	}
	return n, stacks, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	start "github.com/mcpedge/mcpedge/tests/helpers/process"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// fleet starts what is under measurement, each a process of its own, from programs it builds once.
type fleet struct {
	dir   string
	mu    sync.Mutex // a signal stops what a case is starting
	procs []*process
	redis []*redisserver.Server
	last  []func()
	// building is done, and cancel has been called, when no more is to be started.
	building context.Context
	cancel   context.CancelFunc
}

var errClosed = errors.New("the benchmarks are being stopped")

// newFleet has no programs yet. Close it.
func newFleet() (*fleet, error) {
	dir, err := os.MkdirTemp("", "mcpedge-bench-")
	f := &fleet{dir: dir}
	f.building, f.cancel = context.WithCancel(context.Background())
	return f, err
}

// buildAll builds the programs, in the module's root.
func (f *fleet) buildAll() error {
	for name, pkg := range map[string]string{
		"edge": "./edge", "service": "./bench/service", "bridge": "./bench/bridge", "sdk": "./bench/sdk",
		"sink": "./bench/sink", "sse": "./bench/sse", "authorizer": "./bench/authorizer",
	} {
		if err := f.build(name, pkg); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) build(name, pkg string) error { return f.buildIn(nil, name, pkg) }

// buildIn builds a program in an environment of its own.
func (f *fleet) buildIn(env []string, name, pkg string, args ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	cmd := exec.CommandContext(f.building, "go", append([]string{"build", "-o", filepath.Join(f.dir, name)}, append(args, pkg)...)...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// released is the name of the edge's program as it is released.
const released = "edge-released"

// buildReleased builds it: without symbols, paths and the C library.
func (f *fleet) buildReleased() error {
	return f.buildIn([]string{"CGO_ENABLED=0"}, released, "./edge", "-trimpath", "-tags=grpcnotrace", "-ldflags=-s -w")
}

// service starts the gRPC service and returns the flags that make an edge its front.
func (f *fleet) service(args ...string) (backends []string, err error) {
	p, err := f.printing("service", nil, args...)
	if err != nil {
		return nil, err
	}
	for i, addr := range p.addrs {
		backends = append(backends, "--backend", fmt.Sprintf("bench%d=%s", i, addr))
	}
	return backends, nil
}

// edge runs one until it is ready.
func (f *fleet) edge(args ...string) (*process, error) { return f.edgeIn(nil, args...) }

// edgeAndSDK are an edge of a service of its own, whose address it also gives, and the SDK's server.
func (f *fleet) edgeAndSDK(sdkFlags ...string) (servers []server, backend string, err error) {
	backends, err := f.service()
	if err != nil {
		return nil, "", err
	}
	edge, err := f.edge(backends...)
	if err != nil {
		return nil, "", err
	}
	sdk, err := f.serving("sdk", sdkFlags...)
	if err != nil {
		return nil, "", err
	}
	_, backend, _ = strings.Cut(backends[1], "=")
	return []server{{"edge", edge}, {"sdk", sdk}}, backend, nil
}

// edgeIn does so with an environment of its own.
func (f *fleet) edgeIn(env []string, args ...string) (*process, error) {
	p, err := f.begin(env, args...)
	if err != nil {
		return nil, err
	}
	return p, p.awaitReady(20 * time.Millisecond)
}

// begin starts an edge with profiles and does not wait for it.
func (f *fleet) begin(env []string, args ...string) (*process, error) {
	return f.beginProgram("edge", env, append(args, "MCPEDGE_ADMIN_PPROF=true")...)
}

// beginProgram starts a program of the edge. Its log goes to /dev/null: at the default level it has a line for
// each request.
func (f *fleet) beginProgram(name string, env []string, args ...string) (*process, error) {
	addr, err := freeport.Addr()
	if err != nil {
		return nil, err
	}
	admin, err := freeport.Addr()
	if err != nil {
		return nil, err
	}
	// All load is from one address, which may have half of the connections otherwise.
	// It is told in the environment, where an older edge passes over what it does not know.
	args = append(args, "--listen", addr, "--admin", admin)
	cmd := start.Command(f.path(name), append(args, "MCPEDGE_CLIENTS_CONNECTIONS="+strconv.Itoa(files))...)
	cmd.Env = append(cmd.Env, env...)
	return f.run(&process{cmd: cmd, addr: addr, addrs: []string{addr}, admin: admin})
}

// path of a program: of one that was built here, or its own.
func (f *fleet) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.dir, name)
}

// redisServer starts one and returns its URL.
func (f *fleet) redisServer() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.building.Err() != nil {
		return "", errClosed
	}
	s, err := redisserver.Start()
	if err != nil {
		return "", err
	}
	f.redis = append(f.redis, s)
	return s.URL(), nil
}

// serving starts a program of ours that prints its address and that of its profiles.
func (f *fleet) serving(name string, args ...string) (*process, error) {
	return f.servingIn(nil, name, args...)
}

// servingIn does so with an environment of its own.
func (f *fleet) servingIn(env []string, name string, args ...string) (*process, error) {
	p, err := f.printing(name, env, args...)
	if err == nil && len(p.addrs) != 2 {
		err = fmt.Errorf("%s printed %q: want its address and that of its profiles", name, p.addrs)
	}
	if err != nil {
		return nil, err
	}
	p.admin = p.addrs[1]
	return p, nil
}

// printing starts a program that prints its addresses as its first line.
func (f *fleet) printing(name string, env []string, args ...string) (*process, error) {
	cmd := exec.Command(filepath.Join(f.dir, name), args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p, err := f.run(&process{cmd: cmd})
	if err != nil {
		return nil, err
	}
	line, err := firstLine(out)
	if p.addrs = strings.Fields(line); err != nil || len(p.addrs) == 0 {
		return nil, fmt.Errorf("%s printed %q instead of its address: %v", name, line, err)
	}
	p.addr = p.addrs[0]
	return p, nil
}

func (f *fleet) run(p *process) (*process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.building.Err() != nil {
		return nil, errClosed
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	f.procs = append(f.procs, p)
	return p, nil
}

// end ends one process before the others.
func (f *fleet) end(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.kill()
	f.procs = slices.DeleteFunc(f.procs, func(q *process) bool { return p == q })
}

// onStop has something done before the processes end.
func (f *fleet) onStop(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = append(f.last, do)
}

// stop ends the processes.
func (f *fleet) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, do := range f.last {
		do()
	}
	for _, p := range slices.Backward(f.procs) { // who depends on others goes first
		p.kill()
	}
	for _, r := range f.redis {
		r.Close()
	}
	f.procs, f.redis, f.last = nil, nil, nil
}

// close ends the processes and removes the programs; no more can be started.
func (f *fleet) close() {
	f.cancel()
	f.stop()
	_ = os.RemoveAll(f.dir)
}

func get(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

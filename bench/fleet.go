package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/tests/freeport"
	"github.com/mcpedge/mcpedge/tests/redisserver"
)

// fleet is everything under measurement, each a process of its own.
type fleet struct {
	dir                                      string
	procs                                    []*process
	edge, bridge, sdkSessions, sdkNoSessions *process
	edgeRedis, sdkEvents                     *process
	redis                                    *redisserver.Server
	// service is the tool service's address.
	service string
	// observed are the edges of the telemetry cases, once they run.
	observed []observedEdge
}

// startFleet builds and starts the processes.
func startFleet() (*fleet, error) {
	dir, err := os.MkdirTemp("", "mcpedge-bench-")
	if err != nil {
		return nil, err
	}
	f := &fleet{dir: dir}
	if err := f.start(); err != nil {
		f.stop()
		return nil, err
	}
	return f, nil
}

func (f *fleet) start() error {
	for name, pkg := range map[string]string{
		"edge": "./edge", "service": "./bench/service", "bridge": "./bench/bridge", "sdk": "./bench/sdk", "sink": "./bench/sink",
	} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(f.dir, name), pkg).CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	service, err := freeport.Addr()
	if err != nil {
		return err
	}
	f.service = service
	if _, err = f.run("service", "", "--listen", service); err != nil {
		return err
	}
	if err := f.await("service", func() error { return dial(service) }); err != nil {
		return err
	}
	if f.edge, err = f.startEdge("--backend", "bench="+service); err != nil {
		return err
	}
	if f.redis, err = redisserver.Start(); err != nil {
		return err
	}
	if f.edgeRedis, err = f.startEdge("--backend", "bench="+service, "--redis", f.redis.URL()); err != nil {
		return err
	}
	if f.bridge, err = f.runPrinting("bridge", "--backend", service); err != nil {
		return err
	}
	if f.sdkSessions, err = f.runPrinting("sdk"); err != nil {
		return err
	}
	if f.sdkEvents, err = f.runPrinting("sdk", "--events"); err != nil {
		return err
	}
	f.sdkNoSessions, err = f.runPrinting("sdk", "--stateless")
	return err
}

// startEdge runs an edge until it is ready.
func (f *fleet) startEdge(args ...string) (*process, error) {
	return f.startEdgeIn(nil, append(args, "--log-level", "warn")...)
}

// startEdgeIn does so with an environment of its own. What it says below a warning goes nowhere.
func (f *fleet) startEdgeIn(env []string, args ...string) (*process, error) {
	addr, err := freeport.Addr()
	if err != nil {
		return nil, err
	}
	admin, err := freeport.Addr()
	if err != nil {
		return nil, err
	}
	p, err := f.runIn(env, "edge", addr, append(args, "--listen", addr, "--admin", admin, "--pprof")...)
	if err != nil {
		return nil, err
	}
	p.admin = admin
	return p, f.await("edge", func() error { return get("http://" + admin + "/readyz") })
}

func post(addr string, h http.Header, body string) (session string, err error) {
	req, err := http.NewRequest(http.MethodPost, "http://"+addr+"/mcp", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header = h.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	if resp.StatusCode/100 != 2 {
		return "", fmt.Errorf("status %d: %s", resp.StatusCode, answer)
	}
	return resp.Header.Get("Mcp-Session-Id"), nil
}

func dial(addr string) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	return c.Close()
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

// await polls until a process serves.
func (f *fleet) await(name string, ready func() error) error {
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s did not get ready: %w", name, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// process is one child.
type process struct {
	cmd   *exec.Cmd
	addr  string
	admin string // of the edge, for its allocation counter
}

// usage is what a process has used so far.
type usage struct {
	cpu     time.Duration
	mallocs uint64 // 0 where it cannot be read
}

func (f *fleet) run(name, addr string, args ...string) (*process, error) {
	return f.runIn(nil, name, addr, args...)
}

func (f *fleet) runIn(env []string, name, addr string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(filepath.Join(f.dir, name), args...), addr: addr}
	p.cmd.Env = append(os.Environ(), env...)
	if !slices.Contains(args, "info") { // else a line for each request
		p.cmd.Stderr = os.Stderr
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	f.procs = append(f.procs, p)
	return p, nil
}

// runPrinting starts a process that prints its address as its first line.
func (f *fleet) runPrinting(name string, args ...string) (*process, error) {
	cmd := exec.Command(filepath.Join(f.dir, name), args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd}
	f.procs = append(f.procs, p)
	_, err = fmt.Fscanln(out, &p.addr)
	return p, err
}

func (f *fleet) stop() {
	for _, p := range slices.Backward(f.procs) { // who depends on others goes first
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	if f.redis != nil {
		f.redis.Close()
	}
	_ = os.RemoveAll(f.dir)
}

func (p *process) usage() (u usage, err error) {
	if u.cpu, err = cpu(p.cmd.Process.Pid); err == nil && p.admin != "" {
		u.mallocs, err = mallocs(p.admin)
	}
	return u, err
}

// mallocs reads the edge's allocation counter from its allocation profile.
func mallocs(admin string) (uint64, error) {
	resp, err := http.Get("http://" + admin + "/debug/pprof/allocs?debug=1")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	_, rest, ok := bytes.Cut(text, []byte("\n# Mallocs = "))
	if !ok {
		return 0, errors.New("the edge's allocation profile has no counter")
	}
	n, _, _ := bytes.Cut(rest, []byte("\n"))
	return strconv.ParseUint(string(n), 10, 64)
}

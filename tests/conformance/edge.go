package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	readyWithin = 30 * time.Second
	stopWithin  = 30 * time.Second
	backendName = "everything"
)

// edge is a running edge with its backend.
type edge struct {
	url     string // MCP endpoint
	dir     string // built programs
	backend *process
	front   *process
}

// startEdge builds the edge and its backend into a temporary folder, starts both on free loopback
// ports with their logs in results, and returns once the edge reports ready.
func startEdge(ctx context.Context, results string) (_ *edge, err error) {
	dir, err := os.MkdirTemp("", "mcpedge-conformance-")
	if err != nil {
		return nil, err
	}
	e := &edge{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.stop())
		}
	}()
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", dir+"/", "./edge", "./services/everything")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	listen, admin, target := ports[0], ports[1], ports[2]
	if e.backend, err = start(filepath.Join(dir, "everything"), filepath.Join(results, "everything.log"),
		"--listen", target); err != nil {
		return nil, err
	}
	if e.front, err = start(filepath.Join(dir, "edge"), filepath.Join(results, "edge.log"),
		"--listen", listen, "--admin", admin, "--backend", backendName+"="+target); err != nil {
		return nil, err
	}
	e.url = "http://" + listen + "/mcp"
	return e, e.awaitReady(ctx, "http://"+admin+"/readyz")
}

// awaitReady polls url until it answers 200. It gives up when a process ends, when ctx does, and
// after readyWithin.
func (e *edge) awaitReady(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	last := "no answer"
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			last = resp.Status
		}
		select {
		case <-poll.C:
		case <-e.front.done:
			return errors.New("the edge ended before it was ready")
		case <-e.backend.done:
			return errors.New("the backend ended before the edge was ready")
		case <-ctx.Done():
			return fmt.Errorf("%s did not answer 200 within %s (last: %s)\n%s", url, readyWithin, last, e.front.tail())
		}
	}
}

// stop ends both processes, the edge first so that it drains, and removes the built programs.
// It reports a process that had ended on its own or that had to be killed.
func (e *edge) stop() error {
	return errors.Join(e.front.stop("edge"), e.backend.stop(backendName), os.RemoveAll(e.dir))
}

// freePorts returns n loopback addresses that were free a moment ago.
func freePorts(n int) ([]string, error) {
	var addrs []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // at the end, so that no port is handed out twice
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// process is one started program. The nil process is one that was never started.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when the program has ended
	err  error         // how it ended; read only after done
}

// start runs program with its output going to the file log.
func start(program, log string, args ...string) (*process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the program has its own copy
	p := &process{cmd: exec.Command(program, args...), log: log, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	bindToParent(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop asks the program to end and kills it when it does not within stopWithin.
func (p *process) stop(name string) error {
	if p == nil {
		return nil
	}
	select {
	case <-p.done:
		return fmt.Errorf("%s ended during the run: %v\n%s", name, p.err, p.tail())
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopWithin):
		err := p.cmd.Process.Kill()
		<-p.done
		return errors.Join(fmt.Errorf("%s did not stop within %s of SIGTERM and was killed\n%s", name, stopWithin, p.tail()), err)
	}
}

// tail returns the end of the program's log.
func (p *process) tail() string {
	const most = 4096
	raw, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-most):])
}

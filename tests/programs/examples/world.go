package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// builds is how many examples are built at a time; each keeps about one core busy.
	builds = 2
	// readyWithin is how long the edge may take to have all backends.
	readyWithin = 30 * time.Second
)

// world is what the client meets: the examples that could be built, and one edge in front of them.
type world struct {
	examples []*example
	dir      string // temporary
	edge     *process
	url      string
}

func (w *world) program() string { return filepath.Join(w.dir, "mcpedge") }

// start builds and starts everything. An example that cannot be built is a failed step; without any there is no edge.
func (w *world) start(ctx context.Context, r *report) (err error) {
	if w.dir, err = os.MkdirTemp("", "mcpedge-examples-"); err != nil {
		return err
	}
	w.build(ctx, r)
	out, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", w.program(), "./edge").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build ./edge: %w\n%s", err, out)
	}
	if len(w.examples) == 0 {
		return nil
	}
	ports, err := freePorts(len(w.examples) + 2)
	if err != nil {
		return err
	}
	file := filepath.Join(w.dir, "edge.yaml")
	if err := w.startExamples(ctx, ports, file); err != nil {
		return err
	}
	listen, admin := ports[len(ports)-1], ports[len(ports)-2]
	// Small pages, so that every list has more than one.
	w.edge, err = start("edge", ".", filepath.Join(results, "edge.log"),
		w.program(), "--config", file, "--listen", listen, "--admin", admin, "MCPEDGE_LISTS_PAGE_SIZE=2")
	if err != nil {
		return err
	}
	w.url = "http://" + listen + "/mcp"
	return awaitReady(ctx, "http://"+admin+"/readyz", w.edge)
}

// startExamples starts the examples on the first ports, writes the configuration of an edge in front of
// them, and returns when all accept connections.
func (w *world) startExamples(ctx context.Context, ports []string, file string) error {
	var config strings.Builder
	config.WriteString("backends:\n")
	for i, e := range w.examples {
		if err := e.start(ports[i]); err != nil {
			return err
		}
		fmt.Fprintf(&config, "  - {name: %s, target: %q, prefix: %s}\n", e.name, e.addr, e.prefix())
	}
	for _, e := range w.examples {
		if err := e.awaitListening(ctx); err != nil {
			return err
		}
	}
	return os.WriteFile(file, []byte(config.String()), 0o644)
}

// build builds the examples and keeps those that could be.
func (w *world) build(ctx context.Context, r *report) {
	var group errgroup.Group
	group.SetLimit(builds)
	built := make([]bool, len(w.examples))
	for i, e := range w.examples {
		r.step(e.name, "size", e.size)
		group.Go(func() error {
			built[i] = r.step(e.name, "build", func() error { return e.make(ctx) })
			return nil
		})
	}
	_ = group.Wait()
	var kept []*example
	for i, e := range w.examples {
		if built[i] {
			kept = append(kept, e)
		}
	}
	w.examples = kept
}

// prefix is what the edge puts before the names of the example's tools and prompts.
func (e *example) prefix() string { return e.name + "_" }

// awaitReady polls url until it answers 200. It gives up when the edge ends, when ctx does, and
// after readyWithin.
func awaitReady(ctx context.Context, url string, edge *process) error {
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
		case <-edge.done:
			return errors.New("the edge ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("%s did not answer 200 within %s (last: %s)\n%s", url, readyWithin, last, edge.tail())
		}
	}
}

// check has `mcpedge check` call everything that the example serves.
func (w *world) check(ctx context.Context, e *example) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.program(), "check", "--backend", e.name+"="+e.addr)
	out, err := cmd.CombinedOutput()
	if werr := os.WriteFile(filepath.Join(results, e.name+"-check.log"), out, 0o644); werr != nil {
		return errors.Join(err, werr)
	}
	if err != nil {
		return fmt.Errorf("mcpedge check: %w\n%s", err, last(out))
	}
	return nil
}

// stop ends everything, the edge before the examples, and removes what was made.
func (w *world) stop() error {
	var errs []error
	if w.edge != nil {
		errs = append(errs, w.edge.stop())
	}
	for _, e := range w.examples {
		if e.process != nil {
			errs = append(errs, e.process.stop())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/mcpedge/mcpedge/tests/process"
)

// pageSize makes every list of the bundled services more than one page long.
const pageSize = "3"

// services are the backends, in the order of their entries in lists.
var services = []string{"tools", "resources", "prompts", "everything"}

// world is what clients meet: running services, an edge in front of them, and a way to break the
// connections to it.
type world struct {
	dir      string   // temporary; holds the programs and files
	files    string   // directory that resources serves; clients write to it
	backends []string // the flags by which an edge finds the services
	running  []*process.Process
	breaker  *breaker
	wide     string // URL of an edge whose lists are one page long
	fleet    *fleet // nil: not asked for
}

// program is the path of a built program.
func (w *world) program(name string) string { return filepath.Join(w.dir, "bin", name) }

// url is where clients reach the edge, one whose lists have several pages if the client reads them.
func (w *world) url(pages bool) string {
	if pages {
		return "http://" + w.breaker.addr()
	}
	return w.wide
}

// stdio is the command that serves MCP on its standard input and output.
func (w *world) stdio(pages bool) []string {
	command := []string{w.program("edge"), "stdio", "--log-level", "warn"}
	if pages {
		command = append(command, "--page-size", pageSize)
	}
	return append(command, w.backends...)
}

// startWorld builds and starts everything, with logs in results, and returns once the edges are ready. There are
// two replicas more if fleet says so.
func startWorld(ctx context.Context, results string, fleet bool) (_ *world, err error) {
	dir, err := os.MkdirTemp("", "mcpedge-interop-")
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop())
		}
	}()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	w.files = filepath.Join(dir, "files")
	if err := errors.Join(os.Mkdir(w.files, 0o755), os.WriteFile(filepath.Join(w.files, "note.txt"), []byte("first\n"), 0o644)); err != nil {
		return nil, err
	}
	if err := w.build(ctx); err != nil {
		return nil, err
	}
	ports, err := process.FreeAddrs(len(services) + 4)
	if err != nil {
		return nil, err
	}
	for i, name := range services {
		args := []string{"--listen", ports[i]}
		if name == "resources" {
			args = append(args, "--dir", w.files)
		}
		if err := w.start(name, name, results, args...); err != nil {
			return nil, err
		}
		w.backends = append(w.backends, "--backend", name+"="+ports[i])
	}
	return w, w.startEdges(ctx, results, ports[len(services):], fleet)
}

func (w *world) startEdges(ctx context.Context, results string, ports []string, fleet bool) (err error) {
	narrow := append([]string{"--listen", ports[0], "--admin", ports[1], "--page-size", pageSize}, w.backends...)
	wide := append([]string{"--listen", ports[2], "--admin", ports[3]}, w.backends...)
	if err := errors.Join(w.start("edge", "edge", results, narrow...), w.start("edge-wide", "edge", results, wide...)); err != nil {
		return err
	}
	w.wide = "http://" + ports[2]
	if w.breaker, err = startBreaker(ports[0]); err != nil {
		return err
	}
	for _, admin := range []string{ports[1], ports[3]} {
		if err := process.AwaitOK(ctx, "http://"+admin+"/readyz", w.running...); err != nil {
			return err
		}
	}
	if fleet {
		w.fleet, err = startFleet(ctx, w.dir, results, w.program("edge"), w.backends)
	}
	return err
}

// build builds all programs.
func (w *world) build(ctx context.Context) error {
	packages := []string{"./edge"}
	for _, name := range services {
		packages = append(packages, "./services/"+name)
	}
	return process.Build(ctx, filepath.Join(w.dir, "bin"), packages...)
}

func (w *world) start(name, program, results string, args ...string) error {
	p, err := process.Start(name, w.program(program), filepath.Join(results, name+".log"), args...)
	if err == nil {
		w.running = append(w.running, p)
	}
	return err
}

// stop ends everything, the edge before its services, and removes what was built.
func (w *world) stop() error {
	if w.breaker != nil {
		w.breaker.stop()
	}
	var errs []error
	if w.fleet != nil {
		errs = append(errs, w.fleet.stop())
	}
	for i := len(w.running) - 1; i >= 0; i-- {
		errs = append(errs, w.running[i].Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

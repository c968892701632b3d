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
}

// program is the path of a built program.
func (w *world) program(name string) string { return filepath.Join(w.dir, "bin", name) }

// url is where clients reach the edge.
func (w *world) url() string { return "http://" + w.breaker.addr() }

// stdio is the command that serves MCP on its standard input and output.
func (w *world) stdio() []string {
	return append([]string{w.program("edge"), "stdio", "--page-size", pageSize, "--log-level", "warn"}, w.backends...)
}

// startWorld builds and starts everything, with logs in results, and returns once the edge is ready.
func startWorld(ctx context.Context, results string) (_ *world, err error) {
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
	ports, err := process.FreeAddrs(len(services) + 2)
	if err != nil {
		return nil, err
	}
	for i, name := range services {
		args := []string{"--listen", ports[i]}
		if name == "resources" {
			args = append(args, "--dir", w.files)
		}
		if err := w.start(name, results, args...); err != nil {
			return nil, err
		}
		w.backends = append(w.backends, "--backend", name+"="+ports[i])
	}
	listen, admin := ports[len(services)], ports[len(services)+1]
	args := append([]string{"--listen", listen, "--admin", admin, "--page-size", pageSize}, w.backends...)
	if err := w.start("edge", results, args...); err != nil {
		return nil, err
	}
	if w.breaker, err = startBreaker(listen); err != nil {
		return nil, err
	}
	return w, process.AwaitOK(ctx, "http://"+admin+"/readyz", w.running...)
}

// build builds all programs.
func (w *world) build(ctx context.Context) error {
	packages := []string{"./edge"}
	for _, name := range services {
		packages = append(packages, "./services/"+name)
	}
	return process.Build(ctx, filepath.Join(w.dir, "bin"), packages...)
}

func (w *world) start(name, results string, args ...string) error {
	p, err := process.Start(name, w.program(name), filepath.Join(results, name+".log"), args...)
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
	for i := len(w.running) - 1; i >= 0; i-- {
		errs = append(errs, w.running[i].Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

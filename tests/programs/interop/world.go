package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/tests/helpers/locked"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// pageSize makes every list of the bundled services more than one page long.
const pageSize = "3"

// services are the backends, in the order of their entries in lists.
var services = []string{"tools", "resources", "prompts", "everything"}

// world is what clients meet: running services, an edge in front of them, and a way to break the
// connections to it.
type world struct {
	dir      string   // temporary; holds what the clients read and write
	programs string   // directory of the built programs
	files    string   // directory that resources serves; clients write to it
	backends []string // the flags by which an edge finds the services
	running  []*process.Process
	breaker  *breaker
	wide     string // URL of an edge whose lists are one page long
	fleet    *fleet // nil: not asked for
	// key is that of locked edges, which the fronts add to requests; empty: they are open.
	key    string
	fronts []*httptest.Server
}

// program is the path of a built program.
func (w *world) program(name string) string { return filepath.Join(w.programs, name) }

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
		command = append([]string{"env", "MCPEDGE_LISTS_PAGE_SIZE=" + pageSize}, command...)
	}
	return append(command, w.backends...)
}

// startWorld starts everything, with logs in results, and returns once the edges are ready. There are
// two replicas more if fleet says so. The edges want a key if wantKey does, which proxies before them add.
func startWorld(ctx context.Context, programs, results string, fleet, wantKey bool) (_ *world, err error) {
	dir, err := os.MkdirTemp("", "mcpedge-interop-")
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir, programs: programs}
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
	flags := w.backends
	if wantKey {
		var config string
		if config, w.key, err = locked.Configure(dir); err != nil {
			return nil, err
		}
		flags = append(slices.Clone(flags), "--config", config)
	}
	return w, w.startEdges(ctx, results, ports[len(services):], flags, fleet)
}

func (w *world) startEdges(ctx context.Context, results string, ports, flags []string, fleet bool) (err error) {
	narrow := append([]string{"--replica", "narrow", "--listen", ports[0], "--admin", ports[1], "MCPEDGE_LISTS_PAGE_SIZE=" + pageSize}, flags...)
	wide := append([]string{"--replica", "wide", "--listen", ports[2], "--admin", ports[3]}, flags...)
	if err := errors.Join(w.start("edge", "edge", results, narrow...), w.start("edge-wide", "edge", results, wide...)); err != nil {
		return err
	}
	if w.wide, err = w.front("http://" + ports[2]); err != nil {
		return err
	}
	behind, err := w.front("http://" + ports[0])
	if err != nil {
		return err
	}
	if w.breaker, err = startBreaker(strings.TrimPrefix(behind, "http://")); err != nil {
		return err
	}
	for _, admin := range []string{ports[1], ports[3]} {
		if err := process.AwaitOK(ctx, "http://"+admin+"/readyz", w.running...); err != nil {
			return err
		}
	}
	if fleet {
		if w.fleet, err = startFleet(ctx, w.dir, results, w.program("edge"), flags); err != nil {
			return err
		}
		w.fleet.url, err = w.front(strings.TrimSuffix(w.fleet.proxy.URL, "/mcp"))
		w.fleet.url += "/mcp"
	}
	return err
}

// front is where clients reach an edge: at a proxy that adds the key, if there is one.
func (w *world) front(url string) (string, error) {
	if w.key == "" {
		return url, nil
	}
	s, err := locked.WithKey(url, w.key)
	if err != nil {
		return "", err
	}
	w.fronts = append(w.fronts, s)
	return s.URL, nil
}

// build builds all programs into a directory.
func build(ctx context.Context, dir string) error {
	packages := []string{"./edge"}
	for _, name := range services {
		packages = append(packages, "./services/"+name)
	}
	return process.Build(ctx, dir, packages...)
}

func (w *world) start(name, program, results string, args ...string) error {
	p, err := process.Start(name, w.program(program), filepath.Join(results, name+".log"), args...)
	if err == nil {
		w.running = append(w.running, p)
	}
	return err
}

// stop ends everything, the edge before its services, and removes its files.
func (w *world) stop() error {
	if w.breaker != nil {
		w.breaker.stop()
	}
	for _, s := range w.fronts {
		s.CloseClientConnections()
		s.Close()
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

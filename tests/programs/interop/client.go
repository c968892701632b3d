package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// runWithin bounds one run of a client.
const runWithin = 4 * time.Minute

// endWithin bounds how long what a client started may outlive it.
var endWithin = 30 * time.Second

// client is one folder with a program that drives an edge by a library of others.
//
// The program is main.mjs, for Node.js, beside a package.json and its lock file; main.py beside a
// requirements.txt; main.go, a package of this module or beside a go.mod of its own; src/Main.java or src/Main.kt beside a
// pom.xml; or src/main.rs beside a Cargo.toml and its lock file. It is told where the edge is:
//
//	--dir DIR --url URL --cut URL       Streamable HTTP; a POST to --cut breaks all connections
//	--dir DIR --url URL --drain URL     the same to two replicas; a POST to --drain ends the one that
//	                                    serves the most calls with SIGTERM, one to its path /kill with
//	                                    SIGKILL, and one to its path /restore starts what ended
//	--dir DIR --sse URL                 HTTP+SSE
//	--dir DIR -- COMMAND ARGUMENTS…     stdio
//
// DIR is what the resources service serves as file: resources. The program prints "ok <step>" for
// each step, "uses <library> <version>" and "speaks <revision>" for what it is, and "lacks <feature>: <why>" for a
// feature (see features) that the library does not have, and "notes <text>" for what else its users should know; it ends with status 0, or on a mismatch prints what it
// expected and got, with status 1. Beside the program, client.json says what it is called and what it needs.
type client struct {
	name string
	dir  string
	kind runtimeKind
	args []string // the program's start; known once it is installed
	manifest
}

// manifest is the contents of client.json.
type manifest struct {
	// Title is what the library is called in the documentation.
	Title string `json:"title"`
	// Transports that the library has; empty: all.
	Transports []string `json:"transports"`
	// FirstPage: the library reads the first page of a list only.
	FirstPage bool `json:"firstPage"`
}

// readManifest reads the client.json of a folder.
func readManifest(dir string) (m manifest, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, "client.json"))
	if err != nil {
		return m, fmt.Errorf("a client has to say what it is: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("%s/client.json: %w", dir, err)
	}
	for _, t := range m.Transports {
		if !slices.Contains(transports, t) {
			return m, fmt.Errorf("%s/client.json: transport %q is not known: give some of %s", dir, t, strings.Join(transports, ","))
		}
	}
	if m.Title == "" {
		return m, fmt.Errorf("%s/client.json: title is missing", dir)
	}
	return m, nil
}

// has says whether the client has a transport.
func (c *client) has(transport string) bool {
	return len(c.Transports) == 0 || slices.Contains(c.Transports, transport)
}

// discover lists the clients of a folder, by name.
func discover(folder string) ([]*client, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("run this from the root of the repository: %w", err)
	}
	var found []*client
	for _, e := range entries {
		dir := filepath.Join(folder, e.Name())
		for _, kind := range kinds {
			if _, err := os.Stat(filepath.Join(dir, kind.program)); err == nil {
				m, err := readManifest(dir)
				if err != nil {
					return nil, err
				}
				found = append(found, &client{name: e.Name(), dir: dir, kind: kind, manifest: m})
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no clients in %s", folder)
	}
	return found, nil
}

// install brings what the client needs into its folder, unless it is there.
func (c *client) install(ctx context.Context) error {
	start := time.Now()
	fresh, err := c.kind.install(ctx, c.dir)
	if err != nil {
		return err
	}
	if fresh {
		fmt.Printf("installed %s in %.1f s\n", c.name, time.Since(start).Seconds())
	}
	c.args, err = c.kind.start(ctx, c.dir)
	return err
}

// run runs the client over a transport. Its output is kept in results.
func (c *client) run(ctx context.Context, w *world, transport, results string, verbose bool) outcome {
	o := outcome{client: c.name, transport: transport}
	args := append(c.args[1:len(c.args):len(c.args)], "--dir", w.files)
	switch transport {
	case "http":
		args = append(args, "--url", w.url(!c.FirstPage)+"/mcp", "--cut", w.breaker.url)
	case "sse":
		args = append(args, "--sse", w.url(!c.FirstPage)+"/sse")
	case "stdio":
		args = append(append(args, "--"), w.stdio(!c.FirstPage)...)
	case "replicas":
		args = append(args, "--url", w.fleet.url, "--drain", w.fleet.drain)
	}
	log := filepath.Join(results, c.name+"-"+transport+".log")
	out, err := os.Create(log)
	if err != nil {
		o.err = err
		return o
	}
	defer out.Close()
	home, err := os.MkdirTemp(w.dir, "home-")
	if err != nil {
		o.err = err
		return o
	}
	ctx, cancel := context.WithTimeout(ctx, runWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.args[0], args...)
	record := newRecorder(out, verbose)
	cmd.Stdout, cmd.Stderr = record, record
	cmd.Env = append(os.Environ(), "HOME="+home, "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+filepath.Dir(c.dir))
	if w.key != "" && transport != "stdio" {
		cmd.Env = append(cmd.Env, "INTEROP_AUTHENTICATED=1") // The edge knows the caller, and so which tasks are the caller's.
	}
	cmd.WaitDelay = endWithin
	process.Bind(cmd)
	cmd.Cancel = func() error { return process.KillGroup(cmd) }
	start := time.Now()
	err = cmd.Run()
	o.took = time.Since(start)
	if cmd.Process != nil {
		err = errors.Join(err, process.KillGroup(cmd)) // what it may have left
	}
	o.said, o.slowest = record.said, record.slowest
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("stopped after %.0f s: %w", o.took.Seconds(), context.Cause(ctx))
	case errors.Is(err, exec.ErrWaitDelay):
		err = errors.New("it left a process running")
	case err == nil && len(o.steps) == 0:
		err = errors.New("it did no step")
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, process.Tail(log))
	}
	if transport == "replicas" && w.fleet != nil {
		restoring, cancel := context.WithTimeout(context.WithoutCancel(ctx), runWithin)
		defer cancel()
		err = errors.Join(err, w.fleet.restore(restoring))
	}
	o.err = err
	return o
}

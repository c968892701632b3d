// Command interop drives an edge with clients that others wrote: the official SDKs and the MCP
// Inspector, each in a folder of its own beside this file.
//
// It builds the edge and the bundled services, starts the services and an edge on free loopback
// ports, installs what each client needs (kept for the next run) while clients before it run, and runs every client over every
// transport: Streamable HTTP and HTTP+SSE to the running edge, stdio, where the client starts an edge
// itself, and Streamable HTTP to two replicas behind a load balancer, one of which is drained while the
// client's call runs on it. Two clients run at a time, each with services and edges of its own. Every step
// that a client gets through counts as passed; a client that stops early counts as one failure. The exit
// status is 0 when nothing failed. "<passed> <failed>" is written to the file that -counts, or else
// INTEROP_COUNTS in the environment, names.
//
//	go run ./tests/programs/interop -only python,typescript-v1 -transport http
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/locked"
)

// folder holds the clients and the results, seen from the module root.
const folder = "tests/programs/interop"

// atATime is how many clients run at a time, each in a world of its own: they wait for much of their time.
const atATime = 2

// replicas is Streamable HTTP to two replicas that share a Redis, behind a plain load balancer.
var transports = []string{"http", "sse", "stdio", "replicas"}

// options is what the command line decides.
type options struct {
	only       []string      // names of clients; none: all
	transports []string      // of transports
	limit      time.Duration // for the whole run
	verbose    bool          // print every step
	counts     string        // file for the totals; empty: none
	docs       bool          // write the table into the documentation; of a run of some clients: their rows and notes
	locked     bool          // the edges want a key, and have a policy, quotas and audit
}

func init() {
	// Children are bound to the thread that starts them (see process.Bind): keep it alive.
	runtime.LockOSThread()
}

func main() {
	var o options
	var only, over string
	flag.StringVar(&only, "only", "", "clients to run, separated by commas; empty: all")
	flag.StringVar(&over, "transport", strings.Join(transports, ","), "transports to run them over, separated by commas")
	flag.DurationVar(&o.limit, "limit", 35*time.Minute, "time limit of the whole run")
	flag.BoolVar(&o.verbose, "v", false, "print every step")
	flag.StringVar(&o.counts, "counts", os.Getenv("INTEROP_COUNTS"), "file to write the passed and failed counts to")
	flag.BoolVar(&o.docs, "docs", false, "write the table into "+documented+" instead of comparing it, over all transports; with -only: the rows of these clients")
	flag.BoolVar(&o.locked, "locked", false, "have the edges want a key, which proxies add, and have a policy, quotas and audit; not over stdio, where nobody is asked")
	flag.Parse()
	o.only, o.transports = split(only), split(over)
	if o.locked {
		o.transports = slices.DeleteFunc(o.transports, func(t string) bool { return t == "stdio" })
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	err := run(ctx, o)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "interop: %v\n", err)
		os.Exit(1)
	}
}

// split cuts a list at its commas.
func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// run does one whole pass. Every process it started has ended when it returns.
func run(ctx context.Context, o options) (err error) {
	clients, err := choose(o)
	if err != nil {
		return err
	}
	results := filepath.Join(folder, "results")
	if err := errors.Join(os.RemoveAll(results), os.MkdirAll(results, 0o755)); err != nil {
		return err
	}
	installing, stop := context.WithCancel(ctx)
	installed := installAll(installing, clients)
	defer func() {
		stop()
		for _, await := range installed {
			_ = await() // it was told, or nobody asks any more
		}
	}()
	programs, err := os.MkdirTemp("", "mcpedge-interop-programs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(programs)
	if err := build(ctx, programs); err != nil {
		return err
	}
	outcomes := make([][]outcome, len(clients)) // of each client
	var next atomic.Int64
	var lanes sync.WaitGroup
	failed := make([]error, min(atATime, len(clients)))
	for lane := range failed {
		lanes.Go(func() {
			runtime.LockOSThread() // until the last child has ended, see process.Bind
			dir := filepath.Join(results, fmt.Sprintf("world-%d", lane+1))
			failed[lane] = inWorld(ctx, o, programs, dir, func(w *world) {
				for i := next.Add(1) - 1; i < int64(len(clients)); i = next.Add(1) - 1 {
					outcomes[i] = runAll(ctx, clients[i], o, w, dir, installed[i])
				}
			})
		})
	}
	lanes.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	all := slices.Concat(outcomes...)
	if err := report(os.Stdout, all, o.counts); err != nil {
		return err
	}
	switch {
	case len(o.transports) < len(transports):
		return nil // the page is about everything
	case len(o.only) == 0:
		return document(documented, table(clients, all), o.docs)
	case o.docs:
		return documentSome(documented, table(clients, all))
	}
	return nil
}

// inWorld starts a world, with its logs in the folder results, for as long as do runs.
func inWorld(ctx context.Context, o options, programs, results string, do func(*world)) (err error) {
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	w, err := startWorld(ctx, programs, results, slices.Contains(o.transports, "replicas"), o.locked)
	if err != nil {
		return err
	}
	do(w)
	if o.locked {
		err = locked.CheckNotStored(w.key, w.dir, results)
	}
	return errors.Join(err, w.stop())
}

// runAll runs a client over every transport that it has, once it is installed.
func runAll(ctx context.Context, c *client, o options, w *world, results string, installed func() error) (all []outcome) {
	missing := installed()
	for _, transport := range o.transports {
		if !c.has(transport) {
			continue
		}
		r := outcome{client: c.name, transport: transport, err: missing}
		if missing == nil {
			r = c.run(ctx, w, transport, results, o.verbose)
		}
		all = append(all, r)
		if r.err != nil {
			fmt.Printf("%s over %s: %v\n", c.name, transport, r.err)
		}
	}
	return all
}

// choose finds the clients to run and checks the transports' names.
func choose(o options) ([]*client, error) {
	clients, err := discover(folder)
	if err != nil {
		return nil, err
	}
	for _, t := range o.transports {
		if !slices.Contains(transports, t) {
			return nil, fmt.Errorf("transport %q is not known: give some of %s", t, strings.Join(transports, ","))
		}
	}
	if len(o.transports) == 0 {
		return nil, fmt.Errorf("no transport: give some of %s", strings.Join(transports, ","))
	}
	if len(o.only) == 0 {
		return clients, nil
	}
	var chosen []*client
	for _, name := range o.only {
		i := slices.IndexFunc(clients, func(c *client) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("client %q is not a folder of %s", name, folder)
		}
		chosen = append(chosen, clients[i])
	}
	return chosen, nil
}

// Command chaos disturbs replicas of the edge while many clients use them, and shows that no call is
// lost, answered twice or left hanging.
//
// It builds the edge and runs three replicas on one Redis behind a plain round-robin proxy. Clients of
// revision 2025-11-25 call two tools: `countdown`, which only reads and reports progress, and
// `book_trip`, which asks its user twice and then books. Each client writes down every event with its
// time and id; the backend lives in this process and knows who ran what. Others, of 2026-07-28, hold tasks: of a tool that may be run
// again, of one that goes on from its last checkpoint, of one that may not be run again, of one that asks, and of one whose backend has a
// job of its own. Meanwhile, by mode:
//
//	kill       a replica is killed every 2 s and started again
//	audit      the same, where each replica must record who did what
//	term       replicas are rolled with SIGTERM, one after the other
//	redis      Redis is restarted with its data
//	blackout   all replicas are killed at once, and Redis is restarted with its data before they are
//	promotion  a replica of Redis that lacks the last writes takes its place; not with -cluster
//	versions   replicas of two versions, -other beside the usual one, are rolled to the one and to the other;
//	           only where -other names it
//
// With -cluster, Redis is a Cluster of three masters without replicas: `redis` restarts one master after the other, and `blackout` all.
//
// Afterwards the transcripts are held against what must be true, and a table is printed for each mode.
// The exit status is 0 when every line of them holds. What failed is shown with its transcript, and the
// logs are kept.
//
//	go run ./tests/programs/chaos -mode kill -duration 60s
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.uber.org/goleak"
)

// options is what the command line decides.
type options struct {
	modes    []mode
	duration time.Duration // of each mode
	clients  int
	holders  int // of tasks
	each     int // tasks that a holder has at a time
	taskFor  time.Duration
	keys     bool // every client is a principal of its own
	replicas int
	cluster  bool // Redis is a Cluster
	seed     uint64
	program  string // the built edge; empty: it is built
	other    string // the edge of another version, for the mode versions
	counts   string // file for "<passed> <failed>"; empty: none
	verbose  bool
}

func init() {
	// Children are bound to the thread that starts them (see process.Bind): keep it alive.
	runtime.LockOSThread()
}

func main() {
	var o options
	var names string
	flag.StringVar(&names, "mode", "", "modes to run, separated by commas; empty: all")
	flag.DurationVar(&o.duration, "duration", time.Minute, "how long each mode disturbs")
	flag.IntVar(&o.clients, "clients", 200, "clients at the same time")
	flag.IntVar(&o.holders, "holders", 40, "clients that hold tasks")
	flag.IntVar(&o.each, "each", 5, "tasks that each of them has at a time")
	flag.DurationVar(&o.taskFor, "task-for", 1500*time.Millisecond, "how long a task works at least")
	flag.BoolVar(&o.keys, "keys", false, "give each client a key of its own, and let nobody else in")
	flag.IntVar(&o.replicas, "replicas", 3, "replicas of the edge")
	flag.BoolVar(&o.cluster, "cluster", false, "use a Redis Cluster of three masters")
	flag.Uint64Var(&o.seed, "seed", rand.Uint64(), "decides what is random in who does what")
	flag.StringVar(&o.program, "program", "", "built edge to run; empty: build it")
	flag.StringVar(&o.other, "other", "", "built edge of another version, which the mode versions runs beside it")
	flag.StringVar(&o.counts, "counts", os.Getenv("CHAOS_COUNTS"), "file to write the passed and failed counts to")
	flag.BoolVar(&o.verbose, "v", false, "keep the logs even when nothing fails")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := choose(&o, names)
	if err == nil {
		err = runAll(ctx, o)
	}
	stop()
	if err == nil {
		err = goleak.Find(goleak.IgnoreTopFunction("os/signal.loop"))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "chaos: %v\n", err)
		os.Exit(1)
	}
}

// choose finds the modes by their names.
func choose(o *options, names string) error {
	if names == "" {
		for _, m := range modes {
			if !o.cluster || !m.standby {
				o.modes = append(o.modes, m)
			}
		}
		return nil
	}
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(modes, func(m mode) bool { return m.name == name })
		if i < 0 {
			if name != versions.name {
				return fmt.Errorf("mode %q is not known: choose from kill, audit, term, redis, blackout, promotion, versions", name)
			}
			if o.other == "" {
				return errors.New("the mode versions takes -other, the built edge of another version")
			}
			o.modes = append(o.modes, versions)
			continue
		}
		if o.cluster && modes[i].standby {
			return fmt.Errorf("the mode %s does not run with -cluster: the masters of the Cluster have no replicas to take their place", name)
		}
		o.modes = append(o.modes, modes[i])
	}
	return nil
}

// runAll runs the modes, one after the other. Every process it started has ended when it returns.
func runAll(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "mcpedge-chaos-")
	if err != nil {
		return err
	}
	if o.program == "" {
		o.program = filepath.Join(dir, "edge")
		if err := build(ctx, dir); err != nil {
			return errors.Join(err, os.RemoveAll(dir))
		}
	}
	passed, failed := 0, 0
	for _, m := range o.modes {
		r, err := runMode(ctx, filepath.Join(dir, m.name), o, m)
		if err != nil {
			r.fail("the run came to its end", err.Error())
		}
		r.print(os.Stdout)
		p, f := r.tally()
		passed, failed = passed+p, failed+f
		if ctx.Err() != nil {
			break
		}
	}
	if o.counts != "" {
		err = os.WriteFile(o.counts, fmt.Appendf(nil, "%d %d\n", passed, failed), 0o644)
	}
	switch {
	case failed > 0:
		err = errors.Join(err, fmt.Errorf("%d of %d checks failed; the logs are in %s", failed, passed+failed, dir))
	case o.verbose:
		fmt.Printf("the logs are in %s\n", dir)
	default:
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// runMode runs one mode. The report is valid with an error.
func runMode(ctx context.Context, dir string, o options, m mode) (*report, error) {
	r := newReport(o, m)
	s, err := newStage(ctx, dir, o, m)
	if err != nil {
		return r, err
	}
	seen := func() []stall { return nil }
	if !m.rules.unavailable { // else Redis is disturbed itself
		seen = watch(s.redis)
	}
	clients, holders, traffic, err := s.play(ctx, o, m)
	stalls := seen()
	if err == nil {
		err = r.leftovers(ctx, s, clients)
	}
	if stopped := s.stop(); stopped != nil {
		r.fail("every process ended well", stopped.Error())
	}
	if err != nil {
		return r, err
	}
	e := &evidence{
		clients: clients, holders: holders, ledger: s.ledger, losses: s.losses, stalls: stalls, traffic: traffic, rules: m.rules, disturbed: o.duration,
	}
	if m.audited {
		if e.trail, err = readTrail(dir, o.replicas); err != nil {
			return r, err
		}
	}
	r.judge(e)
	return r, nil
}

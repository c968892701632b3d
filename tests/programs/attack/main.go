// Command attack is a standing attacker: it shows that neither hostile clients nor hostile backends take
// an edge down, or away from the honest clients beside them.
//
// It builds the edge and runs it with a limit of memory (-memory) and few files, before an honest
// backend and several hostile ones, all over real gRPC. Fifty honest clients, half of each era, call it
// all the time. Beside them it attacks, one attack after the other (see attacks), and watches the
// process from outside: resident memory, files, goroutines, sessions, live memory.
//
// An attack passes when
//
//   - what it must meet was met: a refusal, a closed connection, an error (it says so itself);
//   - no honest call was lost: refused, put off, cut, or answered wrongly;
//   - none was late: the bound, -late, is 10 s, generous on purpose, since attackers, clients, backends and
//     the edge share the machine, and what it finds are calls that wait for an attack, not slow ones;
//   - resident memory stayed within -memory and a tenth;
//   - nothing was left once it ended: files, goroutines, sessions and live memory are, within -within, what
//     they were before any attack.
//
// Some attacks are on an edge that is locked: it wants tokens of an issuer, and the honest clients have some.
//
// Attacks of callers with a credential, and of backends on each other, start edges of their own. They run once for each
// of boots: on one replica, on two with one Redis ("replicas/"), and over HTTP/2 with TLS and in the clear ("h2/", "h2c/").
//
// An edge that failed is replaced, so that the next attack is judged by itself. Meanwhile slow, deaf and
// silent clients of every kind wait at a second edge, with the defaults, until they are disconnected: their
// table is the second that is printed.
//
// Everything is on loopback, every client on an address of its own, which Linux has from 127.0.0.0/8.
//
//	go run ./tests/programs/attack -only bodies,schema -duration 30s
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
	"strings"
	"syscall"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// options is what the command line decides.
type options struct {
	only     string        // beginnings of attacks' names, separated by commas; empty: all
	duration time.Duration // of an attack that could go on for ever
	clients  int           // honest ones
	late     time.Duration // an honest call that takes longer is late
	within   time.Duration // after an attack, until nothing of it is left
	memory   int64         // most resident memory of the edge, MiB
	kill     int64         // the edge is killed beyond so much resident memory, MiB
	files    int           // limit of the edge's open files
	silent   bool          // have the second table
	redis    bool          // keep the state in Redis, for all attacks
	program  string        // a built edge; empty: build it
	omit     string        // settings that program does not know, separated by commas
	counts   string        // file for "<passed> <failed>"; empty: none
	verbose  bool          // keep the logs even when nothing fails
}

func init() {
	// Children are bound to the thread that starts them (see process.Bind): keep it alive.
	runtime.LockOSThread()
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "beginnings of the names of attacks to run, separated by commas; empty: all")
	flag.DurationVar(&o.duration, "duration", 10*time.Second, "how long an attack goes on that has no end of its own")
	flag.IntVar(&o.clients, "clients", 50, "honest clients")
	flag.DurationVar(&o.late, "late", 10*time.Second, "an honest call that takes longer is late")
	flag.DurationVar(&o.within, "within", 30*time.Second, "how long after an attack something of it may be left")
	flag.Int64Var(&o.memory, "memory", 512, "the edge's setting memory in MiB, and the most resident memory of it, with a tenth")
	flag.Int64Var(&o.kill, "kill", 2048, "kill the edge when its resident memory is beyond so many MiB")
	flag.IntVar(&o.files, "files", 1024, "limit of the edge's open files")
	flag.BoolVar(&o.silent, "silent", true, "measure until when slow, deaf and silent clients are disconnected")
	flag.BoolVar(&o.redis, "redis", false, "keep the edge's state in a Redis; else only where an attack is about it")
	flag.StringVar(&o.program, "edge", "", "a built edge to attack instead of this one, such as an older one")
	flag.StringVar(&o.omit, "omit", "", "settings that -edge does not know, separated by commas")
	flag.StringVar(&o.counts, "counts", os.Getenv("ATTACK_COUNTS"), "file to write the passed and failed counts to")
	flag.BoolVar(&o.verbose, "v", false, "keep the logs even when nothing fails")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err == nil {
		err = goleak.Find(goleak.IgnoreTopFunction("os/signal.loop"))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "attack: %v\n", err)
		os.Exit(1)
	}
}

// run does one whole pass. Every process it started has ended when it returns.
func run(ctx context.Context, o options) (err error) {
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mcpedge-attack-")
	if err != nil {
		return err
	}
	if o.program == "" {
		if err := process.Build(ctx, dir, "./edge"); err != nil {
			return errors.Join(err, os.RemoveAll(dir))
		}
		o.program = filepath.Join(dir, "edge")
	}
	s, err := newSite(dir, o)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer s.stop()
	r := &report{}
	waited := func() []wait { return nil }
	if o.silent {
		if waited, err = s.watchSilent(ctx); err != nil {
			return err
		}
	}
	s.attackAll(ctx, chosen, r)
	r.silent = waited()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	passed, failed := r.print(os.Stdout, o)
	if o.counts != "" {
		err = os.WriteFile(o.counts, fmt.Appendf(nil, "%d %d\n", passed, failed), 0o644)
	}
	switch {
	case failed > 0:
		err = errors.Join(err, fmt.Errorf("%d of %d failed; the logs are in %s", failed, passed+failed, dir))
	case o.verbose:
		fmt.Printf("the logs are in %s\n", dir)
	default:
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// choose finds the attacks whose names begin with one of only, in the table's order; without it, all.
func choose(only string) ([]attack, error) {
	if only == "" {
		return attacks, nil
	}
	var chosen []attack
	used := map[string]bool{}
	for _, a := range attacks {
		is := false
		for _, begin := range strings.Split(only, ",") {
			if strings.HasPrefix(a.name, begin) {
				is, used[begin] = true, true
			}
		}
		if is {
			chosen = append(chosen, a)
		}
	}
	for _, begin := range strings.Split(only, ",") {
		if !used[begin] {
			return nil, fmt.Errorf("no attack's name begins with %q", begin)
		}
	}
	return chosen, nil
}

// Command conformance runs the official MCP conformance suite against an edge.
//
// It installs the pinned suite, builds the edge and the backend with the suite's fixtures, starts
// both on free loopback ports, runs every requirement set the suite ships, the scenarios of older
// revisions, and those of the Skills extension, and judges the outcome against expected-failures.yaml. With -replicas it starts that many edges on one Redis, behind a proxy
// that sends each request to the next of them; with -locked, edges that want a key; with -curated, edges with other names of
// the backend, and a set with those that the suite asks for. The exit status is 0 when every failure is a listed one
// and every listed failure still fails. With -backend it takes the fixtures from another program, such as those of the
// capability libraries. With CONFORMANCE_URL (or -url) set, it tests that server and
// starts none.
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
	"syscall"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/locked"
)

// folder holds the package files, the expected failures and the results, seen from the module root.
const folder = "tests/programs/conformance"

// options is what the command line and the environment decide.
type options struct {
	url      string        // MCP endpoint to test; "" starts an edge
	replicas int           // edges on one Redis; 0: one edge without
	backend  string        // the program with the suite's fixtures; "" is services/everything
	locked   bool          // the edges want a key, and have a policy, quotas and audit
	curated  bool          // the backend's names are others, which the catalog of the edges gives back, in a set
	revision string        // the one revision to run; "" runs all
	counts   string        // file that receives "<passed> <failed>", counted in scenarios; "" for none
	limit    time.Duration // for the whole run
}

func init() {
	// Children are bound to the thread that starts them (see process.Bind): keep it alive.
	runtime.LockOSThread()
}

func main() {
	var o options
	flag.StringVar(&o.url, "url", os.Getenv("CONFORMANCE_URL"), "MCP endpoint to test instead of starting an edge")
	flag.IntVar(&o.replicas, "replicas", 0, "edges to start behind a proxy, on one Redis; 0: one edge without")
	flag.StringVar(&o.backend, "backend", "", "`program` with the suite's fixtures, started with --listen ADDRESS; empty: services/everything")
	flag.BoolVar(&o.locked, "locked", false, "have the edges want a key, which a proxy adds, and have a policy, quotas and audit")
	flag.BoolVar(&o.curated, "curated", false, "have the edges serve other names of the backend, and test a set that has those of the suite by the catalog")
	flag.StringVar(&o.revision, "revision", os.Getenv("CONFORMANCE_REVISION"), "revision to run instead of all")
	flag.StringVar(&o.counts, "counts", os.Getenv("CONFORMANCE_COUNTS"), "file to write the passed and failed scenario counts to")
	flag.DurationVar(&o.limit, "limit", 10*time.Minute, "time limit of the whole run")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	err := run(ctx, o)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "conformance: %v\n", err)
		os.Exit(1)
	}
}

// run does one whole pass. Every process it started has ended when it returns.
func run(ctx context.Context, o options) (err error) {
	if _, err := os.Stat(filepath.Join(folder, "package.json")); err != nil {
		return fmt.Errorf("run this from the root of the repository: %w", err)
	}
	suite, err := install(ctx)
	if err != nil {
		return err
	}
	selections, err := suite.selections(o.revision)
	if err != nil {
		return err
	}
	expected, err := loadExpected(filepath.Join(folder, expectedFile))
	if err != nil {
		return err
	}
	results := filepath.Join(folder, "results")
	if o.replicas > 0 {
		results = filepath.Join(results, "replicas")
	}
	if o.locked {
		results = filepath.Join(results, "locked")
	}
	if o.curated {
		results = filepath.Join(results, "curated")
	}
	if o.backend != "" {
		results = filepath.Join(results, filepath.ToSlash(filepath.Dir(o.backend)))
	}
	if err := os.RemoveAll(results); err != nil {
		return err
	}
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}

	url := o.url
	if url == "" {
		s, startErr := startServer(ctx, results, o)
		if startErr != nil {
			return startErr
		}
		defer func() {
			if o.locked {
				err = errors.Join(err, locked.CheckNotStored(s.key, s.dir, results))
			}
			err = errors.Join(err, s.stop())
		}()
		url = s.url
	}

	var total tally
	var failures []error
	for _, what := range selections {
		t, err := suite.test(ctx, url, what, results, expected)
		total.add(t)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", what, err))
		}
	}
	if o.counts != "" {
		if err := os.WriteFile(o.counts, []byte(total.counts()), 0o644); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

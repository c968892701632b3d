// Command waiting shows what tasks cost that wait for their clients: it has two replicas of the edge make many of them in one Redis, asks for
// some again and again, and kills the replica that runs another one. It prints the bytes of a task in Redis and in the replicas, how busy
// Redis's core is while nobody asks and while many do, and how long the lost task takes to be found among those that wait.
//
//	go run ./bench/waiting -tasks 100000 -polled 10000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// options is what the command line decides.
type options struct {
	tasks, polled int
	period        time.Duration // of each measurement
	interval      time.Duration // between two polls of a task
}

// connections is how many requests are made at the same time.
const connections = 64

func init() {
	// Children are bound to the thread that starts them (see process.Bind): keep it alive.
	runtime.LockOSThread()
}

func main() {
	var o options
	flag.IntVar(&o.tasks, "tasks", 100_000, "tasks that wait")
	flag.IntVar(&o.polled, "polled", 10_000, "those of them that are asked for")
	flag.DurationVar(&o.period, "period", 20*time.Second, "how long each measurement takes")
	flag.DurationVar(&o.interval, "interval", time.Second, "pause between two requests for a task")
	flag.Parse()
	if o.tasks < 1 || o.polled > o.tasks || o.period <= 0 || o.interval <= 0 {
		fmt.Fprintln(os.Stderr, "waiting: -tasks must be at least 1 and at least -polled, and times more than 0")
		os.Exit(2)
	}
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintf(os.Stderr, "waiting: %v\n", err)
		os.Exit(1)
	}
}

// stage is what is measured.
type stage struct {
	redis *replicas.Redis
	edges replicas.Group
	db    *redis.Client
	http  *http.Client
	runs  chan string // who began to run the task that is lost
}

// run measures. What it started has ended when it returns.
func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "mcpedge-waiting-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "edge")
	if err := process.Build(ctx, dir, "./edge"); err != nil {
		return err
	}
	r, err := replicas.StartRedis(ctx, dir, "redis", false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Stop()) }()
	s := &stage{redis: r, db: r.Client(), runs: make(chan string, 16)}
	defer s.db.Close()
	backends, err := process.FreeAddrs(2)
	if err != nil {
		return err
	}
	s.edges, err = replicas.New(replicas.Options{Program: program, Dir: dir, Redis: r.URL(), Count: 2, Flags: func(n int) []string {
		return []string{
			"--log-level", "warn", "--backend", "waiting=" + backends[n-1],
			"MCPEDGE_CLIENTS_TASKS=" + strconv.Itoa(2*o.tasks+1000), "MCPEDGE_CLIENTS_BYTES=16GiB",
		}
	}})
	if err != nil {
		return err
	}
	services, end := context.WithCancel(ctx)
	defer end()
	for i, e := range s.edges {
		l, err := net.Listen("tcp", backends[i])
		if err != nil {
			return err
		}
		go func() { _ = newService(s.runs, e.Name).Serve(services, l) }()
	}
	if err := s.edges.Start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.edges.Stop()) }()
	transport := &http.Transport{MaxIdleConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	s.http = &http.Client{Transport: transport}
	return s.measure(ctx, o)
}

// newService is a backend with a tool that asks, and one that runs until it is cancelled; by names the replica that calls it.
func newService(runs chan<- string, by func() string) *capability.Server {
	s := capability.New("waiting", "1.0.0", capability.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	type none struct{}
	type form struct {
		Name string `json:"name"`
	}
	capability.AddTool(s, "ask", "Asks, and waits", func(_ context.Context, c *capability.Call, _ none) (string, error) {
		f, err := capability.Ask[form](c, "name", "Whose is it?")
		return f.Name, err
	}, capability.Tasks(capability.TaskRequired))
	capability.AddTool(s, "work", "Works until it is cancelled", func(ctx context.Context, _ *capability.Call, _ none) (string, error) {
		runs <- by()
		<-ctx.Done()
		return "", ctx.Err()
	}, capability.Tasks(capability.TaskRequired), capability.ReadOnly())
	return s
}

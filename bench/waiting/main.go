// Command waiting shows what tasks cost that wait for their clients: it has two replicas of the edge make many of them in one Redis, asks for
// some again and again, and kills the replica that runs another one. It prints the bytes of a task in Redis and in the replicas, how busy
// Redis's core is while nobody asks and while many do, and how long the lost task takes to be found among those that wait.
//
//	go run ./bench/waiting -tasks 100000 -polled 10000
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/tests/process"
	"github.com/mcpedge/mcpedge/tests/replicas"
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
		return []string{"--log-level", "warn", "--backend", "waiting=" + backends[n-1], "--tasks-per-principal", strconv.Itoa(2*o.tasks + 1000)}
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

// measure makes the tasks and prints what is found.
func (s *stage) measure(ctx context.Context, o options) error {
	before, err := s.look(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	ids := make([]string, o.tasks)
	if err := all(o.tasks, func(i int) (err error) {
		ids[i], err = s.create(ctx, s.edges[i%2], "ask")
		return err
	}); err != nil {
		return err
	}
	took := time.Since(began)
	if err := all(o.tasks, func(i int) error { return s.awaitAsked(ctx, s.edges[i%2], ids[i]) }); err != nil {
		return err
	}
	after, err := s.look(ctx)
	if err != nil {
		return err
	}
	n := float64(o.tasks)
	fmt.Printf("%d tasks that wait, made at %.0f/s\n", o.tasks, n/took.Seconds())
	fmt.Printf("%8.0f bytes of Redis each, in %.1f keys\n", float64(after.bytes-before.bytes)/n, float64(after.keys-before.keys)/n)
	fmt.Printf("%8.0f bytes of the two replicas' resident memory each\n", float64(after.resident-before.resident)/n)

	if err := s.busy(ctx, o, "while nobody asks", func(context.Context) (int, error) { return 0, nil }); err != nil {
		return err
	}
	if err := s.busy(ctx, o, fmt.Sprintf("while %d are asked for every %s", o.polled, o.interval), func(until context.Context) (int, error) {
		return s.poll(until, ids[:o.polled], o.interval)
	}); err != nil {
		return err
	}
	return s.lose(ctx)
}

// lose kills the replica that runs a task, and prints how long it takes until the other one runs it.
func (s *stage) lose(ctx context.Context) error {
	if _, err := s.create(ctx, s.edges[0], "work"); err != nil {
		return err
	}
	by := <-s.runs
	if by != s.edges[0].Name() {
		return fmt.Errorf("the task runs at %s, not where it was made", by)
	}
	began := time.Now()
	if err := s.edges[0].Kill(); err != nil {
		return err
	}
	select {
	case <-s.runs:
		fmt.Printf("%8.1f s from the loss of a replica until the other one runs its task\n", time.Since(began).Seconds())
		return s.edges[0].Start() // which is ended as the other one
	case <-time.After(time.Minute):
		return errors.New("the lost task was not found in a minute")
	}
}

// seen is how much there is.
type seen struct {
	bytes, keys, resident int64
	cpu                   float64            // seconds of Redis
	calls                 map[string]float64 // of each of its commands
}

func (s *stage) look(ctx context.Context) (out seen, err error) {
	info, err := s.db.Info(ctx, "memory", "cpu", "commandstats").Result()
	if err != nil {
		return out, err
	}
	out.calls = map[string]float64{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if command, ok := strings.CutPrefix(name, "cmdstat_"); ok {
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			out.calls[command], _ = strconv.ParseFloat(calls, 64)
			continue
		}
		number, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "used_memory":
			out.bytes = int64(number)
		case "used_cpu_sys", "used_cpu_user":
			out.cpu += number
		}
	}
	if out.keys, err = s.db.DBSize(ctx).Result(); err != nil {
		return out, err
	}
	for _, e := range s.edges {
		n, err := s.resident(ctx, e)
		if err != nil {
			return out, err
		}
		out.resident += n
	}
	return out, nil
}

// resident is the resident memory of a replica, by its own metric of it.
func (s *stage) resident(ctx context.Context, e *replicas.Edge) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.Admin+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "process_resident_memory_bytes "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return int64(n), err
		}
	}
	return 0, errors.Join(err, errors.New("the replica does not say its resident memory"))
}

// busy prints how busy Redis's core is during a period.
func (s *stage) busy(ctx context.Context, o options, when string, do func(context.Context) (int, error)) error {
	before, err := s.look(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	until, cancel := context.WithTimeout(ctx, o.period)
	defer cancel()
	asked, err := do(until)
	if err != nil {
		return err
	}
	<-until.Done()
	took := time.Since(began).Seconds()
	after, err := s.look(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%8.1f %% of a core is what Redis takes %s", 100*(after.cpu-before.cpu)/took, when)
	if asked > 0 {
		fmt.Printf(" (%.0f/s)", float64(asked)/took)
	}
	fmt.Println(busiest(before.calls, after.calls, took))
	return nil
}

// busiest are the commands that Redis ran most often, with how often a second.
func busiest(before, after map[string]float64, seconds float64) string {
	names := slices.SortedFunc(maps.Keys(after), func(a, b string) int {
		return cmp.Compare(after[b]-before[b], after[a]-before[a])
	})
	var out []string
	for _, name := range names[:min(5, len(names))] {
		out = append(out, fmt.Sprintf("%s %.0f/s", name, (after[name]-before[name])/seconds))
	}
	return ": " + strings.Join(out, ", ")
}

// poll asks for tasks until ctx ends, each once an interval as far as the machine allows. It returns how often.
func (s *stage) poll(ctx context.Context, ids []string, interval time.Duration) (int, error) {
	var n atomic.Int64
	var wrong atomic.Pointer[error]
	var wg sync.WaitGroup
	for worker, mine := range slices.Collect(slices.Chunk(ids, max(1, (len(ids)+connections-1)/connections))) {
		wg.Go(func() {
			for ctx.Err() == nil {
				next := time.Now().Add(interval)
				for _, id := range mine {
					if status, err := s.status(ctx, s.edges[worker%2], id); err == nil && status != "input_required" {
						err = fmt.Errorf("a task is %s", status)
						wrong.Store(&err)
						return
					} else if err != nil {
						if ctx.Err() == nil {
							wrong.Store(&err)
						}
						return
					}
					n.Add(1)
				}
				select {
				case <-time.After(time.Until(next)):
				case <-ctx.Done():
				}
			}
		})
	}
	wg.Wait()
	if err := wrong.Load(); err != nil {
		return 0, *err
	}
	return int(n.Load()), nil
}

func (s *stage) awaitAsked(ctx context.Context, e *replicas.Edge, id string) error {
	for {
		status, err := s.status(ctx, e, id)
		if err != nil || status == "input_required" {
			return err
		}
		if status != "working" {
			return fmt.Errorf("a task is %s", status)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// create makes a task and returns its id.
func (s *stage) create(ctx context.Context, e *replicas.Edge, tool string) (string, error) {
	got, err := s.request(ctx, e, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{}`, tool))
	return got.TaskID, err
}

func (s *stage) status(ctx context.Context, e *replicas.Edge, id string) (string, error) {
	got, err := s.request(ctx, e, "tasks/get", id, fmt.Sprintf(`"taskId":%q`, id))
	return got.Status, err
}

// task is the result of a request about one.
type task struct{ TaskID, Status string }

func (s *stage) request(ctx context.Context, e *replicas.Edge, method, name, params string) (task, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+e.Addr+"/mcp", strings.NewReader(body))
	if err != nil {
		return task{}, err
	}
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		req.Header.Set(key, value)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return task{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return task{}, err
	}
	var got struct{ Result *task }
	if err := json.Unmarshal(text, &got); err != nil || got.Result == nil || got.Result.TaskID == "" {
		return task{}, fmt.Errorf("%s: status %d: %.300s", method, resp.StatusCode, text)
	}
	return *got.Result, nil
}

// all does something for each of n, as many at a time as there are connections. It returns the first error.
func all(n int, do func(int) error) error {
	var next atomic.Int64
	var wrong atomic.Pointer[error]
	var wg sync.WaitGroup
	for range connections {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && wrong.Load() == nil; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					wrong.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := wrong.Load(); err != nil {
		return *err
	}
	return nil
}

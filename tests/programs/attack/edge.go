package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// edge is one process of the edge, watched from outside. Safe for concurrent use once started.
type edge struct {
	Addr, Admin string
	tls         bool
	proc        *process.Process
	// peak is the most resident memory that was seen since it was last set, in bytes.
	peak    atomic.Int64
	probes  *http.Client
	watcher sync.WaitGroup
	end     context.CancelFunc
	killed  atomic.Bool
	most    int64
}

// startEdge starts a process with these settings, beside those of its addresses, and does not wait until it is ready.
func startEdge(o options, log string, settings ...setting) (*edge, error) {
	addrs, err := process.FreeAddrs(2)
	if err != nil {
		return nil, err
	}
	e := &edge{Addr: addrs[0], Admin: addrs[1]}
	return e, e.start(o, log, settings...)
}

// start starts the process, of which the addresses are known.
func (e *edge) start(o options, log string, settings ...setting) (err error) {
	// Go raises the soft limit of files to the hard one, so the hard one is set.
	args := []string{"-c", `ulimit -n "$1" && shift && exec "$@"`, "sh", strconv.Itoa(o.files), o.program,
		"--listen", e.Addr, "--admin", e.Admin, config.Variable("admin.pprof") + "=true"}
	settings = append(settings, setting{"server.memory", strconv.FormatInt(o.memory, 10) + "MiB"})
	unknown := strings.Split(o.omit, ",")
	for _, s := range settings {
		if !slices.Contains(unknown, s.name) {
			args = append(args, config.Variable(s.name)+"="+s.value)
		}
	}
	e.most, e.probes = o.kill<<20, &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}
	if e.proc, err = process.Start("edge", "/bin/sh", log, args...); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.end = cancel
	e.watcher.Go(func() { e.watch(ctx) })
	return nil
}

// setting is a key and its value, or config and the file of settings.
type setting struct{ name, value string }

// url is the MCP endpoint.
func (e *edge) url() string { return e.origin() + "/mcp" }

// origin is the MCP endpoint without its path.
func (e *edge) origin() string {
	if e.tls {
		return "https://" + e.Addr
	}
	return "http://" + e.Addr
}

// awaitReady returns when the edge takes requests.
func (e *edge) awaitReady(ctx context.Context) error {
	return process.AwaitOK(ctx, "http://"+e.Admin+"/readyz", e.proc)
}

// watch keeps the peak of the resident memory and kills a process that would take the machine's.
func (e *edge) watch(ctx context.Context) {
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-e.proc.Done():
			return
		case <-ctx.Done():
			return
		}
		n, err := e.resident()
		if err != nil {
			continue // it is just ending
		}
		if n > e.peak.Load() {
			e.peak.Store(n)
		}
		if n > e.most {
			e.killed.Store(true)
			_ = e.proc.Kill()
			return
		}
	}
}

// resident is the process's memory as the kernel counts it, in bytes.
func (e *edge) resident() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", e.proc.Pid()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("the kernel does not tell the resident memory")
}

// cpu is the processor time that the process has used.
func (e *edge) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", e.proc.Pid()))
	if err != nil {
		return 0, err
	}
	// Behind the name, in parentheses, utime and stime are the 12th and the 13th, in ticks, of which Linux has 100 a second.
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, errors.New("the kernel does not tell the processor time")
	}
	var ticks time.Duration
	for _, field := range f[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += time.Duration(n)
	}
	return ticks * time.Second / 100, nil
}

// costs runs f and returns an error if the process used more processor time meanwhile than most, honest calls included. It bounds what a
// request costs: how long the answer takes depends on what else the machine runs.
func (e *edge) costs(most time.Duration, f func() error) (used time.Duration, err error) {
	before, err := e.cpu()
	if err != nil {
		return 0, err
	}
	if err = f(); err != nil {
		return 0, err
	}
	after, err := e.cpu()
	if used = after - before; err == nil && used > most {
		err = fmt.Errorf("the edge used %s of processor time, want at most %s", used, most)
	}
	return used, err
}

// gone says why the process has ended; nil: it has not.
func (e *edge) gone() error {
	select {
	case <-e.proc.Done():
	default:
		return nil
	}
	if e.killed.Load() {
		return fmt.Errorf("it was killed with more than %d MiB of resident memory", e.most>>20)
	}
	tail := e.proc.Tail()
	if i := strings.Index(tail, "fatal error"); i >= 0 {
		tail = tail[i:]
	}
	return fmt.Errorf("it ended by itself: %.300s", tail)
}

// stop ends the process as its operator does. An error says that it did not end well.
func (e *edge) stop() error {
	defer e.probes.CloseIdleConnections()
	e.end()
	e.watcher.Wait()
	return e.proc.Stop()
}

// kill ends the process whatever it does.
func (e *edge) kill() {
	e.end()
	e.watcher.Wait()
	e.probes.CloseIdleConnections()
	_ = e.proc.Kill()
}

// figures are what an attack may leave behind.
type figures struct {
	files, goroutines, sessions int
	live                        int64 // bytes of heap after a collection
}

// figures asks the process and the kernel; with live, the process collects its garbage first.
func (e *edge) figures(ctx context.Context, live bool) (f figures, err error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", e.proc.Pid()))
	if err != nil {
		return f, err
	}
	f.files = len(entries)
	metrics, err := e.ask(ctx, "/metrics")
	if err != nil {
		return f, err
	}
	if f.goroutines, err = metric(metrics, "go_goroutines"); err != nil {
		return f, err
	}
	if f.sessions, err = metric(metrics, "mcpedge_sessions_held"); err != nil {
		return f, err
	}
	if live {
		text, err := e.ask(ctx, "/debug/pprof/heap?gc=1&debug=1")
		if err != nil {
			return f, err
		}
		_, after, _ := strings.Cut(text, "\n# HeapAlloc = ")
		line, _, _ := strings.Cut(after, "\n")
		if f.live, err = strconv.ParseInt(line, 10, 64); err != nil {
			return f, fmt.Errorf("the profile has no HeapAlloc: %w", err)
		}
	}
	return f, nil
}

func (e *edge) ask(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.Admin+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := e.probes.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %.200s", path, resp.Status, text)
	}
	return string(text), err
}

// metric sums the series of a name.
func metric(text, name string) (int, error) {
	sum, found := 0.0, false
	for lines := bufio.NewScanner(bytes.NewReader([]byte(text))); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		n, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, err
		}
		sum, found = sum+n, true
	}
	if !found {
		return 0, fmt.Errorf("there is no metric %s", name)
	}
	return int(sum), nil
}

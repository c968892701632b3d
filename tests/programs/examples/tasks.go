package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// own is the example that has jobs of its own beside the long tool.
const own = "go"

// asker is a client of one era that makes tasks, in bare JSON-RPC: no SDK has them in both.
type asker struct {
	era, url, session string
}

// newAsker begins a session where the era has them.
func newAsker(ctx context.Context, era, url string) (*asker, error) {
	a := &asker{era: era, url: url}
	if a.modern() {
		return a, nil
	}
	_, err := a.ask(ctx, "initialize", map[string]any{
		"protocolVersion": era, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "examples", "version": "1.0.0"},
	})
	return a, err
}

func (a *asker) modern() bool { return a.era >= "2026-07-28" }

// at is the same client at another edge.
func (a *asker) at(url string) *asker { return &asker{era: a.era, url: url, session: a.session} }

// ask sends a request and returns its result.
func (a *asker) ask(ctx context.Context, method string, params map[string]any) (map[string]any, error) {
	headers := map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": a.era,
	}
	if a.modern() {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    a.era,
			"io.modelcontextprotocol/clientCapabilities": map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}},
		}
		headers["Mcp-Method"] = method
		for _, member := range []string{"name", "taskId"} {
			if name, ok := params[member].(string); ok {
				headers["Mcp-Name"] = name
			}
		}
	} else if a.session != "" {
		headers["Mcp-Session-Id"] = a.session
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for key, value := range headers {
		req.Header.Set(key, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		a.session = id
	}
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	return answered(method, raw)
}

// answered reads a response, which may be the last event of a stream.
func answered(method string, raw []byte) (map[string]any, error) {
	text := strings.TrimSpace(string(raw))
	if i := strings.LastIndex(text, "data:"); i >= 0 && !strings.HasPrefix(text, "{") {
		text = text[i+len("data:"):]
	}
	var m struct {
		Result map[string]any
		Error  json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, fmt.Errorf("%s: %w in %q", method, err, raw)
	}
	if m.Error != nil {
		return nil, fmt.Errorf("%s: the error %s", method, m.Error)
	}
	return m.Result, nil
}

// begin makes a task of a call.
func (a *asker) begin(ctx context.Context, tool string, minutes int) (id string, err error) {
	params := map[string]any{"name": tool, "arguments": map[string]any{"minutes": minutes}}
	if !a.modern() {
		params["task"] = map[string]any{}
	}
	made, err := a.ask(ctx, "tools/call", params)
	if err != nil {
		return "", err
	}
	if task, ok := made["task"].(map[string]any); ok {
		made = task
	}
	id, ok := made["taskId"].(string)
	if !ok {
		return "", fmt.Errorf("%s made no task: %v", tool, made)
	}
	return id, nil
}

// until asks for a task until ok.
func (a *asker) until(ctx context.Context, id, what string, ok func(task map[string]any) bool) error {
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		task, err := a.ask(ctx, "tasks/get", map[string]any{"taskId": id})
		if err == nil && ok(task) {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("a task %s: %w; it is %v, %v", what, ctx.Err(), task, err)
		}
	}
}

// working waits until the task says how far it is.
func (a *asker) working(ctx context.Context, id string) error {
	return a.until(ctx, id, "that says how far it is", func(task map[string]any) bool {
		said, _ := task["statusMessage"].(string)
		return task["status"] == "working" && strings.HasPrefix(said, "minute ")
	})
}

// result waits for the task's end, and gives its result.
func (a *asker) result(ctx context.Context, id string) (out map[string]any, err error) {
	if !a.modern() {
		return a.ask(ctx, "tasks/result", map[string]any{"taskId": id})
	}
	err = a.until(ctx, id, "that has ended", func(task map[string]any) bool {
		out, _ = task["result"].(map[string]any)
		return task["status"] == "completed"
	})
	return out, err
}

// steeped is an error unless the long tool's result is that of so many minutes.
func steeped(result map[string]any, minutes int) error {
	content, _ := result["structuredContent"].(map[string]any)
	return equal("result", content["minutes"], float64(minutes))
}

// taskHouse is two edges on one Redis before all examples: what one of them has begun, the other goes on with.
type taskHouse struct {
	redis *redisserver.Server
	edges [2]*process
	urls  [2]string
}

// tasksOf drives the long tools of all examples as tasks, in both eras.
func (w *world) tasksOf(ctx context.Context, r *report) {
	h := &taskHouse{}
	if r.step("edge", "tasks: two edges on one Redis", func() error { return h.start(ctx, w) }) {
		var examples sync.WaitGroup
		for _, e := range w.examples {
			examples.Go(func() {
				for _, era := range eras {
					r.step(e.name, era+" task", func() error { return h.ended(ctx, era, e) })
					r.step(e.name, era+" task cancelled", func() error { return h.cancelled(ctx, era, e, "steep", "steeping was cancelled") })
					if e.name == own {
						r.step(e.name, era+" task with a job of its own", func() error { return h.fired(ctx, era, e) })
						r.step(e.name, era+" its job cancelled", func() error { return h.cancelled(ctx, era, e, "fire", "the kiln was quenched") })
					}
				}
			})
		}
		examples.Wait()
		h.lose(ctx, r, w)
	}
	r.step("edge", "tasks: end", h.stop)
}

func (h *taskHouse) start(ctx context.Context, w *world) (err error) {
	if h.redis, err = redisserver.Start(); err != nil {
		return err
	}
	ports, err := freePorts(2 * len(h.edges))
	if err != nil {
		return err
	}
	for i := range h.edges {
		listen, admin := ports[2*i], ports[2*i+1]
		name := fmt.Sprintf("edge-tasks-%d", i+1)
		h.edges[i], err = start(name, ".", filepath.Join(results, name+".log"), w.program(),
			"--config", filepath.Join(w.dir, "edge.yaml"), "--listen", listen, "--admin", admin, "--redis", h.redis.URL(), "MCPEDGE_TASKS_AFTER=200ms")
		if err != nil {
			return err
		}
		h.urls[i] = "http://" + listen + "/mcp"
		if err := awaitReady(ctx, "http://"+admin+"/readyz", h.edges[i]); err != nil {
			return err
		}
	}
	return nil
}

// ended: a task is made, says how far it is, and is read at the other edge when it has ended.
func (h *taskHouse) ended(ctx context.Context, era string, e *example) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	const minutes = 10 // more than the time in which a call becomes a task
	a, err := newAsker(ctx, era, h.urls[0])
	if err != nil {
		return err
	}
	id, err := a.begin(ctx, e.prefix()+"steep", minutes)
	if err != nil {
		return err
	}
	if err := a.working(ctx, id); err != nil {
		return err
	}
	result, err := a.at(h.urls[1]).result(ctx, id)
	if err != nil {
		return err
	}
	return steeped(result, minutes)
}

// fired: a job of the example's own ends, and its task with it.
func (h *taskHouse) fired(ctx context.Context, era string, e *example) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a, err := newAsker(ctx, era, h.urls[0])
	if err != nil {
		return err
	}
	id, err := a.begin(ctx, e.prefix()+"fire", 10)
	if err != nil {
		return err
	}
	result, err := a.result(ctx, id)
	if err != nil {
		return err
	}
	if raw := fmt.Sprint(result["content"]); !strings.Contains(raw, "fired for 10 minutes") {
		return fmt.Errorf("the job gave %s", raw)
	}
	return nil
}

// cancelled: the example says so when a task is, which was begun at the other edge.
func (h *taskHouse) cancelled(ctx context.Context, era string, e *example, tool, says string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	before, err := e.said(says)
	if err != nil {
		return err
	}
	a, err := newAsker(ctx, era, h.urls[0])
	if err != nil {
		return err
	}
	id, err := a.begin(ctx, e.prefix()+tool, 10_000)
	if err != nil {
		return err
	}
	if err := a.working(ctx, id); err != nil {
		return err
	}
	if _, err := a.at(h.urls[1]).ask(ctx, "tasks/cancel", map[string]any{"taskId": id}); err != nil {
		return err
	}
	return a.until(ctx, id, "that is cancelled, and its example told", func(task map[string]any) bool {
		now, err := e.said(says)
		return err == nil && task["status"] == "cancelled" && now > before
	})
}

// said is how often the example has printed a line.
func (e *example) said(line string) (int, error) {
	raw, err := os.ReadFile(e.process.log)
	return strings.Count(string(raw), line), err
}

// lose kills the edge that runs tasks of all examples and of both eras; the other one completes them.
func (h *taskHouse) lose(ctx context.Context, r *report, w *world) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	const minutes = 40
	type begun struct {
		era, id string
		a       *asker
		e       *example
	}
	var all []begun
	for _, era := range eras {
		for _, e := range w.examples {
			b := begun{era: era, e: e}
			ok := r.step(e.name, era+" task to be taken over", func() (err error) {
				if b.a, err = newAsker(ctx, era, h.urls[0]); err != nil {
					return err
				}
				b.id, err = b.a.begin(ctx, e.prefix()+"steep", minutes)
				return err
			})
			if ok {
				all = append(all, b)
			}
		}
	}
	if !r.step("edge", "tasks: one edge killed", func() error {
		for _, b := range slices.Backward(all) {
			if err := b.a.working(ctx, b.id); err != nil {
				return err
			}
		}
		err := killGroup(h.edges[0].cmd)
		<-h.edges[0].done
		h.edges[0] = nil
		return err
	}) {
		return
	}
	for _, b := range all {
		r.step(b.e.name, b.era+" task taken over", func() error {
			result, err := b.a.at(h.urls[1]).result(ctx, b.id)
			if err != nil {
				return err
			}
			return steeped(result, minutes)
		})
	}
}

func (h *taskHouse) stop() error {
	var errs []error
	for _, p := range h.edges {
		if p != nil {
			errs = append(errs, p.stop())
		}
	}
	if h.redis != nil {
		h.redis.Close()
	}
	return errors.Join(errs...)
}

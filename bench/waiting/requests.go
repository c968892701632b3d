package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

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

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// stateless is the revision that tasks are held in.
const stateless = "2026-07-28"

const (
	// looks is how often a holder looks at a task, at least, while it works: so often the task is polled.
	looks = 6
	// codeUnknown is the code of the answer about a task that is not known.
	codeUnknown = -32602
)

// held is one task, as its holder saw it.
type held struct {
	tag, tool, id string
	began, ended  time.Time
	// status is the last one, code and text those of an error, after how it ended.
	status string
	code   int
	text   string
	// forgotten: the edge did not know it any more. odd is what should not have happened.
	forgotten bool
	odd       []string
}

func (h *held) over() bool { return h.forgotten || final(h.status) }

func final(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// holder makes tasks and sees to them, through any replica.
type holder struct {
	client
	each  int
	pause time.Duration // between two looks at the tasks
	tasks []*held
	n     int
}

// task is the answer to a request about one.
type task struct {
	Result *struct {
		TaskID        string `json:"taskId"`
		Status        string `json:"status"`
		InputRequests map[string]json.RawMessage
		Error         *struct {
			Code    int
			Message string
		}
		Result *struct{ IsError bool }
	}
	Error *struct {
		Code    int
		Message string
	}
}

// request sends one until it was neither cut nor put off. cut: one may have been served and not answered.
func (h *holder) request(ctx context.Context, method, name, params string) (out task, cut bool, err error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + stateless +
		`","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`
	for {
		resp, err := h.send(ctx, http.MethodPost, body, "Mcp-Protocol-Version", stateless, "Mcp-Method", method, "Mcp-Name", name)
		if err != nil {
			return out, cut, err
		}
		raw, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		pause, again := putOff(resp)
		if !again && err == nil {
			return out, cut, json.Unmarshal(raw, &out)
		}
		if cut = cut || resp.StatusCode == http.StatusBadGateway || err != nil; cut && method == "tools/call" {
			return out, cut, nil
		}
		if !sleep(ctx, max(pause, 100*time.Millisecond)) {
			return out, cut, ctx.Err()
		}
	}
}

// work holds tasks until stop is closed, and then waits for those that there are.
func (h *holder) work(ctx context.Context, stop <-chan struct{}) {
	var late time.Time
	for ctx.Err() == nil {
		stopped := false
		select {
		case <-stop:
			stopped = true
		default:
		}
		open := 0
		for _, t := range h.tasks {
			if !t.over() {
				h.look(ctx, t)
				open++
			}
		}
		switch {
		case stopped && open == 0:
			return
		case stopped && late.IsZero():
			late = time.Now().Add(patience)
		case stopped && time.Now().After(late):
			return // What is still open hangs.
		case !stopped && open < h.each:
			h.begin(ctx)
		}
		sleep(ctx, h.pause)
	}
}

// begin makes a task.
func (h *holder) begin(ctx context.Context) {
	kinds := slices.Sorted(func(yield func(string) bool) {
		for k := range taskKinds {
			if !yield(k) {
				return
			}
		}
	})
	h.n++
	t := &held{tag: fmt.Sprintf("t%d-%d-1", h.number, h.n), tool: kinds[h.random.IntN(len(kinds))], began: time.Now()}
	got, cut, err := h.request(ctx, "tools/call", t.tool, fmt.Sprintf(`"name":%q,"arguments":{"call":%q}`, t.tool, t.tag))
	switch {
	case cut:
		h.counts.add("requests for tasks that were cut")
	case got.Error != nil:
		t.odd, t.forgotten = append(t.odd, fmt.Sprintf("%s gave no task: %d %s", t.tool, got.Error.Code, got.Error.Message)), true
		h.tasks = append(h.tasks, t)
	case err != nil || got.Result == nil || got.Result.TaskID == "":
		t.odd, t.forgotten = append(t.odd, fmt.Sprintf("%s gave no task: %+v, %v", t.tool, got.Result, err)), true
		h.tasks = append(h.tasks, t)
	default:
		t.id, t.status = got.Result.TaskID, got.Result.Status
		h.tasks = append(h.tasks, t)
	}
}

// look asks how a task is, and answers what it asks.
func (h *holder) look(ctx context.Context, t *held) {
	got, _, err := h.request(ctx, "tasks/get", t.id, fmt.Sprintf(`"taskId":%q`, t.id))
	if ctx.Err() != nil {
		return
	}
	switch {
	case err != nil:
		t.odd = append(t.odd, "tasks/get: "+err.Error())
	case got.Error != nil && got.Error.Code == codeUnknown:
		t.forgotten, t.ended = true, time.Now()
		h.counts.add("tasks that were forgotten")
	case got.Error != nil:
		t.odd = append(t.odd, fmt.Sprintf("tasks/get: %d %s", got.Error.Code, got.Error.Message))
	default:
		t.see(got)
	}
	if t.status == "input_required" && got.Result != nil {
		for key := range got.Result.InputRequests {
			_, _, err := h.request(ctx, "tasks/update", t.id, fmt.Sprintf(`"taskId":%q,"inputResponses":{%q:{"action":"accept","content":{"seat":"aisle"}}}`, t.id, key))
			if err != nil && ctx.Err() == nil {
				t.odd = append(t.odd, "tasks/update: "+err.Error())
			}
		}
	}
}

// see notes how a task is.
func (t *held) see(got task) {
	r := got.Result
	if final(t.status) && r.Status != t.status {
		t.odd = append(t.odd, fmt.Sprintf("it was %s and is %s", t.status, r.Status))
	}
	t.status = r.Status
	if r.Error != nil {
		t.code, t.text = r.Error.Code, r.Error.Message
	}
	if r.Result != nil && r.Result.IsError {
		t.text = "isError"
	}
	if final(t.status) && t.ended.IsZero() {
		t.ended = time.Now()
	}
}

// recheck asks once more how each task is that had ended: it is so for ever.
func (h *holder) recheck(ctx context.Context) error {
	for _, t := range h.tasks {
		if t.id != "" && !t.forgotten {
			h.look(ctx, t)
		}
	}
	return ctx.Err()
}

// newHolders makes those of a run.
func newHolders(o options, url string, c *http.Client, t *traffic) []*holder {
	out := make([]*holder, o.holders)
	for i := range out {
		out[i] = &holder{client: *newClient(i+1, url, o.seed+1, c, t), each: o.each, pause: o.taskFor / looks}
		out[i].key = o.key("holder", i+1)
	}
	return out
}

// recheckAll has all holders look once more.
func recheckAll(ctx context.Context, holders []*holder) error {
	var wg sync.WaitGroup
	for _, h := range holders {
		wg.Go(func() { _ = h.recheck(ctx) })
	}
	wg.Wait()
	return ctx.Err()
}

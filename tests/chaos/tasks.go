package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

// stateless is the revision that tasks are held in.
const stateless = "2026-07-28"

const (
	// looks is how often a holder looks at a task, at least, while it works: so often the task is polled.
	looks = 6
	// stages is how many checkpoints there are in the work of a task that has them.
	stages = 5
	// takeoverBound is within what a lost task that may be run again must be run, at p99: after the last loss, or Redis's return.
	takeoverBound = 10 * time.Second
	codeUnknown   = -32602
)

// taskKinds are the tools that are tasks, and whether they may be run again.
var taskKinds = map[string]bool{"task_count": true, "task_job": true, "task_steps": true, "task_book": false, "task_ask": false}

// addTaskTools adds the tools whose calls are tasks, which work for taskFor at least.
func addTaskTools(s *capability.Server, l *ledger, by func() string, taskFor time.Duration) {
	task := func(options ...capability.ToolOption) []capability.ToolOption {
		return append(options, capability.Tasks(capability.TaskRequired))
	}
	pause := func(ctx context.Context, d time.Duration) error {
		if sleep(ctx, d) {
			return nil
		}
		return ctx.Err()
	}
	long := func(ctx context.Context) error { return pause(ctx, taskFor+rand.N(taskFor)) }
	capability.AddTool(s, "task_count", "Works for a while, and changes nothing",
		func(ctx context.Context, c *capability.Call, in countdownIn) (string, error) {
			defer l.begin(in.Call, by(), c.Attempt(), c.Round())()
			return done(in.Call), long(ctx)
		}, task(capability.ReadOnly())...)
	capability.AddTool(s, "task_steps", "Works in stages, each of which is done once the next one's checkpoint is",
		func(ctx context.Context, c *capability.Call, in countdownIn) (string, error) {
			defer l.begin(in.Call, by(), c.Attempt(), c.Round())()
			first := 0
			if kept := c.State(); len(kept) > 0 {
				first = int(kept[0])
			}
			for stage := first; stage < stages; stage++ {
				if err := pause(ctx, taskFor/stages); err != nil {
					return "", err
				}
				l.stage(in.Call, stage)
				if err := c.Checkpoint([]byte{byte(stage + 1)}); err != nil {
					return "", err
				}
			}
			return done(in.Call), nil
		}, task()...)
	capability.AddTool(s, "task_book", "Books, once for each task",
		func(ctx context.Context, c *capability.Call, in countdownIn) (string, error) {
			defer l.begin(in.Call, by(), c.Attempt(), c.Round())()
			err := long(context.WithoutCancel(ctx)) // What is booked is booked.
			l.book(in.Call)
			return done(in.Call), err
		}, task()...)
	capability.AddTool(s, "task_ask", "Asks, and books then",
		func(_ context.Context, c *capability.Call, in countdownIn) (string, error) {
			defer l.begin(in.Call, by(), c.Attempt(), c.Round())()
			work()
			if _, err := capability.Ask[seatForm](c, "seat", "Which seat?"); err != nil {
				return "", err
			}
			l.book(in.Call)
			work()
			return done(in.Call), nil
		}, task()...)
	capability.AddTool(s, "task_job", "Has a job of its own, whose handle is the state",
		func(_ context.Context, c *capability.Call, in countdownIn) (string, error) {
			defer l.begin(in.Call, by(), c.Attempt(), c.Round())()
			var began time.Time
			if err := began.UnmarshalText(c.State()); err != nil {
				began = time.Now()
			}
			if time.Since(began) > taskFor {
				return done(in.Call), nil
			}
			handle, err := began.MarshalText()
			if err != nil {
				return "", err
			}
			return "", &capability.InputRequired{State: handle, RetryAfter: max(200*time.Millisecond, taskFor/looks)}
		}, task(capability.Idempotent())...)
}

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

// tasks holds what became of tasks against what must be true.
func (r *report) tasks(e *evidence) {
	ends := r.check("every task ends")
	once := r.check("a task that has ended stays so, and nothing else is odd about it")
	safe := r.check("a task that may be run again is completed, unless as many replicas were lost as may be")
	unsafe := r.check("a task that may not be run again is run once in a round; unknown only after a loss")
	staged := r.check("a task that goes on from its last checkpoint leaves no stage out")
	soon := r.check(fmt.Sprintf("99 of 100 lost tasks that may be run again are run within %s of the last loss", takeoverBound))
	kinds, took := map[string]int{}, []time.Duration{}
	happened := e.happened()
	for _, h := range e.holders {
		for _, t := range h.tasks {
			runs := e.ledger.of(t.tag)
			say := func(why string) string { return why + "\n" + t.transcript(runs, happened) }
			kinds[t.tool]++
			why := ""
			if !t.over() || t.forgotten && !e.rules.rollback && len(t.odd) == 0 {
				why = fmt.Sprintf("the task is %s, forgotten %v", t.status, t.forgotten)
			}
			ends.see(why, say)
			once.see(strings.Join(t.odd, "; "), say)
			if t.forgotten {
				continue
			}
			lost := lossesOfTask(t, happened)
			if t.tool == "task_steps" && t.status == "completed" {
				staged.see(e.ledger.skipped(t.tag), say)
			}
			if taskKinds[t.tool] && !t.beforeCheckpoint(lost, e) {
				safe.see(t.safely(lost, e.rules), say)
				took = append(took, takeovers(runs, happened)...)
			} else {
				unsafe.see(t.unsafely(runs, lost, e), say)
			}
		}
	}
	soon.seen = len(took)
	if slices.Sort(took); len(took) > 0 {
		if p99 := took[min(len(took)-1, len(took)*99/100)]; p99 > takeoverBound {
			soon.miss(fmt.Sprintf("p99 is %s of %d takeovers", p99.Round(time.Millisecond), len(took)))
		}
	}
	for _, kind := range slices.Sorted(func(yield func(string) bool) {
		for k := range kinds {
			if !yield(k) {
				return
			}
		}
	}) {
		r.rows = append(r.rows, row{"tasks of " + kind, kinds[kind], 0})
	}
	r.rows = append(r.rows, row{"tasks that were run again", len(took), 0})
}

// lossesOfTask are the losses while a task lived: whose they were is not known of one that was claimed and not run.
func lossesOfTask(t *held, all []loss) (out []loss) {
	for _, l := range all {
		if l.at.After(t.began) && (t.ended.IsZero() || l.at.Before(t.ended)) {
			out = append(out, l)
		}
	}
	return out
}

// beforeCheckpoint says whether a task may have been lost before it had a checkpoint to go on from, and so was not run again.
func (t *held) beforeCheckpoint(lost []loss, e *evidence) bool {
	return t.tool == "task_steps" && t.code == codeUnknownOutcome && e.rules.unknown && len(lost) > 0 && len(e.ledger.stages[t.tag]) <= 1
}

// safely judges how a task ended that may be run again.
func (t *held) safely(lost []loss, rules rules) string {
	if t.status == "completed" && t.text == "" || t.status == "failed" && t.code == codeUnknownOutcome && len(lost) >= attempts && rules.unknown {
		return ""
	}
	return fmt.Sprintf("%s, %d %s, after %d losses", t.status, t.code, t.text, len(lost))
}

// unsafely judges one that may not.
func (t *held) unsafely(runs []*run, lost []loss, e *evidence) string {
	rounds := map[int]int{}
	for _, r := range runs {
		if rounds[r.round]++; rounds[r.round] > 1 && !e.rules.rollback {
			return fmt.Sprintf("round %d was run %d times", r.round, rounds[r.round])
		}
	}
	switch n := e.ledger.bookings[trip(t.tag)]; {
	case n > 1 && !e.rules.rollback:
		return fmt.Sprintf("booked %d times", n)
	case t.status == "completed" && t.text == "" && n > 0:
		return ""
	case t.status == "failed" && t.code == codeUnknownOutcome && e.rules.unknown && len(lost) > 0:
		return ""
	}
	return fmt.Sprintf("%s, %d %s, after %d losses", t.status, t.code, t.text, len(lost))
}

// takeovers are how long it took, after each loss of the one who ran a task, until it was run again.
func takeovers(runs []*run, losses []loss) (out []time.Duration) {
	for i := 1; i < len(runs); i++ {
		if runs[i].attempt == 1 {
			continue // It was called again, or answered.
		}
		var last time.Time
		for _, l := range losses {
			if l.at.After(runs[i-1].start) && l.at.Before(runs[i].start) && (l.by == runs[i-1].by || l.by == "") {
				last = l.at
			}
		}
		if !last.IsZero() {
			out = append(out, runs[i].start.Sub(last))
		}
	}
	return out
}

// transcript is what is known of a task.
func (t *held) transcript(runs []*run, losses []loss) string {
	var b strings.Builder
	at := func(x time.Time) string { return x.Format("05.000") }
	fmt.Fprintf(&b, "  %s %s, task %s, began %s, ended %s as %s %d %s\n", t.tool, t.tag, t.id, at(t.began), at(t.ended), t.status, t.code, t.text)
	for _, r := range runs {
		fmt.Fprintf(&b, "  %s  run by %s, round %d, attempt %d, until %s\n", at(r.start), r.by, r.round, r.attempt, at(r.end))
	}
	for _, l := range losses {
		if l.at.After(t.began) && (t.ended.IsZero() || l.at.Before(t.ended)) {
			fmt.Fprintf(&b, "  %s  %s\n", at(l.at), l.what)
		}
	}
	return b.String()
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

var taskAttacks = []attack{
	{name: "tasks-update", what: "answers to 120,000 questions that a task does not ask", run: manyAnswers},
	{name: "tasks-read", what: "60 readers of tasks with results of 12 MiB, who read nothing of it", run: readTasks},
	{name: "tasks-hoard", what: "tasks of one caller that wait, each with as much as a request may have, until the store takes no more", redis: true, run: hoardTasks},
}

const (
	// taskTool is a tool of the hostile backend that is always a task, and asks what nobody answers.
	taskTool = "hoarding"
	// largeTask is one that is always a task, and gives a result of unreadBytes.
	largeTask = "storing"
	// hoarded is how many tasks are tried, of hoardedBytes each; hoardMost is what a caller may keep by default.
	hoarded, hoardedBytes, hoardMost = 120, 3900 << 10, 256 << 20
	// answersCost is the processor time that a request with 1.6 MB of answers may take.
	answersCost = 10 * time.Second
)

// taskSupport is that of the hostile backend's tools; nil: it is no task.
func taskSupport(tool string) *mcpedgev1.TaskSupport {
	if tool != taskTool && tool != largeTask {
		return nil
	}
	return &mcpedgev1.TaskSupport{Mode: mcpedgev1.TaskMode_TASK_MODE_REQUIRED}
}

// tasks sends a request of a client that can have tasks.
func (r *rogue) tasks(ctx context.Context, method, name, members string) (*answer, error) {
	return r.send(ctx, http.MethodPost, r.taskBody(method, members), modernHeader(method, name)...)
}

func (r *rogue) taskBody(method, members string) string {
	can := strings.TrimSuffix(capabilities, "}") + `,"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":%s%s}}`, r.next.Add(1), method, strings.Replace(meta(""), capabilities, can, 1), members)
}

// readTasks has what is read of tasks bounded, too.
func readTasks(ctx context.Context, s *site) error {
	const tasks, readers = 6, 60 // Each task may be read ten times a second.
	maker := s.rogue()
	defer maker.close()
	var ids []string
	for range tasks {
		id, a, err := maker.task(ctx, largeTask, `{}`)
		if err != nil || id == "" {
			return fmt.Errorf("no task: %w, %+v", err, a)
		}
		for {
			a, err := maker.tasks(ctx, "tasks/get", id, `,"taskId":"`+id+`"`)
			if err != nil {
				return err
			}
			if strings.Contains(string(a.body[:min(len(a.body), 4096)]), `"completed"`) || len(a.body) > unreadBytes {
				break
			}
			if pause(ctx, 200*time.Millisecond); ctx.Err() != nil {
				return fmt.Errorf("the task has not ended: status %d: %.200s", a.status, a.body)
			}
		}
		ids = append(ids, id)
	}
	s.fresh.live += tasks * unreadBytes // They are kept for an hour.
	var next atomic.Int64
	return s.hold(ctx, readers, func(r *rogue) (string, error) {
		id := ids[int(next.Add(1))%tasks]
		return rawPost(r.taskBody("tasks/get", `,"taskId":"`+id+`"`), modernHeader("tasks/get", id)...), nil
	})
}

// task makes a task of a tool; empty: the edge refuses it, with this answer.
func (r *rogue) task(ctx context.Context, tool, arguments string) (id string, a *answer, err error) {
	if a, err = r.tasks(ctx, "tools/call", tool, callMembers(tool, arguments)); err != nil {
		return "", nil, err
	}
	var out struct{ Result struct{ TaskID string } }
	_ = json.Unmarshal(a.body, &out)
	return out.Result.TaskID, a, nil
}

func (r *rogue) cancelTask(ctx context.Context, id string) error {
	_, err := r.tasks(ctx, "tasks/cancel", id, `,"taskId":"`+id+`"`)
	return err
}

// manyAnswers has an update of a task cost what the task asked, not what was sent.
func manyAnswers(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	id, a, err := r.task(ctx, taskTool, `{}`)
	if err != nil || id == "" {
		return fmt.Errorf("no task: %w, %+v", err, a)
	}
	defer func() { _ = r.cancelTask(ctx, id) }()
	var b strings.Builder
	for i := range 120_000 {
		fmt.Fprintf(&b, `,"k%06d":{}`, i)
	}
	members := `,"taskId":"` + id + `","inputResponses":{` + b.String()[1:] + `}`
	used, err := s.edge.costs(answersCost, func() (err error) {
		a, err = r.tasks(ctx, "tasks/update", id, members)
		return err
	})
	s.note("%d kB of answers take %s of processor time", len(members)>>10, used)
	if err != nil {
		return fmt.Errorf("tasks/update with %d kB: %w", len(members)>>10, err)
	}
	if a.status != http.StatusOK {
		return fmt.Errorf("tasks/update: status %d: %.200s", a.status, a.body)
	}
	return nil
}

// hoardTasks has a caller's tasks refused with a clear error once they keep as much as the caller may, while others still make tasks.
func hoardTasks(ctx context.Context, s *site) error {
	r, other := s.rogue(), s.rogue()
	defer r.close()
	defer other.close()
	arguments := `{"x":"` + strings.Repeat("x", hoardedBytes) + `"}`
	var ids []string
	defer func() {
		for _, id := range ids {
			_ = r.cancelTask(ctx, id)
		}
	}()
	var refused *answer
	for len(ids) < hoarded && refused == nil {
		id, a, err := r.task(ctx, taskTool, arguments)
		switch {
		case err != nil:
			return err
		case id != "":
			ids = append(ids, id)
		default:
			refused = a
		}
	}
	s.note("%d tasks of %d kB were taken", len(ids), hoardedBytes>>10)
	if refused == nil {
		return fmt.Errorf("%d tasks of %d kB of one caller were taken, want at most %d bytes", len(ids), hoardedBytes>>10, hoardMost)
	}
	if text := string(refused.body); refused.status != http.StatusTooManyRequests || !strings.Contains(text, "-31429") || !strings.Contains(text, "of at most") {
		return fmt.Errorf("the task that is too much: status %d: %.300s", refused.status, refused.body)
	}
	id, a, err := other.task(ctx, taskTool, `{}`)
	if err != nil || id == "" {
		return fmt.Errorf("another caller gets no task: %w, %+v", err, a)
	}
	return other.cancelTask(ctx, id)
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
)

// taskClient is a client with a session.
type taskClient struct {
	*rogue
	session string
}

// untilStatus waits until a task has a status and its creator gets the whole task.
func (c *taskClient) untilStatus(ctx context.Context, id, status string) error {
	for end := time.Now().Add(slack); ; pause(ctx, 50*time.Millisecond) {
		a, err := c.tasks(ctx, "tasks/get", id, aboutTask(id))
		if err == nil && bytes.Contains(a.body, []byte(`"`+status+`"`)) && bytes.Contains(a.body, []byte(secretOfTask)) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the task is not %s after %v: %v, %v", status, slack, err, a)
		}
	}
}

func aboutTask(id string) string { return `,"taskId":"` + id + `"` }

// pinFor answers the question of a task.
const pinFor = `,"inputResponses":{"pin.1":{"action":"accept","content":{"pin":"4711"}}}`

// requests sends each request about a task, by a name for errors.
func (c *taskClient) requests(ctx context.Context, id string, do func(what string, a *answer) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin) // One that is let in may wait for the end of the task.
	defer cancel()
	for _, one := range []struct{ method, more string }{{"tasks/get", ""}, {"tasks/update", pinFor}, {"tasks/cancel", ""}} {
		a, e := c.tasks(ctx, one.method, id, aboutTask(id)+one.more)
		if e == nil {
			e = do(one.method, a)
		}
		err = errors.Join(err, e)
	}
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		a, e := c.legacy(ctx, c.session, method, `{"taskId":"`+id+`"}`)
		if e == nil {
			e = do(method+" of a session", a)
		}
		err = errors.Join(err, e)
	}
	return err
}

// lists checks that a session's list of tasks has a task, or has it not, and nothing that the tool says.
func (c *taskClient) lists(ctx context.Context, id string, has bool) error {
	a, err := c.legacy(ctx, c.session, "tasks/list", `{}`)
	if err == nil && (!bytes.Contains(a.body, []byte(`"tasks":[`)) || bytes.Contains(a.body, []byte(id)) != has || bytes.Contains(a.body, []byte(secretOfTask))) {
		err = fmt.Errorf("tasks/list, want the task in it %t: %.500s", has, a.body)
	}
	return err
}

// knowsNothing checks that all requests about a task are answered as those about one that does not exist.
func (c *taskClient) knowsNothing(ctx context.Context, id string) (err error) {
	none := strings.Map(func(r rune) rune {
		if r == 'A' {
			return 'B'
		}
		return 'A'
	}, id[len(id)-8:])
	none = id[:len(id)-8] + none
	unknown := map[string]*answer{}
	if err := c.requests(ctx, none, func(what string, a *answer) error {
		unknown[what] = a
		return nil
	}); err != nil {
		return err
	}
	err = c.requests(ctx, id, func(what string, a *answer) error {
		if e := alike(a, unknown[what], id, none); e != nil {
			return fmt.Errorf("%s is not answered as about a task that does not exist: %w", what, e)
		}
		return nil
	})
	if follower, e := c.listensTo(ctx, id, false); e != nil {
		err = errors.Join(err, e)
	} else {
		follower.close()
	}
	return errors.Join(err, c.lists(ctx, id, false))
}

// follower is a subscriptions/listen to a task.
type follower struct {
	resp   *http.Response
	events *frame.Reader
	cancel context.CancelFunc
}

func (f *follower) close() {
	f.cancel()
	_ = f.resp.Body.Close()
}

// listensTo opens a subscription to a task, which has to be honoured or not.
func (c *taskClient) listensTo(ctx context.Context, id string, honoured bool) (*follower, error) {
	limited, cancel := context.WithCancel(ctx)
	resp, err := c.open(limited, http.MethodPost, c.taskBody("subscriptions/listen", `,"notifications":{"taskIds":["`+id+`"]}`), modernHeader("subscriptions/listen", "")...)
	if err != nil {
		cancel()
		return nil, err
	}
	f := &follower{resp, frame.NewReader(resp.Body, 1<<20), cancel}
	ev, err := f.events.Next()
	if err == nil && (!bytes.Contains(ev.Data, []byte("acknowledged")) || bytes.Contains(ev.Data, []byte(id)) != honoured) {
		err = fmt.Errorf("a subscription to a task, want it honoured %t: %d %.300s", honoured, resp.StatusCode, ev.Data)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// nothing checks that nothing came of what the subscription is to, after a policy has hidden it. What was sent before that is told apart by its
// status: the task is cancelled since.
func (f *follower) nothing(ctx context.Context, id string) error {
	defer time.AfterFunc(2*time.Second, f.cancel).Stop()
	for {
		ev, err := f.events.Next()
		if err != nil {
			return ctx.Err()
		}
		var told struct {
			Params struct {
				TaskID string `json:"taskId"`
				Status string `json:"status"`
			} `json:"params"`
		}
		if err := json.Unmarshal(ev.Data, &told); err != nil {
			return fmt.Errorf("%w: %.300s", err, ev.Data)
		}
		if told.Params.TaskID == id && told.Params.Status == "cancelled" {
			return fmt.Errorf("another client is told of a task whose tool is hidden: %.300s", ev.Data)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

var taskRightsAttacks = []attack{
	{name: "tasks-rights", what: "tasks of a user by another client of theirs without the scope, and by all once the policy hides the tool, in both eras and over REST", run: takeTasks},
}

func takeTasks(ctx context.Context, s *site) error {
	w := &worker{}
	return withServer("worker", workScoped, w.register, func(ctx context.Context, s *site, r *ruled) error {
		t := &taskAttack{r: r, w: w}
		defer t.end()
		return t.run(ctx, s)
	})(ctx, s)
}

// taskAttack has the callers and the tasks of the attack.
type taskAttack struct {
	r *ruled
	w *worker
	// console made the tasks. reader is another client of its user without the scope, and scoped is the reader with it. stranger is another user
	// with the scope.
	console, reader, scoped, stranger *taskClient
	all                               []*taskClient
	asking, canceled, ended           string
}

func (t *taskAttack) end() {
	for _, c := range t.all {
		c.close()
	}
}

func (t *taskAttack) client(ctx context.Context, s *site, subject, client, scope string) (*taskClient, error) {
	c := &taskClient{rogue: t.r.rogue(s.freshAddr())}
	t.all = append(t.all, c)
	token := t.r.lock.Token(subject, t.r.url(), map[string]any{"client_id": client, "scope": scope})
	c.authorization = func() string { return "Bearer " + token }
	var err error
	c.session, err = c.hello(ctx, `{"name":"tasks","version":"1"}`)
	return c, err
}

func (t *taskAttack) run(ctx context.Context, s *site) (err error) {
	for _, c := range []struct {
		to                     **taskClient
		subject, client, scope string
	}{
		{&t.console, "mallory", "console", "work"}, {&t.reader, "mallory", "reader", "read"}, {&t.scoped, "mallory", "reader", "work"},
		{&t.stranger, "eve", "console", "work"},
	} {
		if *c.to, err = t.client(ctx, s, c.subject, c.client, c.scope); err != nil {
			return err
		}
	}
	t.console.rogue = t.console.at(0) // The tasks are made at the first replica, and others are at each.
	for _, c := range []struct {
		to        *string
		arguments string
		status    string
	}{{&t.asking, `{"secret":1}`, "input_required"}, {&t.canceled, `{"secret":2}`, "input_required"}, {&t.ended, `{"secret":3,"ends":true}`, "completed"}} {
		id, a, err := t.console.task(ctx, scopedTool, c.arguments)
		if err != nil || id == "" {
			return fmt.Errorf("no task: %v, %v", err, a)
		}
		*c.to = id
		if err := t.console.untilStatus(ctx, id, c.status); err != nil {
			return err
		}
	}
	follower, err := t.scoped.listensTo(ctx, t.canceled, true)
	if err != nil {
		return err
	}
	defer follower.close()
	if err := errors.Join(t.withoutScope(ctx), t.strangers(ctx), t.overREST(ctx, false)); err != nil {
		return err
	}
	if err := t.hide(ctx); err != nil {
		return err
	}
	return errors.Join(t.hiddenFromOthers(ctx), t.strangers(ctx), t.overREST(ctx, true), t.creators(ctx), follower.nothing(ctx, t.canceled))
}

// withoutScope sends the requests of a client that lacks the scope of the tool: each is answered as its call of the tool, and changes nothing.
func (t *taskAttack) withoutScope(ctx context.Context) (err error) {
	called, err := t.reader.tasks(ctx, "tools/call", scopedTool, callMembers(scopedTool, `{}`))
	if err != nil {
		return err
	}
	want := called.header.Get("Www-Authenticate")
	if called.status != http.StatusForbidden || !strings.Contains(want, "insufficient_scope") {
		return fmt.Errorf("a call of the tool without its scope: %d %.300s", called.status, called.body)
	}
	for _, id := range []string{t.asking, t.ended} {
		err = errors.Join(err, t.reader.requests(ctx, id, func(what string, a *answer) error {
			if a.status != called.status || !strings.Contains(a.header.Get("Www-Authenticate"), "insufficient_scope") ||
				!bytes.Contains(a.body, []byte(`"code":-31403`)) || bytes.Contains(a.body, []byte(secretOfTask)) {
				return fmt.Errorf("%s without the scope: %d %.400s", what, a.status, a.body)
			}
			return nil
		}), t.reader.lists(ctx, id, false))
	}
	if follower, e := t.reader.listensTo(ctx, t.asking, false); e != nil {
		err = errors.Join(err, e)
	} else {
		follower.close()
	}
	if n := t.w.answered.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("the backend got %d answers of a client without the scope", n))
	}
	// Nothing has changed for those who have it: another client, too.
	for _, c := range []*taskClient{t.console, t.scoped} {
		err = errors.Join(err, c.untilStatus(ctx, t.asking, "input_required"), c.untilStatus(ctx, t.ended, "completed"))
	}
	return err
}

// strangers holds the requests of another user against those about a task that does not exist.
func (t *taskAttack) strangers(ctx context.Context) error {
	return errors.Join(t.stranger.knowsNothing(ctx, t.asking), t.stranger.knowsNothing(ctx, t.ended))
}

// hide has the policy hide the tool, and returns when that is in force.
func (t *taskAttack) hide(ctx context.Context) error {
	text, err := os.ReadFile(t.r.config)
	if err != nil {
		return err
	}
	changed := bytes.Replace(text, []byte(workScoped), []byte(workHidden), 1)
	if bytes.Equal(changed, text) {
		return errors.New("the policy is not in the configuration")
	}
	if err := os.WriteFile(t.r.config, changed, 0o644); err != nil {
		return err
	}
	return t.scoped.each(func(r *rogue) error {
		for end := time.Now().Add(slack); ; pause(ctx, 50*time.Millisecond) {
			a, err := r.tasks(ctx, "tools/call", scopedTool, callMembers(scopedTool, `{"ends":true}`))
			if err == nil && bytes.Contains(a.body, []byte("unknown tool")) {
				return nil
			}
			if time.Now().After(end) {
				return fmt.Errorf("the policy is not in force after %v: %v, %v", slack, err, a)
			}
		}
	})
}

// hiddenFromOthers: to the user's other client with the scope, the tasks of a hidden tool do not exist.
func (t *taskAttack) hiddenFromOthers(ctx context.Context) error {
	return errors.Join(t.scoped.knowsNothing(ctx, t.asking), t.scoped.knowsNothing(ctx, t.ended), t.scoped.knowsNothing(ctx, t.canceled))
}

// creators: the client that made the tasks sees that they exist, and cancels them; of what the tool says it sees nothing.
func (t *taskAttack) creators(ctx context.Context) (err error) {
	c := t.console
	check := func(what string, a *answer, e error, want string) {
		if e == nil && (!bytes.Contains(a.body, []byte(want)) || bytes.Contains(a.body, []byte(secretOfTask))) {
			e = fmt.Errorf("%d %.400s", a.status, a.body)
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s of the creator, once the tool is hidden: %w", what, e))
		}
	}
	for id, status := range map[string]string{t.asking: "input_required", t.ended: "completed"} {
		a, e := c.tasks(ctx, "tasks/get", id, aboutTask(id))
		check("tasks/get", a, e, `"code":-31403`)
		a, e = c.tasks(ctx, "tasks/update", id, aboutTask(id)+pinFor)
		check("tasks/update", a, e, `"code":-31403`)
		a, e = c.legacy(ctx, c.session, "tasks/get", `{"taskId":"`+id+`"}`)
		check("tasks/get in a session", a, e, `"status":"`+status+`"`)
		a, e = c.legacy(ctx, c.session, "tasks/result", `{"taskId":"`+id+`"}`)
		check("tasks/result", a, e, `"code":-31403`)
		err = errors.Join(err, c.lists(ctx, id, true))
	}
	if n := t.w.answered.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("the backend got %d answers once the tool was hidden", n))
	}
	a, e := c.tasks(ctx, "tasks/cancel", t.asking, aboutTask(t.asking))
	check("tasks/cancel", a, e, `"result"`)
	a, e = c.legacy(ctx, c.session, "tasks/cancel", `{"taskId":"`+t.canceled+`"}`)
	check("tasks/cancel in a session", a, e, `"status":"cancelled"`)
	for _, id := range []string{t.asking, t.canceled} {
		a, e = c.tasks(ctx, "tasks/get", id, aboutTask(id))
		check("tasks/get of a cancelled task", a, e, `"status":"cancelled"`)
	}
	return err
}

// overREST checks that the REST API tells no caller of tasks who is no operator, and calls the tool for no operator who may not.
func (t *taskAttack) overREST(ctx context.Context, hidden bool) (err error) {
	send := func(method, path, authorization, body string) (*answer, error) {
		c := t.r.fleet.admin(path)
		defer c.close()
		c.authorization = func() string { return authorization }
		return c.send(ctx, method, body)
	}
	for _, c := range []*taskClient{t.reader, t.console} {
		for _, one := range []struct{ method, path string }{
			{http.MethodGet, "/v1/tasks"}, {http.MethodGet, "/v1/tasks/" + t.asking}, {http.MethodPost, "/v1/tasks/" + t.asking + ":cancel"},
		} {
			body := ""
			if one.method == http.MethodPost {
				body = "{}"
			}
			a, e := send(one.method, one.path, c.authorization(), body)
			if e == nil && (a.status != http.StatusForbidden || bytes.Contains(a.body, []byte(secretOfTask)) || bytes.Contains(a.body, []byte(t.ended))) {
				e = fmt.Errorf("%s %s of who is no operator: %d %.300s", one.method, one.path, a.status, a.body)
			}
			err = errors.Join(err, e)
		}
	}
	operator := "Bearer " + t.r.lock.Token("olga", t.r.url(), map[string]any{"scope": "mcp:operate"})
	call := func(tool string) (*answer, error) {
		return send(http.MethodPost, "/v1/tools/"+tool+":call", operator, `{"arguments":{"ends":true}}`)
	}
	a, e := call(scopedTool)
	unknown, e2 := call("wort")
	if e := errors.Join(e, e2); e != nil {
		return errors.Join(err, e)
	}
	first, second := strings.ReplaceAll(string(a.body), scopedTool, ""), strings.ReplaceAll(string(unknown.body), "wort", "")
	switch {
	case hidden && (a.status != unknown.status || first != second):
		err = errors.Join(err, fmt.Errorf("an operator's call of the hidden tool: %d %.300s; of an unknown one: %d %.300s", a.status, a.body, unknown.status, unknown.body))
	case !hidden && a.status != http.StatusForbidden:
		err = errors.Join(err, fmt.Errorf("an operator's call without the tool's scope: %d %.300s", a.status, a.body))
	}
	return err
}

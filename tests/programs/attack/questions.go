package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

var questionAttacks = []attack{
	{name: "asks-again", what: "a backend asks one question after the other under one key, and answers to each come again, late and crossed", run: askUnderOneKey},
}

func askUnderOneKey(ctx context.Context, s *site) error {
	b := &asker{got: map[string][]string{}}
	return withServer("asker", "", b.register, func(ctx context.Context, s *site, r *ruled) error {
		c := r.as(s, nil)
		defer c.close()
		session, err := c.hello(ctx, `{"name":"asked","version":"1"}`)
		if err != nil {
			return err
		}
		for tool, questions := range steps {
			if tool == "doubles" || tool == "asking" {
				continue
			}
			if e := errors.Join(c.answersStateless(ctx, b, tool, len(questions)), c.answersInSession(ctx, session, b, tool, len(questions))); e != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", tool, e))
			}
		}
		return errors.Join(err, c.answersCrossed(ctx, session, b), c.answersTask(ctx, b), c.asksDouble(ctx, b))
	})(ctx, s)
}

// answersStateless answers without a session: each question by its own state, once a question has been asked also without an answer, and with
// answers under other keys.
func (r *rogue) answersStateless(ctx context.Context, b *asker, tool string, n int) error {
	b.taken()
	ask := func(state, responses string) (*asked, string, *answer, error) {
		members := callMembers(tool, `{"tag":"plain"}`)
		if state != "" {
			members += `,"requestState":` + state + `,"inputResponses":{` + responses + `}`
		}
		a, err := r.modern(ctx, "tools/call", tool, members)
		if err != nil {
			return nil, "", nil, err
		}
		var out struct {
			Result struct {
				InputRequests map[string]*asked
				RequestState  json.RawMessage
			}
		}
		_ = json.Unmarshal(a.body, &out) // An answer without questions is the caller's.
		return out.Result.InputRequests[oneKey], string(out.Result.RequestState), a, nil
	}
	q, state, a, err := ask("", "")
	before := ""
	for i := 1; i <= n; i++ {
		if err != nil {
			return err
		}
		if q == nil {
			return fmt.Errorf("question %d is not asked: %d %.300s", i, a.status, a.body)
		}
		if err := q.isStep(tool, i); err != nil {
			return err
		}
		// The answer to the first question comes again, under keys that nobody asked for, and then none does: the second stays.
		for _, late := range []string{before, ""} {
			if i != 2 {
				break // Rounds are bounded.
			}
			if q, state, a, err = ask(state, late); err != nil {
				return err
			}
			if q == nil {
				return fmt.Errorf("question %d is not asked again: %d %.300s", i, a.status, a.body)
			}
			if err := q.isStep(tool, i); err != nil {
				return err
			}
		}
		text := q.answerTo(fmt.Sprint("answer-plain-", i))
		before = `"` + oneKey + `.` + strconv.Itoa(i) + `":` + text + `,"Step":` + text + `,"step ":` + text
		q, state, a, err = ask(state, `"`+oneKey+`":`+text)
	}
	if err == nil && (q != nil || !bytes.Contains(a.body, []byte("done plain"))) {
		err = fmt.Errorf("the call does not end: %d %.300s", a.status, a.body)
	}
	return errors.Join(err, b.each("plain", n, tool != "sends"))
}

// answersTask answers the questions of a task. Answers under the name of the question before, and under the backend's own key, come first.
func (r *rogue) answersTask(ctx context.Context, b *asker) error {
	b.taken()
	id, a, err := r.task(ctx, "asking", `{"tag":"task"}`)
	if err != nil || id == "" {
		return fmt.Errorf("no task: %v, %v", err, a)
	}
	defer func() { _ = r.cancelTask(ctx, id) }()
	var before []string
	for i := 1; i <= len(steps["asking"]); i++ {
		name, q, err := r.questionOf(ctx, id, before)
		if err != nil {
			return fmt.Errorf("question %d of a task: %w", i, err)
		}
		if err := q.isStep("asking", i); err != nil {
			return err
		}
		for _, old := range append(before, oneKey, "again."+name, name+" ") {
			if err := r.updates(ctx, id, old, q.answerTo("answer-stale-1")); err != nil {
				return err
			}
		}
		if i > 1 {
			pause(ctx, 200*time.Millisecond) // in which the backend would get them
		}
		if err := errors.Join(r.updates(ctx, id, name, q.answerTo(fmt.Sprint("answer-task-", i))), r.updates(ctx, id, name, q.answerTo("answer-twice-1"))); err != nil {
			return err
		}
		before = append(before, name)
	}
	for end := time.Now().Add(slack); ; pause(ctx, 50*time.Millisecond) {
		a, err := r.tasks(ctx, "tasks/get", id, aboutTask(id))
		if err == nil && bytes.Contains(a.body, []byte("done task")) {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("the task does not end: %v, %v", err, a)
		}
	}
	return b.each("task", len(steps["asking"]), true)
}

// questionOf waits for a question of a task other than some, and returns it by its name.
func (r *rogue) questionOf(ctx context.Context, id string, but []string) (string, *asked, error) {
	for end := time.Now().Add(slack); ; pause(ctx, 50*time.Millisecond) {
		a, err := r.tasks(ctx, "tasks/get", id, aboutTask(id))
		if err != nil {
			return "", nil, err
		}
		var out struct {
			Result struct{ InputRequests map[string]*asked }
		}
		_ = json.Unmarshal(a.body, &out) // What has no questions is asked for again.
		for name, q := range out.Result.InputRequests {
			if !slices.Contains(but, name) {
				return name, q, nil
			}
			return "", nil, fmt.Errorf("it has the name %s of a question before: %.300s", name, a.body)
		}
		if time.Now().After(end) {
			return "", nil, fmt.Errorf("it is not asked: %d %.300s", a.status, a.body)
		}
	}
}

func (r *rogue) updates(ctx context.Context, id, name, result string) error {
	a, err := r.tasks(ctx, "tasks/update", id, aboutTask(id)+`,"inputResponses":{"`+name+`":`+result+`}`)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("tasks/update: %d %.300s", a.status, a.body)
	}
	return err
}

// asksDouble: of two questions with one key at a time, none is asked.
func (r *rogue) asksDouble(ctx context.Context, b *asker) error {
	b.taken()
	a, err := r.call(ctx, "doubles", `{"tag":"double"}`)
	if err == nil && bytes.Contains(a.body, []byte("inputRequests")) {
		err = fmt.Errorf("two questions with one key are asked: %.300s", a.body)
	}
	return err
}

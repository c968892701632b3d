package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
)

// calling is a call of a session whose stream is read.
type calling struct {
	resp   *http.Response
	events *frame.Reader
	// completed are the elicitations whose end was reported to the client.
	completed []string
}

func (r *rogue) begins(ctx context.Context, session, tool, tag string) (*calling, error) {
	resp, err := r.open(ctx, http.MethodPost, r.legacyBody("tools/call", `{"name":"`+tool+`","arguments":{"tag":"`+tag+`"}}`), sessionHeader(session)...)
	if err != nil {
		return nil, err
	}
	return &calling{resp: resp, events: frame.NewReader(resp.Body, 1<<20)}, nil
}

// next returns the next question, or the result as it is.
func (c *calling) next() (*asked, []byte, error) {
	for {
		ev, err := c.events.Next()
		if err == io.EOF && len(ev.Data) == 0 {
			return nil, nil, errors.New("the stream of the call has ended")
		}
		if err != nil {
			return nil, nil, err
		}
		if len(ev.Data) == 0 {
			continue // It has an id alone.
		}
		q := &asked{}
		if err := json.Unmarshal(ev.Data, q); err != nil {
			return nil, nil, fmt.Errorf("%w: %.300s", err, ev.Data)
		}
		switch {
		case q.Method == "notifications/elicitation/complete":
			c.completed = append(c.completed, q.Params.ElicitationID)
		case q.Method == "":
			return nil, ev.Data, nil
		default:
			return q, nil, nil
		}
	}
}

// answers sends the answer to a question of a session.
func (r *rogue) answers(ctx context.Context, session string, q *asked, result string) error {
	a, err := r.send(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":`+string(q.ID)+`,"result":`+result+`}`, sessionHeader(session)...)
	if err == nil && a.status != http.StatusAccepted {
		err = fmt.Errorf("an answer: %d %.300s", a.status, a.body)
	}
	return err
}

// answersInSession answers the questions of a call of a session. The answers to those before come again once the next is asked.
func (r *rogue) answersInSession(ctx context.Context, session string, b *asker, tool string, n int) error {
	b.taken()
	limited, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	c, err := r.begins(limited, session, tool, "held")
	if err != nil {
		return err
	}
	defer c.resp.Body.Close()
	var before []*asked
	for i := 1; i <= n; i++ {
		q, result, err := c.next()
		if err != nil || q == nil {
			return fmt.Errorf("question %d is not asked: %v: %.300s", i, err, result)
		}
		if err := q.isStep(tool, i); err != nil {
			return err
		}
		for _, old := range before {
			if bytes.Equal(old.ID, q.ID) {
				return fmt.Errorf("questions %q and %q are one request", old.Params.Message, q.Params.Message)
			}
			if sameID := old.Params.ElicitationID == q.Params.ElicitationID; q.Params.URL != "" && sameID && old.Params.URL != q.Params.URL {
				return fmt.Errorf("%s and %s are one elicitation: %s", old.Params.URL, q.Params.URL, q.Params.ElicitationID)
			}
			if err := r.answers(limited, session, old, q.answerTo("answer-stale-1")); err != nil {
				return err
			}
		}
		if len(before) > 0 {
			pause(limited, 200*time.Millisecond) // in which the backend would get them
		}
		if err := errors.Join(r.answers(limited, session, q, q.answerTo(fmt.Sprint("answer-held-", i))), r.answers(limited, session, q, q.answerTo("answer-twice-1"))); err != nil {
			return err
		}
		before = append(before, q)
	}
	q, result, err := c.next()
	if err != nil || q != nil || !bytes.Contains(result, []byte("done held")) {
		return fmt.Errorf("the call does not end: %v: %+v %.300s", err, q, result)
	}
	for _, q := range before {
		if q.Params.URL != "" && !slices.Contains(c.completed, q.Params.ElicitationID) {
			err = errors.Join(err, fmt.Errorf("the end of the elicitation of %s is not told: %q", q.Params.URL, c.completed))
		}
	}
	return errors.Join(err, b.each("held", n, tool != "sends"))
}

// answersCrossed answers two calls of one session that ask the same at one time, the later one first.
func (r *rogue) answersCrossed(ctx context.Context, session string, b *asker) error {
	b.taken()
	limited, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	tags := []string{"left", "right"}
	var both []*calling
	for _, tag := range tags {
		c, err := r.begins(limited, session, "repeats", tag)
		if err != nil {
			return err
		}
		defer c.resp.Body.Close()
		both = append(both, c)
	}
	for i := 1; i <= len(steps["repeats"]); i++ {
		var questions []*asked
		for k, c := range both {
			q, result, err := c.next()
			if err != nil || q == nil {
				return fmt.Errorf("question %d of the call %s is not asked: %v: %.300s", i, tags[k], err, result)
			}
			questions = append(questions, q)
		}
		for k := range both {
			k = len(both) - 1 - k
			if err := r.answers(limited, session, questions[k], questions[k].answerTo(fmt.Sprint("answer-", tags[k], "-", i))); err != nil {
				return err
			}
		}
	}
	for k, c := range both {
		if q, result, err := c.next(); err != nil || q != nil || !bytes.Contains(result, []byte("done "+tags[k])) {
			return fmt.Errorf("the call %s does not end: %v: %+v %.300s", tags[k], err, q, result)
		}
	}
	got := b.taken()
	var err error
	for _, tag := range tags {
		for i := 1; i <= len(steps["repeats"]); i++ {
			key := fmt.Sprint(tag, "-", i)
			if want := []string{oneKey + ": answer-" + key}; !slices.Equal(got[key], want) {
				err = errors.Join(err, fmt.Errorf("question %d of the call %s got the answers %q, want %q", i, tag, got[key], want))
			}
		}
	}
	return err
}

package capability_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
)

type sure struct {
	Sure bool `json:"sure"`
}

// A question that has the key of another one does not get its answer: the user has seen the other
// question only.
func TestTwoQuestionsOfOneKey(t *testing.T) {
	s := capability.New("keys", "1")
	var deleted []string
	addTool(s, "loop", func(_ context.Context, c *capability.Call) (string, error) {
		for _, file := range []string{"a", "b"} {
			answer, err := capability.Ask[sure](c, "delete", "Delete "+file+"?")
			if err != nil {
				return "", err
			}
			if answer.Sure {
				deleted = append(deleted, file)
			}
		}
		return "done", nil
	})
	addTool(s, "again", func(_ context.Context, c *capability.Call) (string, error) {
		q := capability.Form[sure]("delete", "Delete a?")
		c.AskAll(q)
		_, err := q.Answer(c)
		if _, again := capability.Ask[sure](c, "delete", "Delete a?"); again != nil {
			err = again
		}
		return "done", err
	})
	addTool(s, "elsewhere", func(_ context.Context, c *capability.Call) (string, error) {
		if _, err := capability.Ask[sure](c, "delete", "Delete a?"); err != nil {
			return "", err
		}
		failed := make(chan error)
		go func() {
			_, err := capability.Ask[sure](c, "delete", "Delete b?")
			failed <- err
		}()
		return "", <-failed
	})
	c := capabilitytest.Start(t, s)
	c.Answer = capabilitytest.Answers(map[string]*capability.InputResponse{"delete": capabilitytest.Accepted(`{"sure":true}`)})
	out, err := c.CallTool(limit(t), "loop", nil)
	if err != nil || out.Failure.GetReason() != capability.Internal || strings.Join(deleted, " ") != "a" {
		t.Errorf("%v, %v, deleted %q", out, err, deleted)
	}
	if want := `two different questions have the key "delete"; give each its own`; !strings.Contains(out.Text(), want) {
		t.Errorf("%s, want %s in it", out.Text(), want)
	}
	if out, err := c.CallTool(limit(t), "again", nil); err != nil || out.Text() != "done" {
		t.Errorf("the same question again: %v, %v", out, err)
	}
	if out, err := c.CallTool(limit(t), "elsewhere", nil); err != nil || out.Failure.GetReason() != capability.Internal || !strings.Contains(out.Text(), "give each its own") {
		t.Errorf("in another goroutine: %v, %v", out, err)
	}
}

// sureOfAll is a question of all calls, whose form was checked when the program started.
var sureOfAll = capability.Form[sure]("sure", "Sure?")

// A question that is a variable of the package is asked by each call, and its form is refused where
// the variable is made.
func TestQuestionsOfThePackage(t *testing.T) {
	s := capability.New("package", "1")
	addTool(s, "ask", func(_ context.Context, c *capability.Call) (string, error) {
		answer, err := sureOfAll.Answer(c)
		if err == nil && !answer.Sure {
			return "not sure", nil
		}
		return "sure", err
	})
	c := capabilitytest.Start(t, s)
	for content, want := range map[string]string{`{"sure":true}`: "sure", `{"sure":false}`: "not sure"} {
		c.Answer = capabilitytest.Answers(map[string]*capability.InputResponse{"sure": capabilitytest.Accepted(content)})
		if out, err := c.CallTool(limit(t), "ask", nil); err != nil || out.Text() != want || out.Rounds != 2 {
			t.Errorf("%s: %v, %v", content, out, err)
		}
	}
	defer func() {
		if p := recover(); !strings.Contains(fmt.Sprint(p), `member "Inner" of the form`) {
			t.Errorf("a form with a struct in it panics with %v", p)
		}
	}()
	capability.Form[struct{ Inner sure }]("inner", "?")
}

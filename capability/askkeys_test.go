package capability_test

import (
	"context"
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

package capability_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
)

// Ask in another goroutine than the handler's, which it cannot end, returns an error in place of an
// answer that the user has not given. The round ends with the question all the same.
func TestAskInAnotherGoroutineReturnsAnError(t *testing.T) {
	s := capability.New("goroutines", "1")
	var seen []error
	addTool(s, "ask", func(_ context.Context, c *capability.Call) (string, error) {
		var done sync.WaitGroup
		var (
			answer age
			err    error
		)
		done.Go(func() { answer, err = capability.Ask[age](c, "age", "How old?") })
		done.Wait()
		seen = append(seen, err)
		return strings.Repeat("x", answer.Years), err
	})
	addTool(s, "deep", func(_ context.Context, c *capability.Call) (string, error) {
		var deep func(n int) (string, error)
		deep = func(n int) (string, error) {
			if n > 0 {
				return deep(n - 1)
			}
			answer, err := capability.Ask[age](c, "age", "How old?")
			return strings.Repeat("x", answer.Years), err
		}
		return deep(500)
	})
	c := capabilitytest.Start(t, s)
	c.Answer = func(*capability.InputRequest) *capability.InputResponse {
		return capabilitytest.Accepted(`{"years":7}`)
	}
	out, err := c.CallTool(limit(t), "ask", nil)
	if err != nil || out.Text() != "xxxxxxx" || len(seen) != 2 || seen[0] == nil || errors.Is(seen[0], capability.ErrUnanswered) || seen[1] != nil {
		t.Errorf("%v, %v; Ask returned %v", out, err, seen)
	}
	if out, err := c.CallTool(limit(t), "deep", nil); err != nil || out.Text() != "xxxxxxx" || out.Rounds != 2 {
		t.Errorf("a question deep in the handler's goroutine: %v, %v", out, err)
	}
}

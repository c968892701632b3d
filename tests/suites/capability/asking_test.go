//lint:file-ignore SA1019 Sampling, roots and logging are served for as long as the protocol has them.

package capability

import (
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Questions are asked one after another; the handler runs from its top each time, and ends once.
func TestRounds(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		begun, done := c.counts(t, "interview.begun"), c.counts(t, "interview.done")
		c.want(t, "Ada is 36", "interview", nil)
		if want := []string{"Who are you?", "How old is Ada?"}; !slices.Equal(c.asked, want) {
			t.Errorf("asked %q, want %q", c.asked, want)
		}
		if b, d := begun(), done(); b != 3 || d != 1 {
			t.Errorf("the handler was begun %d times and ended %d times, want 3 and 1", b, d)
		}
	})
}

// A user who declines or dismisses a question is an ordinary error, which a handler may catch, or leave to the model.
func TestRefusals(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		for action, want := range map[string]string{"decline": "declined", "cancel": "cancelled"} {
			c.answer = func(*mcp.ElicitParams) *mcp.ElicitResult { return &mcp.ElicitResult{Action: action} }
			c.want(t, want, "interview", nil)
			if r := c.call(t, "ask_all", nil); !r.IsError || len(r.Content) == 0 {
				t.Errorf("%s, not caught: %+v, want a result with isError and a text", action, r)
			}
		}
		c.answer = func(p *mcp.ElicitParams) *mcp.ElicitResult {
			if p.Message != "Who are you?" {
				return &mcp.ElicitResult{Action: "decline"}
			}
			return &mcp.ElicitResult{Action: "accept", Content: answers(p.Message)}
		}
		if r := c.call(t, "interview", nil); !r.IsError {
			t.Errorf("the second question declined: %+v, want isError", r)
		}
	})
}

// Questions that are asked at once take one round.
func TestAskAll(t *testing.T) {
	eras(t, func(t *testing.T, c *client) { c.want(t, "Ada, 2 roots", "ask_all", nil) })
}

// A handler that catches what ends it ends in its question all the same.
func TestSwallowedUnwinding(t *testing.T) {
	eras(t, func(t *testing.T, c *client) { c.want(t, "Hello, Ada", "stubborn", nil) })
}

// A value of once is made in one round and is the same in the next; another call has another.
func TestOnce(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		made := c.counts(t, "keep.made")
		first, second := c.says(t, "keep", nil), c.says(t, "keep", nil)
		if len(first) < 16 || first == second {
			t.Errorf("the values of two calls are %q and %q", first, second)
		}
		if want := []string{first, second}; !slices.Equal(c.asked, want) {
			t.Errorf("asked with %q, and the results were %q", c.asked, want)
		}
		if n := made(); n != 2 {
			t.Errorf("values were made %d times in 2 calls", n)
		}
	})
}

func TestOtherQuestions(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		c.want(t, "You said roses ☃", "sample", object{"prompt": "roses ☃"})
		for _, action := range []string{"accept", "decline", "cancel"} {
			c.answer = func(p *mcp.ElicitParams) *mcp.ElicitResult {
				if p.URL != "https://example.com/login" {
					t.Errorf("asked to open %q", p.URL)
				}
				return &mcp.ElicitResult{Action: action}
			}
			c.want(t, action, "open_url", nil)
		}
	})
}

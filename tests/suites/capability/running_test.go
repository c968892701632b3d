//lint:file-ignore SA1019 Sampling, roots and logging are served for as long as the protocol has them.

package capability

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// A cancellation reaches the handler. Calls that wait keep no other from being served.
func TestCancellation(t *testing.T) {
	const calls = 40
	eras(t, func(t *testing.T, c *client) {
		begun, ended := c.counts(t, "gate.begun"), c.counts(t, "gate.ended")
		ctx, cancel := context.WithCancel(limit(t))
		results := make(chan error, calls)
		for range calls {
			go func() {
				_, err := c.try(ctx, "gate", nil)
				results <- err
			}()
		}
		await.Until(t, "all calls wait", func() bool { return begun() == calls })
		if n := ended(); n != 0 {
			t.Errorf("%d calls have ended by themselves", n)
		}
		cancel()
		for range calls {
			if err := await.Receive(t, "the end of a call", results); !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled call ended with %v", err)
			}
		}
		await.Until(t, "all handlers end", func() bool { return ended() == calls })
	})
}

// The deadline that the edge gives a call ends its handler.
func TestDeadline(t *testing.T) {
	counter := connect(t, startEdge(t), stateless, "") // whose own calls have time
	begun, ended := counter.counts(t, "gate.begun"), counter.counts(t, "gate.ended")
	// The deadline of a call may pass before the fixture has seen it, which then runs no handler: the next call has more time.
	for timeout := time.Second; begun() == 0; timeout *= 2 {
		e := startEdge(t, func(cfg *config.Config) { cfg.Backends[0].Timeout = timeout })
		if r, err := connect(t, e, stateless, "").try(limit(t), "gate", nil); err == nil {
			t.Fatalf("a call beyond its deadline gave %+v", r)
		}
		if timeout > await.Patience {
			t.Fatal("no handler began")
		}
	}
	await.Until(t, "the handler ends", func() bool { return ended() == begun() })
}

func TestProgress(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		p := &mcp.CallToolParams{Name: "count", Arguments: object{"to": 3}}
		p.SetProgressToken("t")
		if _, err := c.CallTool(limit(t), p); err != nil {
			t.Fatal(err)
		}
		c.told(t, "the last step", func() bool { return len(c.progress) == 3 })
		for i, got := range c.progress {
			if got.Progress != float64(i+1) || got.Total != 3 || got.Message != fmt.Sprint("step ", i+1) {
				t.Errorf("event %d: %+v", i, got)
			}
		}
		c.want(t, "counted to 2", "count", object{"to": 2})
		if len(c.progress) != 3 {
			t.Error("progress came that was not requested")
		}
	})
}

// A handler that sends more progress than its client can read ends as usual, and the progress that is read increases.
func TestFlood(t *testing.T) {
	const events = 20_000
	eras(t, func(t *testing.T, c *client) {
		p := &mcp.CallToolParams{Name: "flood", Arguments: object{"events": events}}
		p.SetProgressToken("t")
		ctx, cancel := context.WithTimeout(t.Context(), 8*await.Patience) // 20,000 events are work for seconds
		defer cancel()
		r, err := c.CallTool(ctx, p)
		if err != nil || r.Content[0].(*mcp.TextContent).Text != fmt.Sprint("sent ", events) {
			t.Fatalf("%+v, %v", r, err)
		}
		c.told(t, "progress", func() bool { return len(c.progress) > 0 })
		c.mu.Lock()
		defer c.mu.Unlock()
		last := 0.0
		for _, got := range c.progress {
			if got.Progress <= last {
				t.Fatalf("progress %v came after %v", got.Progress, last)
			}
			last = got.Progress
		}
	})
}

// Messages come from the level on that the client wants, in order, and none without one.
func TestLogs(t *testing.T) {
	levels := []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	eras(t, func(t *testing.T, c *client) {
		c.want(t, "logged", "log", nil)
		if len(c.logs) != 0 && c.InitializeResult().ProtocolVersion == stateless {
			t.Errorf("%d messages came that nobody wanted", len(c.logs))
		}
		for from, level := range levels {
			c.mu.Lock()
			c.logs = nil
			c.mu.Unlock()
			p := &mcp.CallToolParams{Name: "log", Arguments: object{}}
			if c.InitializeResult().ProtocolVersion == stateless {
				p.Meta = mcp.Meta{mcp.MetaKeyLogLevel: level}
			} else if err := c.SetLoggingLevel(limit(t), &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(level)}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.CallTool(limit(t), p); err != nil {
				t.Fatal(err)
			}
			c.told(t, "the last message", func() bool { return len(c.logs) == len(levels)-from })
			for i, m := range c.logs {
				data, _ := m.Data.(object)
				if want := levels[from+i]; string(m.Level) != want || data["level"] != want || m.Logger != "fixture" {
					t.Errorf("from %s on: message %d is %+v, want level %s", level, i, m, want)
				}
			}
		}
	})
}

package stdio

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// slow answers after so long, and says nothing when it is cancelled.
func slow(d time.Duration) func(context.Context, *mcp.Incoming, jsonrpc.Message, mcp.Outgoing) {
	return func(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
		if msg.Method == "initialize" {
			out.Session("s1")
			answer(out, msg, `{}`)
			return
		}
		in.Admit()
		select {
		case <-time.After(d):
			answer(out, msg, `"slow"`)
		case <-ctx.Done():
		}
	}
}

func TestCallsInFlightHaveTheGrace(t *testing.T) {
	s := &server{post: slow(1500 * time.Millisecond)}
	drained := false
	inBubble(t, s, Options{Drain: func() { drained = true }}, func(t *testing.T, c *client) {
		c.send(request(1, "initialize"), request(2, "m"))
		c.take()
		began := time.Now()
		c.close()
		c.want(result(2, `"slow"`))
		if d := time.Since(began); d != 1500*time.Millisecond || c.err != nil {
			t.Errorf("ended after %s with %v", d, c.err)
		}
		if got := s.sessionsEnded(); len(got) != 1 || got[0] != "s1" || !drained {
			t.Errorf("sessions ended: %q; drained: %t", got, drained)
		}
	})
}

func TestCallsAreCancelledAfterTheGrace(t *testing.T) {
	inBubble(t, &server{post: slow(time.Hour)}, Options{}, func(t *testing.T, c *client) {
		c.send(request(2, "m"))
		began := time.Now()
		c.close()
		c.want()
		if d := time.Since(began); d != 2*time.Second || c.err != nil {
			t.Errorf("ended after %s with %v", d, c.err)
		}
	})
}

func TestIdleConnectionEndsAtOnce(t *testing.T) {
	inBubble(t, &server{post: slow(0)}, Options{}, func(t *testing.T, c *client) {
		c.send(request(1, "initialize"), request(2, "m"))
		began := time.Now()
		c.close()
		if d := time.Since(began); d != 0 || c.err != nil {
			t.Errorf("ended after %s with %v", d, c.err)
		}
	})
}

func TestContextEndsServingThoughTheClientStays(t *testing.T) {
	inBubble(t, &server{post: slow(time.Second)}, Options{}, func(t *testing.T, c *client) {
		c.send(request(2, "m"))
		c.stop()
		<-c.ended
		c.want(result(2, `"slow"`))
		if _, err := io.WriteString(c.in, request(3, "m")+"\n"); err == nil {
			t.Error("a line was taken after the end")
		}
	})
}

// A writer that waits holds a lock, so time is real here.
func TestDeafClientCannotKeepTheProcess(t *testing.T) {
	c := connect(t, &server{post: echo}, Options{Grace: 10 * time.Millisecond})
	for i := range 3 {
		if _, err := io.WriteString(c.in, request(i, "m")+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.in.Close()
	select {
	case <-c.ended:
	case <-time.After(await.Patience):
		t.Fatal("serving did not end")
	}
	c.close()
}

// What a client that does not read has sent before it closed its end cannot keep the process either, where it is more than is served at a time.
func TestDeafClientCannotKeepTheProcessByUnreadLines(t *testing.T) {
	for name, o := range map[string]Options{"by calls in flight": {MaxInFlight: 2}, "by their admission": {}} {
		t.Run(name, func(t *testing.T) {
			o.Grace = 10 * time.Millisecond
			c := connect(t, &server{post: echo}, o)
			go func() {
				for i := range 100 {
					if _, err := io.WriteString(c.in, request(i, "m")+"\n"); err != nil {
						break
					}
				}
				_ = c.in.Close()
			}()
			select {
			case <-c.ended:
			case <-time.After(await.Patience):
				t.Fatal("serving did not end")
			}
			c.close()
		})
	}
}

// Lines before the end of input are all served, however long that takes, while the client reads.
func TestLinesBeforeTheEndAreServed(t *testing.T) {
	inBubble(t, &server{post: slow(1500 * time.Millisecond)}, Options{MaxInFlight: 1}, func(t *testing.T, c *client) {
		const n = 20
		var lines, want []string
		for i := range n {
			lines, want = append(lines, request(i+2, "m")), append(want, result(i+2, `"slow"`))
		}
		c.send(lines...)
		c.close()
		c.want(want...)
	})
}

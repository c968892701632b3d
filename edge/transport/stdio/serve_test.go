package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// echo answers every request with its method.
func echo(_ context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
	if msg.Kind != jsonrpc.Request {
		out.Accept()
		return
	}
	in.Admit()
	answer(out, msg, fmt.Sprintf(`{"method":%q}`, msg.Method))
}

func TestPipelinedRequestsAreAllAnswered(t *testing.T) {
	const n, limit = 10_000, 16
	var running, most atomic.Int64
	s := &server{post: func(_ context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
		now := running.Add(1)
		for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
		}
		in.Admit()
		runtime.Gosched()
		running.Add(-1)
		answer(out, msg, `{"padding":"`+strings.Repeat("x", 100)+`"}`)
	}}
	c := connect(t, s, Options{MaxInFlight: limit})
	var reading sync.WaitGroup
	reading.Go(c.read)
	for i := range n {
		if _, err := io.WriteString(c.in, request(i, "m")+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.in.Close()
	reading.Wait()
	c.close()
	if c.err != nil {
		t.Error(c.err)
	}
	seen := map[string]int{}
	for _, l := range c.got {
		msg, err := jsonrpc.Parse([]byte(l))
		if err != nil || msg.Kind != jsonrpc.Response {
			t.Fatalf("%s is no response: %v", l, err)
		}
		seen[msg.ID.Raw()]++
	}
	if len(seen) != n || len(c.got) != n {
		t.Errorf("%d lines answer %d of %d requests", len(c.got), len(seen), n)
	}
	if m := most.Load(); m > limit {
		t.Errorf("%d exchanges ran at a time, the limit is %d", m, limit)
	}
}

func TestNextMessageWaitsForAdmission(t *testing.T) {
	var gates map[string]chan struct{}
	s := &server{post: func(_ context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
		if msg.Method == "go" {
			in.Admit()
			in.Admit()
		}
		if g := gates[msg.Method]; g != nil {
			<-g
		}
		answer(out, msg, `1`)
	}}
	inBubble(t, s, Options{}, func(_ *testing.T, c *client) {
		gates = map[string]chan struct{}{"hold": make(chan struct{}), "go": make(chan struct{})}
		c.send(request(1, "go"), request(2, "quick"))
		c.want(result(2, "1"))
		c.send(request(3, "hold"))
		c.later(request(4, "quick"))
		c.want()
		close(gates["hold"])
		c.want(result(3, "1"), result(4, "1"))
		close(gates["go"])
		c.want(result(1, "1"))
	})
}

func TestFullConnectionIsNotRead(t *testing.T) {
	var gate chan struct{}
	s := &server{post: func(_ context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
		in.Admit()
		if msg.Method == "stream" {
			st, _ := out.Open()
			<-gate
			_ = st.Send(mcp.StreamEvent{Data: jsonrpc.AppendResult(nil, msg.ID, []byte(`"end"`))})
			return
		}
		if msg.Method == "wait" {
			<-gate
		}
		answer(out, msg, `1`)
	}}
	inBubble(t, s, Options{MaxInFlight: 1}, func(_ *testing.T, c *client) {
		gate = make(chan struct{})
		c.send(request(1, "stream"), request(2, "quick"))
		c.want(result(2, "1")) // a stream takes no slot
		c.send(request(3, "wait"))
		c.later(request(4, "quick"))
		c.want()
		close(gate)
		got := strings.Join(c.take(), "\n")
		for _, w := range []string{result(1, `"end"`), result(3, "1"), result(4, "1")} {
			if !strings.Contains(got, w) {
				c.t.Errorf("%s is missing in\n%s", w, got)
			}
		}
	})
}

func TestStreamHasNoIDsNorSilence(t *testing.T) {
	s := &server{post: func(_ context.Context, _ *mcp.Incoming, _ jsonrpc.Message, out mcp.Outgoing) {
		st, err := out.Open()
		for _, ev := range []mcp.StreamEvent{
			{ID: "1-0"}, {Retry: time.Second}, {ID: "1-1", Data: []byte("{\n \"a\":\t\"b\\nc\"\r\n}")}, {Data: []byte(`{"d":1}`)},
		} {
			err = errors.Join(err, st.Send(ev))
		}
		if err = errors.Join(err, st.KeepAlive()); err != nil {
			panic(err)
		}
	}}
	inBubble(t, s, Options{}, func(_ *testing.T, c *client) {
		c.send(request(1, "m"))
		c.want(`{"a":"b\nc"}`, `{"d":1}`)
	})
}

func TestLongLineIsRefusedAndTheNextServed(t *testing.T) {
	inBubble(t, &server{post: echo}, Options{MaxLine: 100}, func(t *testing.T, c *client) {
		c.send(strings.Repeat("x", 5000), "", request(1, "m"))
		got := c.take()
		if len(got) != 2 || !strings.Contains(got[0], `"code":-32600`) || !strings.Contains(got[0], "more than 100 bytes") ||
			got[1] != result(1, `{"method":"m"}`) {
			t.Errorf("got %q", got)
		}
	})
}

func TestPanicEndsItsExchangeAlone(t *testing.T) {
	s := &server{post: func(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
		if msg.Method == "panic" {
			panic("boom")
		}
		echo(ctx, in, msg, out)
	}}
	inBubble(t, s, Options{}, func(_ *testing.T, c *client) {
		c.send(request(1, "panic"), `{"jsonrpc":"2.0","method":"panic"}`, request(2, "m"))
		c.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`, result(2, `{"method":"m"}`))
	})
}

func TestClientThatIsGoneEndsServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, &server{post: echo}, Options{})
		_ = c.out.Close()
		_, _ = io.WriteString(c.in, request(1, "m")+"\n")
		<-c.ended // though the other direction is open
		if !errors.Is(c.err, io.ErrClosedPipe) {
			t.Errorf("ended with %v", c.err)
		}
		c.close()
	})
}

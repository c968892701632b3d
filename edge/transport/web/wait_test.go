package web

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
	"github.com/mcpedge/mcpedge/tests/await"
)

// waiting serves each GET with a stream, and hands it to the test's function in the stream's goroutine.
func waiting(t *testing.T, fn func(*Events)) net.Conn {
	t.Helper()
	over := make(chan struct{})
	_, s, _ := listened(t, Options{}, func(_ context.Context, l *Listener) {
		defer close(over)
		stream, err := l.Events()
		if err != nil {
			t.Error(err)
			return
		}
		defer stream.Close()
		if !stream.Waits() {
			t.Error("the stream does not wait")
			return
		}
		fn(stream)
	})
	conn, _ := get(t, s, "1.1")
	t.Cleanup(func() { within(t, "the stream's end", over) })
	return conn
}

func TestWaitEndsInTime(t *testing.T) {
	waiting(t, func(e *Events) {
		for range 3 {
			began := time.Now()
			if err := e.Wait(20 * time.Millisecond); err != nil || time.Since(began) < 20*time.Millisecond {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
			if err := e.Send(frame.Event{ID: "1"}); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestWakeEndsAWait(t *testing.T) {
	begun, again := make(chan *Events), make(chan struct{})
	conn := waiting(t, func(e *Events) {
		e.Wake() // before the first: the next one ends at once
		if err := e.Wait(time.Hour); err != nil {
			t.Error(err)
		}
		begun <- e
		if err := e.Wait(time.Hour); err != nil {
			t.Error(err)
		}
		begun <- e
		<-again
		// Woken before it began, and only once.
		if err := e.Wait(time.Hour); err != nil {
			t.Error(err)
		}
		began := time.Now()
		if err := e.Wait(20 * time.Millisecond); err != nil || time.Since(began) < 20*time.Millisecond {
			t.Errorf("a Wait nobody woke ended after %v: %v", time.Since(began), err)
		}
	})
	e := <-begun
	await.Until(t, "the wait", func() bool { return goroutinesIn("(*detached).wait(") == 1 })
	// It is the only one, and what the client sends does not end it.
	if n := goroutinesIn("(*detached).watch("); n != 0 {
		t.Errorf("%d goroutines watch the client beside the one that waits", n)
	}
	if _, err := io.WriteString(conn, strings.Repeat("GET / HTTP/1.1\r\n\r\n", 10)); err != nil {
		t.Fatal(err)
	}
	e.Wake()
	<-begun
	e.Wake()
	close(again)
}

func TestWaitEndsWithTheClient(t *testing.T) {
	for name, before := range map[string]bool{"before it": true, "during it": false} {
		t.Run(name, func(t *testing.T) {
			begun, left := make(chan struct{}), make(chan struct{})
			conn := waiting(t, func(e *Events) {
				close(begun)
				if before {
					<-left
				}
				var late net.Error
				if err := e.Wait(time.Hour); err == nil || errors.As(err, &late) && late.Timeout() {
					t.Errorf("the wait ended with %v", err)
				}
			})
			<-begun
			_ = conn.Close()
			close(left)
		})
	}
}

// goroutinesIn counts those that have a function of this package on their stack.
func goroutinesIn(function string) int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), "transport/web."+function)
}

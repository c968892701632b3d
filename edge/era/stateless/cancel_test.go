package stateless

import (
	"context"
	"testing"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// connection is a router with a connection that many requests share.
type connection struct {
	router era.Router
	conn   mcp.Conn
}

// begin serves a message in a goroutine. admitted is closed once the next message may be served,
// and ended once the message has ended.
func (c *connection) begin(t *testing.T, body string) (r *recorder, admitted, ended chan struct{}) {
	r, admitted, ended = newRecorder(), make(chan struct{}), make(chan struct{})
	in := &mcp.Incoming{Body: []byte(body), Conn: &c.conn, Next: func() { close(admitted) }}
	go func() {
		defer close(ended)
		c.router.Post(t.Context(), in, r)
	}()
	return r, admitted, ended
}

func (c *connection) cancel(t *testing.T) {
	t.Helper()
	r, _, ended := c.begin(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"why not"}}`)
	if <-ended; !r.accepted {
		t.Error("the cancellation was answered")
	}
}

func TestCancelledCallSaysNothingMore(t *testing.T) {
	for name, emits := range map[string]bool{"before the first event": false, "on a stream": true} {
		t.Run(name, func(t *testing.T) {
			progress := mcp.Event{Method: mcp.NotifyProgress, Params: []byte(`{}`)}
			running := make(chan struct{})
			d := &fakeDispatch{call: func(ctx context.Context, call *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
				if call.Params.Target == "quick" {
					return mcp.Reply{Result: []byte(`{}`)}, nil
				}
				if emits {
					_ = sink.Emit(ctx, progress)
				}
				close(running)
				<-ctx.Done()
				if sink.Emit(ctx, progress) == nil {
					t.Error("an event was taken after the cancellation")
				}
				return mcp.Reply{Result: []byte(`{}`)}, nil
			}}
			c := &connection{router: era.Router{Stateless: newEra(t, d, Options{})}}
			b, _ := request("tools/call", `"name":"x"`)
			r, admitted, ended := c.begin(t, b)
			<-admitted
			<-running
			dup, _, dupEnded := c.begin(t, b)
			<-dupEnded
			contains(t, body(t, dup), `"id":7`, "-32600", "in use")
			c.cancel(t)
			<-ended
			if r.response != nil || emits && len(r.seen()) != 1 || !emits && r.opened {
				t.Errorf("response %v, events %v", r.response, r.seen())
			}
			// The id is free.
			b, _ = request("tools/call", `"name":"quick"`)
			again, _, ended := c.begin(t, b)
			<-ended
			contains(t, body(t, again), `"id":7,"result"`)
		})
	}
}

func TestCancelledListenSaysNothingMore(t *testing.T) {
	feed := newFeed()
	c := &connection{router: era.Router{Stateless: newEra(t, &fakeDispatch{feed: feed}, Options{})}}
	b, _ := request("subscriptions/listen", `"notifications":{}`)
	r, admitted, ended := c.begin(t, b)
	<-admitted
	<-r.wrote
	c.cancel(t)
	<-ended
	<-feed.done
	if got := r.seen(); len(got) != 1 {
		t.Errorf("events %v", got)
	}
}

func TestDrainNotifiesEndedListens(t *testing.T) {
	e := newEra(t, &fakeDispatch{feed: newFeed()}, Options{})
	c := &connection{router: era.Router{Stateless: e}}
	b, _ := request("subscriptions/listen", `"notifications":{}`)
	r, _, ended := c.begin(t, b)
	<-r.wrote
	e.Drain()
	<-ended
	got := r.seen()
	if len(got) != 3 {
		t.Fatalf("events %v", got)
	}
	const tag = `"_meta":{"io.modelcontextprotocol/subscriptionId":7}`
	if want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{` + tag + `,"requestId":7}}`; got[1] != want {
		t.Errorf("%s, want %s", got[1], want)
	}
	contains(t, got[2], `"id":7,"result":{"resultType":"complete"`)
}

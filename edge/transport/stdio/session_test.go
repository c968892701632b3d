package stdio

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// sessions is a server whose handshake makes sessions s1, s2 … and whose other answers name the
// session they came with.
func sessions() *server {
	n := 0
	return &server{
		post: func(_ context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
			switch {
			case msg.Method == "initialize":
				n++
				out.Session("s" + string(rune('0'+n)))
				answer(out, msg, `{}`)
			case msg.Kind == jsonrpc.Request:
				answer(out, msg, `"`+in.Session+`"`)
			default:
				out.Accept()
			}
		},
		listen: func(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
			st, _ := out.Open()
			_ = st.Send(mcp.StreamEvent{Data: []byte(`{"stream":"` + in.Session + `"}`)})
			<-ctx.Done()
		},
	}
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

func TestSessionIsRemembered(t *testing.T) {
	s := sessions()
	inBubble(t, s, Options{}, func(t *testing.T, c *client) {
		c.send(request(0, "m"), request(1, "initialize"), request(2, "initialize"))
		c.want(result(0, `""`), result(1, "{}"), result(2, "{}"))
		if got := s.sessionsEnded(); !slices.Equal(got, []string{"s1"}) {
			t.Errorf("ended: %q", got)
		}
		c.send(initialized)
		c.want(`{"stream":"s2"}`)
		c.send(request(3, "m"))
		c.want(result(3, `"s2"`))
		c.close()
		if got := s.sessionsEnded(); !slices.Equal(got, []string{"s1", "s2"}) {
			t.Errorf("ended: %q", got)
		}
	})
}

func TestStandaloneStreamWaitsForTheMessageAfterTheHandshake(t *testing.T) {
	inBubble(t, sessions(), Options{}, func(t *testing.T, c *client) {
		c.send(request(1, "initialize"))
		c.want(result(1, "{}"))
		time.Sleep(time.Hour)
		c.want()
		c.send(initialized)
		c.want(`{"stream":"s1"}`)
	})
}

func TestStandaloneStreamIsAttachedAgain(t *testing.T) {
	s := sessions()
	var gone atomic.Bool
	var attempts atomic.Int64
	s.listen = func(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) {
		attempts.Add(1)
		kind := mcp.KindStateUnavailable
		if gone.Load() {
			kind = mcp.KindSessionNotFound
		}
		out.Respond(mcp.Response{Body: []byte(`{"refused":1}`), Kind: kind})
	}
	inBubble(t, s, Options{}, func(t *testing.T, c *client) {
		c.send(request(1, "initialize"), initialized)
		c.want(result(1, "{}")) // the client is sent no refusal
		time.Sleep(time.Second)
		c.want()
		if n := attempts.Load(); n != 4 { // at 0, 100, 300 and 700 ms
			t.Errorf("%d attempts in a second", n)
		}
		gone.Store(true)
		time.Sleep(time.Hour)
		c.want()
		if n := attempts.Load(); n != 5 {
			t.Errorf("%d attempts", n)
		}
	})
}

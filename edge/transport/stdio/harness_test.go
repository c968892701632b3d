package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a Server that does what a test says.
type server struct {
	post   func(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing)
	listen func(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)

	mu    sync.Mutex
	ended []string
}

func (s *server) Post(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	msg, err := jsonrpc.Parse(in.Body)
	if err != nil {
		panic(err)
	}
	s.post(ctx, in, msg, out)
}

func (s *server) Listen(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	if s.listen == nil {
		out.Respond(mcp.Response{Body: []byte(`{"no":"stream"}`), Kind: mcp.KindSessionNotFound})
		return
	}
	s.listen(ctx, in, out)
}

func (s *server) End(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	if ctx.Err() != nil {
		panic("the end of a session has a context that ended")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, in.Session)
	out.Accept()
}

func (s *server) sessionsEnded() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ended)
}

// client is the other end of a connection.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *io.PipeReader
	stop  context.CancelFunc
	ended chan struct{}
	err   error

	mu  sync.Mutex
	got []string
}

// inBubble runs a test in virtual time with a client that reads.
func inBubble(t *testing.T, s *server, o Options, test func(t *testing.T, c *client)) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(1 << 40)
		o.Holder = b.Named("client")
		c := connect(t, s, o)
		go c.read()
		test(t, c)
		c.close()
		synctest.Wait()
		if used, holders := b.Used(); used != 0 || holders != 0 {
			t.Errorf("%d bytes of %d holders are held after the end", used, holders)
		}
	})
}

func connect(t *testing.T, s *server, o Options) *client {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	c := &client{t: t, in: toServer, out: fromServer, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.err = Serve(ctx, s, in, out, o)
	}()
	return c
}

// read collects lines; each is to be one JSON value.
func (c *client) read() {
	r := bufio.NewScanner(c.out)
	r.Buffer(nil, 1<<20)
	for r.Scan() {
		if !json.Valid(r.Bytes()) {
			c.t.Errorf("not JSON on the wire: %q", r.Text())
		}
		c.mu.Lock()
		c.got = append(c.got, r.Text())
		c.mu.Unlock()
	}
}

// close leaves as a client does, and waits for the server.
func (c *client) close() {
	_ = c.in.Close()
	<-c.ended
	c.stop()
	_ = c.out.Close()
}

// send writes lines and returns when nothing moves any more.
func (c *client) send(lines ...string) {
	c.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(c.in, l+"\n"); err != nil {
			c.t.Fatalf("writing %.80s: %v", l, err)
		}
	}
	synctest.Wait()
}

// later writes a line that the server may not take yet.
func (c *client) later(line string) {
	go func() { _, _ = io.WriteString(c.in, line+"\n") }()
}

// take returns what came since the last take.
func (c *client) take() []string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.got
	c.got = nil
	return got
}

func (c *client) want(lines ...string) {
	c.t.Helper()
	if got := c.take(); !slices.Equal(got, lines) {
		c.t.Errorf("got %q, want %q", got, lines)
	}
}

func request(id int, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method)
}

func result(id int, value string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, value)
}

// answer ends an exchange with a result.
func answer(out mcp.Outgoing, msg jsonrpc.Message, value string) {
	out.Respond(mcp.Response{Body: jsonrpc.AppendResult(nil, msg.ID, []byte(value))})
}

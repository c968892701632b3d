package app

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// silences2 are silences over HTTP/2.
var silences2 = []silence{
	{name: "half a preface", do: func(c *client) { c.send("PRI * HT") }, status: "HTTP/1.1 400", answered: 10 * s, gone: 10 * s},
	{name: "no SETTINGS", do: func(c *client) { c.http2(true, false) }, gone: 2 * s},
	{name: "no request", do: func(c *client) { c.http2(true, true) }, gone: 121 * s},
	{name: "no request, no answer to PING", do: func(c *client) { c.http2(false, true) }, gone: 45 * s},
	{name: "half a HEADERS", do: func(c *client) {
		h := c.http2(false, true)
		h.headers(1, "POST", false, false)
	}, gone: 45 * s},
	{name: "no DATA", do: func(c *client) {
		h := c.http2(true, true)
		h.headers(1, "POST", false, true)
	}, status: "1 400", answered: 30 * s, gone: 31 * s},
	{name: "half of the DATA", do: func(c *client) {
		h := c.http2(true, true)
		h.headers(1, "POST", false, true)
		h.data(1, "{")
	}, status: "1 400", answered: 30 * s, gone: 31 * s},
	{name: "DATA, byte by byte", do: func(c *client) {
		h := c.http2(true, true)
		h.headers(1, "POST", false, true)
		c.work.Go(func() {
			for h.data(1, " ") == nil && !c.answered() {
				time.Sleep(time.Second)
			}
		})
	}, status: "1 400", answered: 30 * s, gone: 31 * s},
	{name: "many streams without DATA", do: func(c *client) {
		h := c.http2(true, true)
		for i := range uint32(100) {
			h.headers(2*i+1, "POST", false, true)
		}
	}, status: "400", answered: 30 * s, gone: 31 * s},
	{name: "no DATA of a refused POST", do: func(c *client) {
		h := c.http2(true, true)
		h.headers(1, "POST", false, true, "content-type", "text/plain")
	}, status: "1 415", gone: 121 * s},
	{name: "no DATA of a DELETE", do: func(c *client) {
		h := c.http2(true, true)
		h.headers(1, "DELETE", false, true)
	}, status: "1 400", gone: 121 * s},
	{name: "no window for an open stream", do: func(c *client) {
		id := c.session()
		h := c.http2(true, true, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		h.headers(1, "GET", true, true, "mcp-session-id", id)
	}, status: "1 200", gone: 131 * s},
	{name: "reads nothing of an open stream", do: func(c *client) {
		id := c.session()
		c.deafAfter = "1 200"
		h := c.http2(true, true)
		h.headers(1, "GET", true, true, "mcp-session-id", id)
	}, status: "1 200", gone: 10 * s},
}

// TestSilentHTTP2 is TestSilentClients over HTTP/2.
func TestSilentHTTP2(t *testing.T) {
	clearOTel(t)
	for _, c := range silences2 {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.run(t, serveInMemory(t, false)) })
		})
	}
}

// session begins a session over a connection of its own.
func (c *client) session() string {
	other := c.l.dial(c.t)
	defer func() { _ = other.Close() }()
	return other.begin()
}

// http2Client speaks HTTP/2 over a client's connection.
type http2Client struct {
	c      *client
	framer *http2.Framer
	mu     sync.Mutex // guards writing
	header bytes.Buffer
	encode *hpack.Encoder
}

// http2 begins HTTP/2 and records the received statuses, each after its stream's number. polite
// means that it answers PING.
func (c *client) http2(polite, settings bool, values ...http2.Setting) *http2Client {
	h := &http2Client{c: c, framer: http2.NewFramer(c, c)}
	h.encode = hpack.NewEncoder(&h.header)
	h.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.hearing = true
	c.work.Go(func() { h.read(polite) })
	c.send(http2.ClientPreface)
	if settings {
		h.write(func() error { return h.framer.WriteSettings(values...) })
	}
	return h
}

func (h *http2Client) write(f func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return f()
}

func (h *http2Client) read(polite bool) {
	for {
		f, err := h.framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.PingFrame:
			if polite && !f.IsAck() {
				_ = h.write(func() error { return h.framer.WritePing(true, f.Data) })
			}
		case *http2.MetaHeadersFrame:
			said := fmt.Sprintf("%d %s", f.StreamID, f.PseudoValue("status"))
			h.c.note([]byte(said + "\n"))
			if said == h.c.deafAfter {
				return
			}
		}
	}
}

// headers sends a request's, or without whole the half of it.
func (h *http2Client) headers(stream uint32, method string, end, whole bool, more ...string) {
	h.header.Reset()
	fields := append([]string{":method", method, ":path", "/mcp", ":scheme", "http", ":authority", "localhost"}, more...)
	if method == "POST" && len(more) == 0 {
		fields = append(fields, "content-type", "application/json")
	}
	for i := 0; i < len(fields); i += 2 {
		_ = h.encode.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	err := h.write(func() error {
		return h.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: h.header.Bytes(), EndStream: end, EndHeaders: whole})
	})
	if err != nil && err != io.ErrClosedPipe {
		h.c.t.Error(err)
	}
}

func (h *http2Client) data(stream uint32, text string) error {
	return h.write(func() error { return h.framer.WriteData(stream, false, []byte(text)) })
}

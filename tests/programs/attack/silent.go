package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/net/http2"
)

// patience is how long the second table waits for a client to be disconnected.
const patience = 150 * time.Second

// The bounds that end clients, as they are by default.
var (
	boundHeader = bound{"the header's 10 s", headerTimeout}
	boundRead   = bound{"listen.read-timeout", 30 * time.Second}
	boundWrite  = bound{"listen.write-timeout", 10 * time.Second}
	boundIdle   = bound{"the idle connection's 2 m", 2 * time.Minute}
	// A stream of HTTP/2 that nobody reads ends by itself; its connection is idle then.
	boundStream = bound{"write-timeout, then idle", 2*time.Minute + 10*time.Second}
)

type bound struct {
	name string
	due  time.Duration
}

// silence is a kind of client that is slow, deaf or silent.
type silence struct {
	kind  string
	admin bool // on the admin listener too
	bound bound
	// begin does what the client does at first.
	begin func(ctx context.Context, e *edge, c net.Conn) error
	// goOn is done every second, until it fails; nil: nothing.
	goOn func(c net.Conn) error
}

func says(text string) func(context.Context, *edge, net.Conn) error {
	return func(_ context.Context, _ *edge, c net.Conn) error {
		_, err := io.WriteString(c, text)
		return err
	}
}

func saysOn(text string) func(net.Conn) error {
	return func(c net.Conn) error {
		_, err := io.WriteString(c, text)
		return err
	}
}

func reads(c net.Conn) error {
	_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// silences are the kinds beside those of unreadBodies, which wait for read-timeout.
var silences = []silence{
	{"connects and says nothing", true, boundHeader, says(""), nil},
	{"half a request line", true, boundHeader, says("POST /m"), nil},
	{"a header of a byte a second", true, boundHeader, says("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "), saysOn("z")},
	{"a header without an end", true, boundHeader, says("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"), nil},
	{"a request, then silence", true, boundIdle, says("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), nil},
	{"a request, then half of another", true, boundHeader, says("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /he"), nil},
	{"a body of a byte a second", true, boundRead, says("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"), saysOn("z")},
	{"chunks of a byte a second", true, boundRead, says("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"), saysOn("1\r\nz\r\n")},
	{"deaf to a large result", false, boundWrite, asksFor("large", ""), nil},
	{"a byte a second of a large result", false, boundWrite, asksFor("large", ""), reads},
	{"deaf to a stream of events, no session", false, boundWrite, asksFor("endless", `,"progressToken":1`), nil},
	{"deaf to a stream of events, of a session", false, boundWrite, deafSession, nil},
	{"HTTP+SSE: deaf to its stream", false, boundWrite, deafSSE, nil},
	{"deaf to the answers of pipelined requests", true, boundWrite, pipeline("/nowhere"), nil},
	{"deaf to the answers of /metrics", true, boundWrite, pipeline("/metrics"), nil},
	{"HTTP/2: half a preface", false, boundHeader, says(http2.ClientPreface[:10]), nil},
	{"HTTP/2: a preface, then silence", false, boundHeader, says(http2.ClientPreface), nil},
	{"HTTP/2: settings, then silence", false, boundIdle, framesOf(func(*http2Frames) error { return nil }), nil},
	{"HTTP/2: headers without an end", false, boundIdle, framesOf(func(f *http2Frames) error {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.block()})
	}), nil},
	{"HTTP/2: half a frame", false, boundIdle, framesOf(func(f *http2Frames) error {
		_, err := f.conn.Write([]byte{0, 1, 0, 1, 4, 0, 0, 0, 1}) // the header of a HEADERS frame
		return err
	}), nil},
	{"HTTP/2: deaf to large results", false, boundStream, framesOf(deafHTTP2), nil},
}

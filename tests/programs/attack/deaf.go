package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// What the deaf clients of the second table do at first; none of them reads what comes.

// asksFor calls a tool without a session.
func asksFor(tool, metaMembers string) func(context.Context, *edge, net.Conn) error {
	return func(_ context.Context, _ *edge, c net.Conn) error {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":` + meta(metaMembers) + callMembers(tool, "{}") + `}}`
		_, err := io.WriteString(c, rawPost(body, modernHeader("tools/call", tool)...))
		return err
	}
}

// deafSession calls a tool that sends events, in a session.
func deafSession(ctx context.Context, e *edge, c net.Conn) error {
	r := newRogue(e.url(), "127.0.0.5")
	defer r.close()
	id, err := r.hello(ctx, `{"name":"deaf","version":"1"}`)
	if err != nil {
		return err
	}
	_, err = io.WriteString(c, rawPost(r.legacyBody("tools/call", `{"name":"endless","arguments":{},"_meta":{"progressToken":1}}`), sessionHeader(id)...))
	return err
}

// deafSSE opens a stream of HTTP+SSE, reads its first event only, and has a large result sent there.
func deafSSE(ctx context.Context, e *edge, c net.Conn) error {
	if _, err := io.WriteString(c, "GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"); err != nil {
		return err
	}
	var path string
	for in := bufio.NewReaderSize(c, 16); path == ""; {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		path, _ = strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !strings.HasPrefix(line, "data: ") {
			path = ""
		}
	}
	r := newRogue("http://"+e.Addr+path, "127.0.0.5")
	defer r.close()
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"deaf","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"large","arguments":{}}}`,
	} {
		if a, err := r.send(ctx, http.MethodPost, body); err != nil || a.status != http.StatusAccepted {
			return fmt.Errorf("%s: %v %+v", path, err, a)
		}
	}
	return nil
}

// pipeline sends so many requests that their answers fill every buffer on their way.
func pipeline(path string) func(context.Context, *edge, net.Conn) error {
	return func(_ context.Context, _ *edge, c net.Conn) error {
		many := []byte(strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 1000))
		go func() {
			for {
				if _, err := c.Write(many); err != nil {
					return
				}
			}
		}()
		return nil
	}
}

// http2Frames writes frames and nothing else.
type http2Frames struct {
	*http2.Framer
	conn net.Conn
}

// block encodes the fields of a POST to the endpoint.
func (*http2Frames) block(fields ...string) []byte {
	var b bytes.Buffer
	w := hpack.NewEncoder(&b)
	all := append([]string{":method", "POST", ":scheme", "http", ":authority", "127.0.0.1", ":path", "/mcp"}, fields...)
	for i := 0; i+1 < len(all); i += 2 {
		_ = w.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]}) // into memory
	}
	return b.Bytes()
}

// framesOf begins HTTP/2 and writes.
func framesOf(do func(*http2Frames) error) func(context.Context, *edge, net.Conn) error {
	return func(_ context.Context, _ *edge, c net.Conn) error {
		f := &http2Frames{http2.NewFramer(c, nil), c}
		if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
			return err
		}
		if err := f.WriteSettings(); err != nil {
			return err
		}
		return do(f)
	}
}

// deafHTTP2 opens every window, so that what holds the edge back is the connection itself.
func deafHTTP2(f *http2Frames) error {
	if err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1}); err != nil {
		return err
	}
	if err := f.WriteWindowUpdate(0, 1<<30); err != nil {
		return err
	}
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":` + meta("") + callMembers("large", "{}") + `}}`)
	for stream := uint32(1); stream < 9; stream += 2 {
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: f.block(callFields("large")...), EndHeaders: true}); err != nil {
			return err
		}
		if err := f.WriteData(stream, true, body); err != nil {
			return err
		}
	}
	return nil
}

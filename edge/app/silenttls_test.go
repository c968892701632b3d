package app

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
)

// silencesTLS are silences over TLS.
var silencesTLS = []silence{
	{name: "no TLS handshake", admin: true, do: func(*client) {}, gone: 10 * s},
	{name: "half a ClientHello", admin: true, do: func(c *client) {
		hello := clientHello(c.t)
		c.send(hello[:len(hello)/2])
	}, gone: 10 * s},
	{name: "a ClientHello, byte by byte", admin: true, do: func(c *client) {
		hello := clientHello(c.t)
		c.send(hello[:5])
		c.work.Go(func() {
			for _, b := range []byte(hello[5:]) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
	}, gone: 10 * s},
	{name: "nothing after a ClientHello", admin: true, do: func(c *client) {
		c.isDeaf = true
		c.send(clientHello(c.t))
	}, gone: 10 * s},
	{name: "nothing after the TLS handshake, over HTTP/1.1", admin: true, do: func(c *client) { c.shake("http/1.1") }, gone: 10 * s},
	{name: "nothing after the TLS handshake, over HTTP/2", admin: true, do: func(c *client) { c.shake("h2") }, gone: 10 * s},
	{name: "no SETTINGS over TLS", admin: true, do: func(c *client) {
		conn := c.shake("h2")
		_, _ = io.WriteString(conn, http2.ClientPreface)
	}, gone: 2 * s},
}

// TestSilentTLS is TestSilentClients over TLS.
func TestSilentTLS(t *testing.T) {
	clearOTel(t)
	p, dir := authority.New(t, "ca").Server(t), t.TempDir()
	cfg := config.Default()
	cfg.Listen.TLS = config.ListenerTLS{Cert: authority.File(t, filepath.Join(dir, "cert"), p.Cert), Key: authority.File(t, filepath.Join(dir, "key"), p.Key)}
	cfg.Admin.TLS = cfg.Listen.TLS
	for _, row := range silencesTLS {
		for name, admin := range map[string]bool{"MCP": false, "admin": true} {
			t.Run(row.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := serveInMemoryWith(t, admin, cfg)
					c := l.dial(t)
					row.do(c)
					synctest.Wait() // the connection is accepted
					for l.accepted.Open() > 0 {
						time.Sleep(10 * time.Millisecond)
						synctest.Wait()
					}
					if got := time.Since(c.began).Truncate(s / 10); got != row.gone {
						t.Errorf("gone after %s, want %s", got, row.gone)
					}
				})
			})
		}
	}
}

// shake makes the handshake for a protocol, and reads on in the background.
func (c *client) shake(protocol string) *tls.Conn {
	conn := tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}})
	if err := conn.Handshake(); err != nil {
		c.t.Error(err)
		return conn
	}
	if got := conn.ConnectionState().NegotiatedProtocol; got != protocol {
		c.t.Errorf("%q was chosen, want %q", got, protocol)
	}
	c.work.Go(func() { _, _ = io.Copy(io.Discard, conn) })
	return conn
}

// clientHello is the first message of a client.
func clientHello(t *testing.T) string {
	var hello recorder
	if err := tls.Client(&hello, &tls.Config{ServerName: "localhost"}).Handshake(); err == nil {
		t.Error("the recorder has answered")
	}
	return hello.String()
}

// recorder is a connection that takes all and answers nothing.
type recorder struct {
	net.Conn
	bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error)      { return r.Buffer.Write(p) }
func (r *recorder) Read([]byte) (int, error)         { return 0, io.EOF }
func (r *recorder) SetReadDeadline(time.Time) error  { return nil }
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }
func (r *recorder) Close() error                     { return nil }

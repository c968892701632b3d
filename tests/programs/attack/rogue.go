package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const (
	modernVersion = "2026-07-28"
	legacyVersion = "2025-11-25"
	// capabilities are all that a client can be asked for.
	capabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}`
)

// rogue is a client with an address of its own, which need not be honest. Safe for concurrent use.
type rogue struct {
	// urls are endpoints of replicas. turn chooses one for each request, by a sequence without a period (of Thue and Morse): whatever a case repeats, it
	// meets both. host is the address of the first.
	urls   []string
	turn   atomic.Uint64
	host   string
	dialer *net.Dialer
	http   *http.Client
	http2  bool // a response over another version is an error
	next   atomic.Int64
	// authorization gives the header of that name for each request; nil: there is none.
	authorization func() string
}

// newRogue makes a client that calls from ip, one of 127.0.0.0/8.
func newRogue(endpoint, ip string) *rogue {
	u, err := url.Parse(endpoint)
	if err != nil {
		panic(err)
	}
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}, Timeout: 10 * time.Second}
	t := &http.Transport{DialContext: d.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 1000}
	return &rogue{urls: []string{endpoint}, host: u.Host, dialer: d, http: &http.Client{Transport: t}}
}

// useHTTP2 makes the client speak HTTP/2 alone: over TLS with a server that has that certificate, in the clear without one.
func (r *rogue) useHTTP2(server *certificate) {
	t := r.http.Transport.(*http.Transport)
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP2(server != nil)
	t.Protocols.SetUnencryptedHTTP2(server == nil)
	if server != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: server.pool, MinVersion: tls.VersionTLS12}
	}
	r.http2 = true
}

// at is the same caller at one replica, with the connections of r.
func (r *rogue) at(replica int) *rogue {
	c := &rogue{urls: r.urls[replica : replica+1], host: r.host, dialer: r.dialer, http: r.http, http2: r.http2, authorization: r.authorization}
	c.next.Store(r.next.Load() + int64(replica+1)<<32)
	return c
}

// each does something as the caller at each replica.
func (r *rogue) each(do func(*rogue) error) (err error) {
	for i := range r.urls {
		if e := do(r.at(i)); e != nil {
			err = errors.Join(err, fmt.Errorf("at replica %d: %w", i, e))
		}
	}
	return err
}

// rogue is an attacker from an address that no other had.
func (s *site) rogue() *rogue {
	return newRogue(s.edge.url(), s.freshAddr())
}

// freshAddr is an address that no other attacker had.
func (s *site) freshAddr() string {
	n := s.addr.Add(1)
	return fmt.Sprintf("127.0.%d.%d", 2+n/250%250, 1+n%250)
}

func (r *rogue) close() { r.http.CloseIdleConnections() }

// dial opens a connection to the MCP listener.
func (r *rogue) dial(ctx context.Context) (net.Conn, error) {
	return r.dialer.DialContext(ctx, "tcp", r.host)
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// String is for errors.
func (a *answer) String() string {
	if a == nil {
		return "no answer"
	}
	return fmt.Sprintf("%d %.300s", a.status, a.body)
}

// bodyMost is how much of a body is read: more than any that an edge may send.
const bodyMost = 64 << 20

// open sends a request and leaves its response unread. Headers come in pairs.
func (r *rogue) open(ctx context.Context, method, body string, header ...string) (*http.Response, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	url := r.urls[bits.OnesCount64(r.turn.Add(1))%len(r.urls)]
	req, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		h.Set("Content-Type", "application/json")
	}
	if r.authorization != nil {
		h.Set("Authorization", r.authorization())
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		h.Set(header[i], header[i+1])
	}
	resp, err := r.http.Do(req)
	if err == nil && r.http2 != (resp.ProtoMajor == 2) {
		_ = resp.Body.Close()
		err = fmt.Errorf("the answer came over %s", resp.Proto)
	}
	return resp, err
}

// send sends a request and reads its response.
func (r *rogue) send(ctx context.Context, method, body string, header ...string) (*answer, error) {
	resp, err := r.open(ctx, method, body, header...)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(io.LimitReader(resp.Body, bodyMost))
	return &answer{resp.StatusCode, resp.Header, b.Bytes()}, err
}

// modern sends a request of the revision without sessions. members are those of params beside `_meta`,
// with a comma before them, or empty.
func (r *rogue) modern(ctx context.Context, method, name, members string) (*answer, error) {
	return r.send(ctx, http.MethodPost, r.modernBody(method, members), modernHeader(method, name)...)
}

func (r *rogue) modernBody(method, members string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":%s%s}}`, r.next.Add(1), method, meta(""), members)
}

// meta is `_meta` of a modern request, with more members if any, each with a comma before it.
func meta(more string) string {
	return `{"io.modelcontextprotocol/protocolVersion":"` + modernVersion + `","io.modelcontextprotocol/clientCapabilities":` + capabilities + more + `}`
}

func modernHeader(method, name string) []string {
	h := []string{"Mcp-Protocol-Version", modernVersion, "Mcp-Method", method}
	if name != "" {
		h = append(h, "Mcp-Name", name)
	}
	return h
}

// call calls a tool without a session.
func (r *rogue) call(ctx context.Context, tool, arguments string) (*answer, error) {
	return r.modern(ctx, "tools/call", tool, callMembers(tool, arguments))
}

func callMembers(tool, arguments string) string {
	return `,"name":"` + tool + `","arguments":` + arguments
}

// hello begins a session and returns its id.
func (r *rogue) hello(ctx context.Context, info string) (string, error) {
	a, err := r.initialize(ctx, info)
	if err != nil {
		return "", err
	}
	id := a.header.Get("Mcp-Session-Id")
	if a.status != http.StatusOK || id == "" {
		return "", fmt.Errorf("initialize: status %d: %.200s", a.status, a.body)
	}
	a, err = r.send(ctx, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, sessionHeader(id)...)
	if err == nil && a.status != http.StatusAccepted {
		err = fmt.Errorf("initialized: status %d: %.200s", a.status, a.body)
	}
	return id, err
}

// initialize asks for a session and returns whatever comes.
func (r *rogue) initialize(ctx context.Context, info string) (*answer, error) {
	return r.send(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+legacyVersion+
		`","capabilities":`+capabilities+`,"clientInfo":`+info+`}}`)
}

func sessionHeader(id string) []string {
	return []string{"Mcp-Session-Id", id, "Mcp-Protocol-Version", legacyVersion}
}

// legacy sends a request of a session.
func (r *rogue) legacy(ctx context.Context, session, method, params string) (*answer, error) {
	return r.send(ctx, http.MethodPost, r.legacyBody(method, params), sessionHeader(session)...)
}

func (r *rogue) legacyBody(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, r.next.Add(1), method, params)
}

// together does something n times at the same time, by so many workers, and joins the errors.
func together(n, workers int, do func(int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	done := make(chan struct{})
	for range workers {
		go func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = do(i)
			}
			done <- struct{}{}
		}()
	}
	for range workers {
		<-done
	}
	return collect(errs)
}

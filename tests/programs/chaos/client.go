package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

const (
	version = "2025-11-25"
	// patience is how long one call may take before it counts as hanging.
	patience = 60 * time.Second
	// retryDefault is the pause before a stream is asked for again when none was told.
	retryDefault = time.Second
	// lingering is how long a stream may stay open after the response.
	lingering = 5 * time.Second
)

// client is one user of the edge: a session, and one call after the other.
type client struct {
	number  int
	url     string
	http    *http.Client
	session string
	key     string     // of its principal; empty: it has none
	random  *rand.Rand // of the client's own goroutine
	counts  *traffic
	ids     int

	calls []*call
}

// traffic counts what happens to all clients.
type traffic struct {
	mu sync.Mutex
	n  map[string]int
}

func (t *traffic) add(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[what]++
}

func newClient(number int, url string, seed uint64, h *http.Client, t *traffic) *client {
	return &client{number: number, url: url, http: h, counts: t, random: rand.New(rand.NewPCG(seed, uint64(number)))}
}

// send makes one HTTP request.
func (c *client) send(ctx context.Context, method, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := req.Header
	switch method {
	case http.MethodPost:
		h.Set("Content-Type", "application/json")
		h.Set("Accept", "application/json, text/event-stream")
	case http.MethodGet:
		req.Body, req.ContentLength = http.NoBody, 0
		h.Set("Accept", "text/event-stream")
	}
	if c.key != "" {
		h.Set("Authorization", "Bearer "+c.key)
	}
	if c.session != "" {
		h.Set("Mcp-Session-Id", c.session)
		h.Set("Mcp-Protocol-Version", version)
	}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return c.http.Do(req)
}

// plain sends a request until it is neither cut nor put off, and returns the last answer's status and
// body.
func (c *client) plain(ctx context.Context, method, body string) (status int, header http.Header, text string, err error) {
	for {
		resp, err := c.send(ctx, method, body)
		if err != nil {
			return 0, nil, "", err
		}
		raw, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		pause, again := putOff(resp)
		if !again && err == nil {
			return resp.StatusCode, resp.Header, string(raw), nil
		}
		if !sleep(ctx, max(pause, 100*time.Millisecond)) {
			return resp.StatusCode, nil, string(raw), ctx.Err()
		}
	}
}

// putOff says whether a request was cut or put off, and how long to wait before it is sent again.
func putOff(resp *http.Response) (time.Duration, bool) {
	switch resp.StatusCode {
	case http.StatusBadGateway:
		return 100 * time.Millisecond, true
	case http.StatusServiceUnavailable:
		seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		return time.Duration(seconds) * time.Second, err == nil
	}
	return 0, false
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// connect begins the session.
func (c *client) connect(ctx context.Context) error {
	status, header, body, err := c.plain(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"`+version+
		`","capabilities":{"elicitation":{}},"clientInfo":{"name":"chaos","version":"1"}}}`)
	if err != nil || status != http.StatusOK || header.Get("Mcp-Session-Id") == "" {
		return fmt.Errorf("client %d: initialize: status %d, %v: %.200s", c.number, status, err, body)
	}
	c.session = header.Get("Mcp-Session-Id")
	status, _, body, err = c.plain(ctx, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if err != nil || status != http.StatusAccepted {
		return fmt.Errorf("client %d: initialized: status %d, %v: %.200s", c.number, status, err, body)
	}
	return nil
}

// work makes calls until stop is closed, and ends the last one.
func (c *client) work(ctx context.Context, stop <-chan struct{}) {
	for n := 1; ; n++ {
		select {
		case <-time.After(time.Duration(c.random.Int64N(int64(1500 * time.Millisecond)))):
		case <-stop:
			return
		case <-ctx.Done():
			return
		}
		tool := "countdown"
		if c.random.IntN(2) == 0 {
			tool = "book_trip"
		}
		c.do(ctx, tool, n)
	}
}

// do makes one call, and makes it anew, with a new id, as long as it was cut or refused before it had an
// event id.
func (c *client) do(ctx context.Context, tool string, n int) {
	for times := 1; ctx.Err() == nil; times++ {
		x := &exchange{
			client: c, retry: retryDefault,
			call: &call{tag: fmt.Sprintf("%d-%d-%d", c.number, n, times), tool: tool, session: c.session},
		}
		c.calls = append(c.calls, x.call)
		pause := x.run(ctx)
		if f := x.call.fate; f != cut && f != rejected {
			return
		}
		sleep(ctx, pause)
	}
}

// disconnect ends the session.
func (c *client) disconnect(ctx context.Context) error {
	status, _, body, err := c.plain(ctx, http.MethodDelete, "")
	if err != nil || status != http.StatusNoContent && status != http.StatusNotFound {
		return fmt.Errorf("client %d: DELETE: status %d, %v: %.200s", c.number, status, err, body)
	}
	return nil
}

// message is a JSON-RPC message as far as the client needs it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Progress float64 `json:"progress"`
		Token    string  `json:"progressToken"`
		Message  string  `json:"message"`
	} `json:"params"`
	Result *struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool `json:"isError"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// servedBy is the incarnation that a request went to.
func servedBy(resp *http.Response) string { return resp.Header.Get(replicas.ServedBy) }

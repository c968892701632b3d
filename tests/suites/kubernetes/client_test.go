//go:build kubernetes && linux

package kubernetes

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The revisions of the clients: the last with sessions, and the one without.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// place is where clients call: a URL, the address to connect to in place of asking DNS for its host, and who vouches for it, if it is https.
type place struct {
	url, addr string
	roots     *x509.CertPool
}

// client is one user of the edge, with connections of its own. It makes one call after the other.
type client struct {
	url, revision string
	// resumes: it comes back to a stream that broke, with Last-Event-ID. Others never do.
	resumes bool
	http    *http.Client
	session string
	ids     int
}

func newClient(at place, revision string, resumes bool) *client {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, at.addr)
	}
	return &client{
		url: at.url, revision: revision, resumes: resumes,
		http: &http.Client{Transport: &http.Transport{
			DialContext: dial, DisableCompression: true, TLSClientConfig: &tls.Config{RootCAs: at.roots}, ForceAttemptHTTP2: true,
		}},
	}
}

// answer is what became of one call.
type answer struct {
	// text of the result.
	text string
	// gap is the longest time without anything from the edge.
	gap time.Duration
	// before is how many events had come before it.
	before int
	// identified: an event with an id came.
	identified bool
	// resumed is how often the stream was asked for again.
	resumed int
}

// message is a JSON-RPC message as far as a client needs it.
type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result *struct {
		Content []struct{ Text string }
		IsError bool
		Tools   []struct{ Name string }
	}
	Error *struct {
		Code    int
		Message string
	}
}

// errBroken is that of a connection that broke, or of a request that was put off: before an event id it is the client's to send again.
var errBroken = errors.New("broken")

// connect begins a session, in the revision that has them.
func (c *client) connect(ctx context.Context) error {
	if c.revision == modern {
		return nil
	}
	resp, err := c.send(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"`+legacy+
		`","capabilities":{},"clientInfo":{"name":"kubernetes","version":"1"}}}`)
	if err != nil {
		return err
	}
	body, err := finish(resp)
	if c.session = resp.Header.Get("Mcp-Session-Id"); err != nil || resp.StatusCode != http.StatusOK || c.session == "" {
		return fmt.Errorf("initialize: %s: %s, %w", resp.Status, body, err)
	}
	resp, err = c.send(ctx, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if err != nil {
		return err
	}
	if body, err = finish(resp); err != nil || resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("initialized: %s: %s, %w", resp.Status, body, err)
	}
	return nil
}

func finish(resp *http.Response) (string, error) {
	body, err := io.ReadAll(resp.Body)
	return string(body), errors.Join(err, resp.Body.Close())
}

// send makes one HTTP request. Headers come in pairs.
func (c *client) send(ctx context.Context, method, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Accept", "text/event-stream")
	if method == http.MethodPost {
		h.Set("Accept", "application/json, text/event-stream")
		h.Set("Content-Type", "application/json")
	}
	if c.session != "" {
		h.Set("Mcp-Session-Id", c.session)
	}
	if c.session != "" || c.revision == modern {
		h.Set("Mcp-Protocol-Version", c.revision)
	}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	return resp, nil
}

// request is the body of a request, and its headers. params are members of params, without braces.
func (c *client) request(method, name, params string) (id, body string, header []string) {
	c.ids++
	id = strconv.Itoa(c.ids)
	meta := `"progressToken":"p"`
	if c.revision == modern {
		meta += `,"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientCapabilities":{}`
		header = []string{"Mcp-Method", method}
		if name != "" {
			header = append(header, "Mcp-Name", name)
		}
	}
	if params != "" {
		params = "," + params
	}
	return id, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"_meta":{%s}%s}}`, id, method, meta, params), header
}

// call calls a tool. An error that is errBroken came from a connection.
func (c *client) call(ctx context.Context, tool, arguments string) (*answer, error) {
	a := &answer{}
	m, err := c.do(ctx, a, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments))
	switch {
	case err != nil:
		return a, err
	case m.Error != nil:
		return a, fmt.Errorf("error %d: %s", m.Error.Code, m.Error.Message)
	case m.Result == nil || m.Result.IsError || len(m.Result.Content) != 1:
		return a, fmt.Errorf("result %+v", m.Result)
	}
	a.text = m.Result.Content[0].Text
	return a, nil
}

// tools are the names of the tools that are listed.
func (c *client) tools(ctx context.Context) (names []string, err error) {
	m, err := c.do(ctx, &answer{}, "tools/list", "", "")
	if err == nil && (m.Error != nil || m.Result == nil) {
		err = fmt.Errorf("tools/list: %+v", m)
	}
	if err != nil {
		return nil, err
	}
	for _, t := range m.Result.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

// do makes a request, follows its stream if there is one, and returns its response.
func (c *client) do(ctx context.Context, a *answer, method, name, params string) (*message, error) {
	id, body, header := c.request(method, name, params)
	last := time.Now()
	events := 0
	seen := func(field string) {
		gap := time.Since(last)
		if gap > a.gap {
			a.gap, a.before = gap, events
		}
		if field == "data" {
			events++
		}
		last = last.Add(gap)
	}
	defer seen("")
	resp, err := c.send(ctx, http.MethodPost, body, header...)
	for lastID, retry := "", time.Second; ; a.resumed++ {
		if err == nil {
			var m *message
			if m, err = c.receive(resp, id, &lastID, &retry, seen); err == nil {
				return m, nil
			}
		}
		a.identified = lastID != ""
		if !errors.Is(err, errBroken) || !a.identified || !c.resumes || ctx.Err() != nil {
			return nil, err
		}
		select {
		case <-time.After(retry):
		case <-ctx.Done():
		}
		resp, err = c.send(ctx, http.MethodGet, "", "Last-Event-Id", lastID)
	}
}

// receive reads a response or a stream until the message with an id.
func (c *client) receive(resp *http.Response, id string, lastID *string, retry *time.Duration, seen func(string)) (*message, error) {
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		err := fmt.Errorf("%s: %s", resp.Status, body)
		if resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusBadGateway {
			err = fmt.Errorf("%w: %w", errBroken, err)
		}
		return nil, err
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		m := &message{}
		if err := json.NewDecoder(resp.Body).Decode(m); err != nil {
			return nil, fmt.Errorf("%w: %w", errBroken, err)
		}
		return m, nil
	}
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("%w: the stream: %w", errBroken, err)
		}
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		seen(name)
		switch name {
		case "id":
			*lastID = value
		case "retry":
			if ms, err := strconv.Atoi(value); err == nil {
				*retry = time.Duration(ms) * time.Millisecond
			}
		case "data":
			m := &message{}
			if err := json.Unmarshal([]byte(value), m); value != "" && err != nil {
				return nil, fmt.Errorf("an event: %w: %s", err, value)
			}
			if m.Method == "" && string(m.ID) == id {
				return m, nil
			}
		}
	}
}

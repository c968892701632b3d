package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
)

var forgeryAttacks = []attack{
	{name: "smuggling", what: "requests that two readers would end at different places", run: smuggling},
	{name: "rebinding", what: "foreign hosts and origins, on both listeners", run: rebinding},
	{name: "forged-sessions", what: "ids of sessions that are guessed, empty, long, or somebody else's stream", run: forgedSessions},
	{name: "forged-events", what: "Last-Event-ID that nobody gave out, with epochs beyond counting", run: forgedEvents},
	{name: "forged-cursors", what: "cursors that nobody gave out", run: forgedCursors},
	{name: "forged-state", what: "requestState that was changed, or is of another call", run: forgedState},
}

// smuggling sends ambiguous requests with a second one in what may be their body: there is at most one answer,
// and the connection ends, unless both lengths agree.
func smuggling(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	const inner = "GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
	base := "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
	for name, text := range map[string]string{
		"two lengths":            base + "Content-Length: 5\r\nContent-Length: 50\r\n\r\n" + inner,
		"length and chunks":      base + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
		"an unknown encoding":    base + "Transfer-Encoding: xchunked\r\n\r\n" + inner,
		"two encodings":          base + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + inner,
		"a space in the name":    base + "Content-Length : 5\r\n\r\n" + inner,
		"a line that goes on":    base + "X-A: 1\r\n Transfer-Encoding: chunked\r\n\r\n" + inner,
		"a signed length":        base + "Content-Length: +5\r\n\r\n" + inner,
		"line feeds in chunks":   base + "Transfer-Encoding: chunked\r\n\r\n0\n\n" + inner,
		"a length with a space":  base + "Content-Length: 5 5\r\n\r\n" + inner,
		"a null in a header":     base + "X-A: a\x00b\r\nContent-Length: 0\r\n\r\n" + inner,
		"HTTP/1.0 and chunks":    strings.Replace(base, "1.1", "1.0", 1) + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
		"upgrade to h2c":         base + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Length: 2\r\n\r\n{}",
		"no host":                "GET /mcp HTTP/1.1\r\n\r\n" + inner,
		"two hosts":              "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n" + inner,
		"an absolute evil name":  "GET http://evil.example/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
		"a request without name": "GET\r\n\r\n" + inner,
	} {
		conn, err := r.dial(ctx)
		if err != nil {
			return err
		}
		if _, err = io.WriteString(conn, text); err == nil {
			_ = conn.SetReadDeadline(time.Now().Add(readTimeout + slack))
			err = noSmuggling(conn)
		}
		_ = conn.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// noSmuggling reads the first answer: it refuses, and nothing comes after it.
func noSmuggling(conn io.Reader) error {
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return nil // closed without a word
	}
	if resp.StatusCode < 400 {
		return fmt.Errorf("it is taken: %s", resp.Status)
	}
	_, _ = io.Copy(io.Discard, resp.Body) // it may be cut
	_ = resp.Body.Close()
	if !resp.Close {
		// The connection goes on: then what follows must be no second answer, or one that both sides agree about.
		return nil
	}
	if second, err := http.ReadResponse(in, nil); err == nil {
		return fmt.Errorf("a second answer comes: %s", second.Status)
	}
	return nil
}

func rebinding(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	body := r.modernBody("tools/call", callMembers("echo", `{"text":"stolen"}`))
	for _, c := range []struct{ name, value string }{
		{"Host", "evil.example"}, {"Host", "127.0.0.1.evil.example"}, {"Host", "localhost.evil.example:8080"}, {"Host", "0.0.0.0"}, {"Host", "[::ffff:7f00:1]"},
		{"Origin", "http://evil.example"}, {"Origin", "null"}, {"Origin", "http://127.0.0.1.evil.example"}, {"Origin", "file://"},
		{"Origin", "http://127.0.0.1@evil.example"}, {"Origin", "chrome-extension://abc"},
	} {
		a, err := r.send(ctx, http.MethodPost, body, append(modernHeader("tools/call", "echo"), c.name, c.value)...)
		if err != nil {
			return err
		}
		if a.status < 400 || a.status >= 500 || bytes.Contains(a.body, []byte("stolen")) {
			return fmt.Errorf("%s: %s is served: %d %.200s", c.name, c.value, a.status, a.body)
		}
		admin := newRogue("http://"+s.edge.Admin+"/v1/tools/echo:call", "127.0.0.3")
		a, err = admin.send(ctx, http.MethodPost, `{"arguments":{"text":"stolen"}}`, c.name, c.value)
		admin.close()
		if err != nil {
			return err
		}
		if a.status < 400 || a.status >= 500 || bytes.Contains(a.body, []byte("stolen")) {
			return fmt.Errorf("the admin listener, %s: %s is served: %d %.200s", c.name, c.value, a.status, a.body)
		}
	}
	return nil
}

func forgedSessions(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	id, err := r.hello(ctx, `{"name":"forging","version":"1"}`)
	if err != nil {
		return err
	}
	defer func() { _, _ = r.send(ctx, http.MethodDelete, "", sessionHeader(id)...) }()
	changed := []byte(id)
	changed[len(changed)-1] ^= 1
	for _, forged := range []string{string(changed), id[:len(id)-1], id + "A", strings.ToUpper(id) + "_", "../" + id, id + "}", "{" + id + "}", "*", strings.Repeat("a", 60_000), "\u00e9"} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			body := ""
			if method == http.MethodPost {
				body = r.legacyBody("tools/call", `{"name":"echo","arguments":{"text":"stolen"}}`)
			}
			a, err := r.send(ctx, method, body, sessionHeader(forged)...)
			if err != nil {
				return fmt.Errorf("%s of session %.40q: %w", method, forged, err)
			}
			if a.status < 400 || a.status >= 500 {
				return fmt.Errorf("%s of session %.40q: status %d: %.200s", method, forged, a.status, a.body)
			}
		}
	}
	return nil
}

// forgedEvents asks for streams by ids that are made up and by a true one that is changed, while the stream runs,
// and shows that it goes on: its true ids can be resumed from, those given out later too.
func forgedEvents(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	id, err := r.hello(ctx, `{"name":"forging","version":"1"}`)
	if err != nil {
		return err
	}
	defer func() { _, _ = r.send(ctx, http.MethodDelete, "", sessionHeader(id)...) }()
	resp, err := r.open(ctx, http.MethodPost, r.legacyBody("tools/call", `{"name":"wait","arguments":{"milliseconds":3000},"_meta":{"progressToken":1}}`), sessionHeader(id)...)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	events := frame.NewReader(resp.Body, 1<<20)
	if _, err := events.Next(); err != nil || events.LastEventID() == "" {
		return fmt.Errorf("the stream gives no event id: %v", err)
	}
	true1 := events.LastEventID()
	for _, f := range forge(true1) {
		limited, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		a, err := r.send(limited, http.MethodGet, "", append(sessionHeader(id), "Last-Event-ID", f)...)
		late := limited.Err() != nil
		cancel()
		if err != nil && !late { // a stream that waits is no harm
			return fmt.Errorf("Last-Event-ID %.60q: %w", f, err)
		}
		if err == nil && a.status >= 500 {
			return fmt.Errorf("Last-Event-ID %.60q: status %d: %.200s", f, a.status, a.body)
		}
	}
	ids, answered := []string{true1}, false
	for {
		ev, err := events.Next()
		if err != nil {
			break
		}
		ids = append(ids, events.LastEventID())
		answered = answered || bytes.Contains(ev.Data, []byte("waited"))
	}
	if !answered {
		// The forger's own GETs may have taken the stream; its true id leads back.
		s.note("the stream was taken over")
	}
	for _, event := range ids {
		limited, cancel := context.WithTimeout(ctx, answersWithin)
		a, err := r.send(limited, http.MethodGet, "", append(sessionHeader(id), "Last-Event-ID", event)...)
		cancel()
		if err != nil {
			return fmt.Errorf("the true Last-Event-ID %q, after forgeries: %w", event, err)
		}
		if a.status != http.StatusOK || event == true1 && !bytes.Contains(a.body, []byte("waited")) {
			return fmt.Errorf("the true Last-Event-ID %q, after forgeries: status %d: %.300s", event, a.status, a.body)
		}
	}
	return nil
}

// forge changes an event id: each part of it to what is large, each character to others.
func forge(event string) []string {
	forged := []string{"0", "-1", "x", "::::", strings.Repeat("9", 1000), strings.Repeat("z", 60_000), event + "9", "9" + event, event + "-" + event}
	for _, sep := range []string{"-", "_", ".", ":", "/"} {
		parts := strings.Split(event, sep)
		if len(parts) == 1 {
			continue
		}
		for i := range parts {
			for _, large := range []string{"18446744073709551615", "18446744073709551614", "9223372036854775807", "9007199254740993", "ffffffffffffffff",
				"4503599627370496", "4503599627370495",
				"3w5e11264sgsf", "1y2p0ij32e8e8", "2gosa7pa2gw", "18ce53un18g", "18ce53un18f", "zzzzzzzzzzzz", "-1", ""} { // powers of two, in two bases
				changed := slices.Clone(parts)
				changed[i] = large
				forged = append(forged, strings.Join(changed, sep))
			}
		}
	}
	for i := range event {
		for _, c := range "09z~" {
			forged = append(forged, event[:i]+string(c)+event[i+1:])
		}
	}
	return forged
}

func forgedCursors(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	for _, method := range []string{"tools/list", "resources/list", "prompts/list", "resources/templates/list"} {
		for _, cursor := range []string{`"x"`, `""`, `"////"`, `"` + strings.Repeat("A", 1<<20) + `"`, `5`, `{}`, `"MTg0NDY3NDQwNzM3MDk1NTE2MTU="`, `"LTE="`} {
			a, err := r.modern(ctx, method, "", `,"cursor":`+cursor)
			if err != nil {
				return err
			}
			if !bytes.Contains(a.body, []byte(`"error"`)) || a.status >= 500 {
				return fmt.Errorf("%s with the cursor %.40s: %d %.200s", method, cursor, a.status, a.body)
			}
		}
	}
	return nil
}

// forgedState has a state sealed, and sends it back changed, cut, for other arguments and for another tool.
func forgedState(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	a, err := r.call(ctx, "greet", `{"text":"Hello"}`)
	if err != nil {
		return err
	}
	var asked struct {
		Result struct {
			RequestState  string                     `json:"requestState"`
			InputRequests map[string]json.RawMessage `json:"inputRequests"`
		} `json:"result"`
	}
	if err := json.Unmarshal(a.body, &asked); err != nil || asked.Result.RequestState == "" {
		return fmt.Errorf("greet asked for nothing: %v: %.300s", err, a.body)
	}
	state := asked.Result.RequestState
	const responses = `,"inputResponses":{"name":{"action":"accept","content":{"name":"Ada"}}}`
	again := func(tool, arguments, state string) (*answer, error) {
		quoted, err := json.Marshal(state)
		if err != nil {
			return nil, err
		}
		return r.modern(ctx, "tools/call", tool, callMembers(tool, arguments)+`,"requestState":`+string(quoted)+responses)
	}
	var errs []error
	for name, c := range map[string]struct{ tool, arguments, state string }{
		"a changed beginning": {"greet", `{"text":"Hello"}`, "A" + state[1:] + "="},
		"a changed end":       {"greet", `{"text":"Hello"}`, state[:len(state)-2] + "__"},
		"half of it":          {"greet", `{"text":"Hello"}`, state[:len(state)/2]},
		"twice":               {"greet", `{"text":"Hello"}`, state + state},
		"other arguments":     {"greet", `{"text":"Goodbye"}`, state},
		"another tool":        {"echo", `{"text":"Hello"}`, state},
		"a megabyte":          {"greet", `{"text":"Hello"}`, strings.Repeat("A", 1<<20)},
	} {
		a, err := again(c.tool, c.arguments, c.state)
		if err != nil || a.status >= 500 || !bytes.Contains(a.body, []byte(`"error"`)) {
			errs = append(errs, fmt.Errorf("%s: %v %+v", name, err, a))
		}
	}
	if a, err := again("greet", `{"text":"Hello"}`, state); err != nil || !bytes.Contains(a.body, []byte("Hello Ada")) {
		errs = append(errs, fmt.Errorf("the state as it was: %v %+v", err, a))
	}
	return errors.Join(errs...)
}

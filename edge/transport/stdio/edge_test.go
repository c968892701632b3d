package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// patience bounds every wait for a condition.
const patience = await.Patience

// backend is a service whose calls wait for the test where time would matter.
type backend struct {
	*capability.Server
	// started and ended get a value when the tool `gate` begins and when it ends, with how it ended.
	started chan string
	ended   chan error
	open    chan struct{}
}

func newBackend() *backend {
	b := &backend{
		Server:  capability.New("fixture", "1.0.0", capability.WithLogger(slog.New(slog.DiscardHandler))),
		started: make(chan string, 1024), ended: make(chan error, 1024), open: make(chan struct{}),
	}
	capability.AddTool(b.Server, "echo", "Says it again",
		func(_ context.Context, _ *capability.Call, in struct {
			Text string `json:"text"`
		}) (string, error) {
			return in.Text, nil
		})
	capability.AddTool(b.Server, "gate", "Waits until the test opens the gate",
		func(ctx context.Context, c *capability.Call, in struct {
			Name string `json:"name"`
		}) (string, error) {
			c.Progress(1, 2, "waiting")
			b.started <- in.Name
			select {
			case <-b.open:
			case <-ctx.Done():
				b.ended <- ctx.Err()
				return "", ctx.Err()
			}
			b.ended <- nil
			return "passed " + in.Name, nil
		})
	capability.AddTool(b.Server, "ask", "Asks the user",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			p, err := capability.Ask[struct {
				Name string `json:"name"`
			}](c, "name", "What is your name?")
			if err != nil {
				return "no name: " + err.Error(), nil
			}
			return "Hello, " + p.Name, nil
		})
	capability.AddResource(b.Server, &capability.Resource{Uri: "test://note", Name: "note", MimeType: "text/plain"},
		func(context.Context, *capability.Call, string) (string, error) { return "note", nil })
	return b
}

// message is one line of the edge.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	raw string
}

// edge is an edge on stdio, as its client sees it.
type edge struct {
	*harness.Stdio
	t     *testing.T
	lines chan message
	kept  []message // read and not asked for yet
}

// start runs an edge in front of a backend until the test ends.
func start(t *testing.T, b *backend, set ...func(*config.Config)) *edge {
	t.Helper()
	cfg := harness.Config(harness.Serve(t, "fixture", b.Server).Backend())
	for _, f := range set {
		f(&cfg)
	}
	e := &edge{t: t, Stdio: harness.StartStdio(t, cfg), lines: make(chan message, 64)}
	go e.read(e.Out)
	t.Cleanup(func() {
		_ = e.In.Close()
		e.awaitEnd()
		e.Stop()
	})
	return e
}

// read takes what the edge writes: nothing but one JSON-RPC message, or batch, on each line.
func (e *edge) read(from io.Reader) {
	defer close(e.lines)
	s := bufio.NewScanner(from)
	s.Buffer(nil, 8<<20)
	for s.Scan() {
		m := message{raw: s.Text()}
		if m.raw[0] != '[' {
			var version struct {
				V string `json:"jsonrpc"`
			}
			if json.Unmarshal(s.Bytes(), &version) != nil || version.V != "2.0" || json.Unmarshal(s.Bytes(), &m) != nil {
				e.t.Errorf("no JSON-RPC on stdout: %q", m.raw)
			}
		}
		e.lines <- m
	}
}

func (e *edge) awaitEnd() {
	e.t.Helper()
	deadline := time.After(patience)
	for lines := e.lines; ; {
		select {
		case <-e.Ended():
			if err := e.Err(); err != nil {
				e.t.Errorf("the edge ended with %v", err)
			}
			return
		case m, ok := <-lines:
			if !ok {
				lines = nil
			} else {
				e.kept = append(e.kept, m)
			}
		case <-deadline:
			e.t.Fatal("the edge did not end")
		}
	}
}

func (e *edge) send(format string, args ...any) {
	e.t.Helper()
	if _, err := fmt.Fprintf(e.In, format+"\n", args...); err != nil {
		e.t.Fatal(err)
	}
}

// next returns the first line that fits; the others stay for those who ask for them.
func (e *edge) next(what string, fits func(message) bool) message {
	e.t.Helper()
	for i, m := range e.kept {
		if fits(m) {
			e.kept = append(e.kept[:i:i], e.kept[i+1:]...)
			return m
		}
	}
	deadline := time.After(patience)
	for {
		select {
		case m, ok := <-e.lines:
			switch {
			case !ok:
				e.t.Fatalf("the edge ended without %s; there is %v", what, e.kept)
			case fits(m):
				return m
			}
			e.kept = append(e.kept, m)
		case <-deadline:
			e.t.Fatalf("in vain: %s; there is %v", what, e.kept)
		}
	}
}

// response awaits the response to a request, given its id as JSON.
func (e *edge) response(id string) message {
	e.t.Helper()
	return e.next("the response "+id, func(m message) bool { return m.Method == "" && string(m.ID) == id })
}

// method awaits a request or notification of the edge.
func (e *edge) method(name string) message {
	e.t.Helper()
	return e.next(name, func(m message) bool { return m.Method == name })
}

// silent asserts that nothing that fits is among what was read and not asked for.
func (e *edge) silent(what string, fits func(message) bool) {
	e.t.Helper()
	for _, m := range e.kept {
		if fits(m) {
			e.t.Errorf("%s: %s", what, m.raw)
		}
	}
}

// handshake makes a session of a version.
func (e *edge) handshake(version string) {
	e.t.Helper()
	e.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%q,"capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`, version)
	if m := e.response(`"init"`); m.Error != nil {
		e.t.Fatal(m.raw)
	}
	e.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"progressToken":"t"}`

// modern sends a request of the stateless era; params are members with a comma after each.
func (e *edge) modern(id, method, params string) {
	e.t.Helper()
	e.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method, params, meta)
}

func (e *edge) legacy(id, method, params string) {
	e.t.Helper()
	e.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

//lint:file-ignore SA1019 Sampling, roots and logging are served for as long as the protocol has them.

package capability

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// The eras, each by its newest revision.
const (
	sessions  = "2025-11-25"
	stateless = "2026-07-28"
)

// eras runs a test with an edge and a client of each era.
func eras(t *testing.T, test func(t *testing.T, c *client)) {
	e := startEdge(t)
	for _, version := range []string{sessions, stateless} {
		t.Run(version, func(t *testing.T) { test(t, connect(t, e, version, "")) })
	}
}

// client is a client that notes what it is told, and answers what it is asked.
type client struct {
	*mcp.ClientSession
	// answer is the user's; nil: accepts {"first":"Ada"}, {"years":36} and {"ok":true} in one.
	answer func(*mcp.ElicitParams) *mcp.ElicitResult

	mu       sync.Mutex
	asked    []string // messages of questions
	progress []*mcp.ProgressNotificationParams
	logs     []*mcp.LoggingMessageParams
	updated  []string // URIs
	changes  int      // of the list of tools
}

// connect connects a client of a revision, with a key if there is one, until the test ends.
func connect(t *testing.T, e *harness.Edge, version, key string) *client {
	t.Helper()
	c := &client{}
	note := func(f func()) {
		c.mu.Lock()
		defer c.mu.Unlock()
		f()
	}
	sdk := mcp.NewClient(&mcp.Implementation{Name: "shared-suite", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			RootsV2:     &mcp.RootCapabilities{},
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			note(func() { c.asked = append(c.asked, r.Params.Message) })
			if c.answer != nil {
				return c.answer(r.Params), nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: answers(r.Params.Message)}, nil
		},
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			said, _ := r.Params.Messages[0].Content.(*mcp.TextContent)
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "You said " + said.Text}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			note(func() { c.progress = append(c.progress, r.Params) })
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			note(func() { c.logs = append(c.logs, r.Params) })
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			note(func() { c.updated = append(c.updated, r.Params.URI) })
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { note(func() { c.changes++ }) },
	})
	sdk.AddRoots(&mcp.Root{URI: "file:///a", Name: "a"}, &mcp.Root{URI: "file:///b", Name: "b"})
	transport := &mcp.StreamableClientTransport{Endpoint: e.URL, HTTPClient: &http.Client{Transport: withKey{key}}}
	var err error
	if c.ClientSession, err = sdk.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// answers fit the form that a message of the fixture goes with.
func answers(message string) map[string]any {
	switch {
	case message == "Who are you?":
		return map[string]any{"first": "Ada"}
	case strings.HasPrefix(message, "How old"):
		return map[string]any{"years": 36}
	default:
		return map[string]any{"ok": true}
	}
}

// withKey sends a key with each request.
type withKey struct{ key string }

func (w withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.key != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+w.key)
	}
	return http.DefaultTransport.RoundTrip(r)
}

type object = map[string]any

// call calls a tool, whose result must not be a protocol error.
func (c *client) call(t *testing.T, tool string, arguments object) *mcp.CallToolResult {
	t.Helper()
	r, err := c.try(limit(t), tool, arguments)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r
}

func (c *client) try(ctx context.Context, tool string, arguments object) (*mcp.CallToolResult, error) {
	if arguments == nil {
		arguments = object{}
	}
	return c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
}

// says calls a tool that gives a text.
func (c *client) says(t *testing.T, tool string, arguments object) string {
	t.Helper()
	r := c.call(t, tool, arguments)
	if len(r.Content) == 0 {
		t.Fatalf("%s gave no content", tool)
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s gave no text: %+v", tool, r.Content[0])
	}
	return text.Text
}

// want calls a tool that is to give a text.
func (c *client) want(t *testing.T, want, tool string, arguments object) {
	t.Helper()
	if got := c.says(t, tool, arguments); got != want {
		t.Errorf("%s gave %.200q, want %q", tool, got, want)
	}
}

// count reads a counter of the fixture.
func (c *client) count(t *testing.T, name string) int {
	t.Helper()
	structured, _ := c.call(t, "counter", object{"name": name}).StructuredContent.(object)
	n, ok := structured["value"].(float64)
	if !ok {
		t.Fatalf("counter gave %v", structured)
	}
	return int(n)
}

// counts returns by how much the named counters grow from now on.
func (c *client) counts(t *testing.T, name string) (grown func() int) {
	t.Helper()
	before := c.count(t, name)
	return func() int {
		t.Helper()
		return c.count(t, name) - before
	}
}

// told awaits what the client is told.
func (c *client) told(t *testing.T, what string, condition func() bool) {
	t.Helper()
	await.Until(t, what, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return condition()
	})
}

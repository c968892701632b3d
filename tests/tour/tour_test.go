//lint:file-ignore SA1019 Roots, sampling and logging are served for as long as the protocol has them.

// Package tour takes official clients through all that the edge offers, with the bundled services
// behind it: here the Go SDK's, in its stateful and its stateless revisions; typescript/ holds the
// TypeScript SDK's, which run/ starts.
package tour

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/tests/tour/stage"
)

// patience bounds every step.
const patience = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tourist is a client with what it was told and asked.
type tourist struct {
	t       *testing.T
	ctx     context.Context
	session *mcp.ClientSession
	stage   *stage.Stage

	progress chan *mcp.ProgressNotificationParams
	logs     chan *mcp.LoggingMessageParams
	updated  chan string
	asked    chan string // messages of elicitations
}

// TestGo tours the edge with the official Go client, once per revision that it speaks.
func TestGo(t *testing.T) {
	var log syncBuffer
	st, err := stage.Start(context.Background(), &log)
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	t.Cleanup(func() {
		if err := st.Stop(); err != nil {
			t.Errorf("the edge ended with: %v", err)
		}
		if t.Failed() {
			t.Logf("the log:\n%s", log.String())
		}
	})
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			v := arrive(t, st, version)
			t.Run("list", v.list)
			t.Run("structured output", v.structured)
			t.Run("progress and log", v.eventful)
			t.Run("sampling", v.sampling)
			t.Run("roots", v.roots)
			if version != "2025-03-26" { // elicitation is younger
				t.Run("elicitation", v.elicitation)
			}
			t.Run("read", v.read)
			t.Run("template and completion", v.template)
			t.Run("subscribe", v.subscribe)
			t.Run("prompt", v.prompt)
			t.Run("cancel", v.cancel)
		})
	}
}

// arrive connects a client that answers whatever it is asked.
func arrive(t *testing.T, st *stage.Stage, version string) *tourist {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	v := &tourist{
		t: t, ctx: ctx, stage: st,
		progress: make(chan *mcp.ProgressNotificationParams, 1024), logs: make(chan *mcp.LoggingMessageParams, 1024),
		updated: make(chan string, 1024), asked: make(chan string, 1024),
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "tour", Version: "1.0.0"}, &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "tour-model", Content: &mcp.TextContent{Text: "Take the first."}}, nil
		},
		ElicitationHandler:          v.answer,
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { v.progress <- r.Params },
		LoggingMessageHandler:       func(_ context.Context, r *mcp.LoggingMessageRequest) { v.logs <- r.Params },
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { v.updated <- r.Params.URI },
	})
	client.AddRoots(&mcp.Root{URI: "file:///home/tour", Name: "home"})
	transport := &mcp.StreamableClientTransport{Endpoint: st.URL}
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	v.session = session
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if got := session.InitializeResult(); got.ProtocolVersion != version || got.ServerInfo.Name != "mcpedge" {
		t.Fatalf("connected to %+v in %s, want %s", got.ServerInfo, got.ProtocolVersion, version)
	}
	return v
}

// answer fills in the forms of book_trip.
func (v *tourist) answer(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	v.asked <- r.Params.Message
	if strings.HasPrefix(r.Params.Message, "Book ") {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"seat": "aisle", "room": "suite", "insurance": true}}, nil
}

// call calls a tool that must succeed.
func (v *tourist) call(t *testing.T, tool string, arguments map[string]any) *mcp.CallToolResult {
	t.Helper()
	res, err := v.session.CallTool(v.ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if res.IsError {
		t.Fatalf("%s failed: %s", tool, text(t, res))
	}
	return res
}

func text(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) == 0 {
		t.Fatal("no content")
	}
	block, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content is %T, want text", res.Content[0])
	}
	return block.Text
}

// next takes what is due from a channel.
func next[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case x := <-from:
		return x
	case <-time.After(patience):
		t.Fatalf("no %s in time", what)
		panic("unreachable")
	}
}

func (v *tourist) list(t *testing.T) {
	var tools, resources, templates, prompts []string
	for x, err := range v.session.Tools(v.ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, x.Name)
	}
	for x, err := range v.session.Resources(v.ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		resources = append(resources, x.Name)
	}
	for x, err := range v.session.ResourceTemplates(v.ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		templates = append(templates, x.Name)
	}
	for x, err := range v.session.Prompts(v.ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		prompts = append(prompts, x.Name)
	}
	for _, l := range []struct {
		kind string
		got  []string
		want string
	}{{"tools", tools, "countdown"}, {"resources", resources, stage.NoteFile}, {"templates", templates, "weather-forecast"}, {"prompts", prompts, "plan-vacation"}} {
		if !slices.Contains(l.got, l.want) {
			t.Errorf("%s lack %s: %v", l.kind, l.want, l.got)
		}
	}
}

func (v *tourist) structured(t *testing.T) {
	res := v.call(t, "calculator_arithmetic", map[string]any{"expression": "2 * (3 + 4)^2"})
	if got := text(t, res); got != "98" {
		t.Errorf("text: %q", got)
	}
	if v.session.InitializeResult().ProtocolVersion == "2025-03-26" {
		if res.StructuredContent != nil {
			t.Errorf("structured content in a revision without it: %v", res.StructuredContent)
		}
		return
	}
	if got, _ := res.StructuredContent.(map[string]any); got["result"] != float64(98) {
		t.Errorf("structured content: %v", res.StructuredContent)
	}
}

func (v *tourist) eventful(t *testing.T) {
	p := &mcp.CallToolParams{Name: "countdown", Arguments: map[string]any{"steps": 3, "interval_ms": 1}}
	if v.session.InitializeResult().ProtocolVersion < "2026-07-28" {
		if err := v.session.SetLoggingLevel(v.ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
			t.Fatal(err)
		}
	} else {
		p.Meta = mcp.Meta{"io.modelcontextprotocol/logLevel": "info"}
	}
	p.SetProgressToken("token")
	if _, err := v.session.CallTool(v.ctx, p); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 3; i++ {
		if got := next(t, "progress", v.progress); got.ProgressToken != "token" || got.Progress != float64(i) || got.Total != 3 {
			t.Errorf("progress %d: %+v", i, got)
		}
		if got := next(t, "log message", v.logs); got.Level != "info" || got.Logger != "countdown" {
			t.Errorf("log message %d: %+v", i, got)
		}
	}
}

func (v *tourist) elicitation(t *testing.T) {
	got := text(t, v.call(t, "book_trip", map[string]any{"destination": "Lisbon", "nights": 2}))
	if !strings.HasPrefix(got, "Booked 2 nights in Lisbon: seat aisle, suite room, with insurance.") {
		t.Errorf("got %q", got)
	}
	for _, want := range []string{"How would you like to travel?", "Book 2 nights in Lisbon"} {
		if got := next(t, "question", v.asked); !strings.HasPrefix(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
	}
}

func (v *tourist) sampling(t *testing.T) {
	got := text(t, v.call(t, "recommend_flight", map[string]any{"origin": "Zurich", "destination": "Barcelona"}))
	if !strings.Contains(got, "Take the first.") || !strings.Contains(got, "tour-model") {
		t.Errorf("got %q", got)
	}
}

func (v *tourist) roots(t *testing.T) {
	if got := text(t, v.call(t, "list_workspace", nil)); !strings.Contains(got, "file:///home/tour (home)") {
		t.Errorf("got %q", got)
	}
}

// note is the URI of the file in the stage's directory.
func (v *tourist) note(t *testing.T) string {
	t.Helper()
	for x, err := range v.session.Resources(v.ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if x.Name == stage.NoteFile {
			return x.URI
		}
	}
	t.Fatal("the note is not listed")
	return ""
}

func (v *tourist) contents(t *testing.T, uri string) string {
	t.Helper()
	res, err := v.session.ReadResource(v.ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		t.Fatalf("reading %s: %v", uri, err)
	}
	if len(res.Contents) != 1 {
		t.Fatalf("%s has %d contents, want 1", uri, len(res.Contents))
	}
	return res.Contents[0].Text
}

func (v *tourist) read(t *testing.T) {
	want, err := os.ReadFile(filepath.Join(v.stage.Dir, stage.NoteFile))
	if err != nil {
		t.Fatal(err)
	}
	if got := v.contents(t, v.note(t)); got != string(want) {
		t.Errorf("the note says %q, want %q", got, want)
	}
}

func (v *tourist) template(t *testing.T) {
	res, err := v.session.Complete(v.ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: "weather://forecast/{city}/{date}"},
		Argument: mcp.CompleteParamsArgument{Name: "city", Value: "Lis"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(res.Completion.Values, []string{"Lisbon"}) {
		t.Fatalf("completed to %v", res.Completion.Values)
	}
	if got := v.contents(t, "weather://forecast/"+res.Completion.Values[0]+"/2026-08-01"); !strings.Contains(got, "Lisbon") {
		t.Errorf("the forecast: %q", got)
	}
}

func (v *tourist) subscribe(t *testing.T) {
	uri := v.note(t)
	if err := v.session.Subscribe(v.ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	want := "changed in " + v.session.InitializeResult().ProtocolVersion
	if err := os.WriteFile(filepath.Join(v.stage.Dir, stage.NoteFile), []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	for got := ""; got != want; got = v.contents(t, uri) {
		if u := next(t, "update", v.updated); u != uri {
			t.Errorf("updated %s, want %s", u, uri)
		}
	}
	if err := v.session.Unsubscribe(v.ctx, &mcp.UnsubscribeParams{URI: uri}); err != nil {
		t.Error(err)
	}
}

func (v *tourist) prompt(t *testing.T) {
	res, err := v.session.GetPrompt(v.ctx, &mcp.GetPromptParams{Name: "plan-vacation", Arguments: map[string]string{"destination": "Lisbon", "days": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	block, ok := res.Messages[0].Content.(*mcp.TextContent)
	if !ok || !strings.Contains(block.Text, "3 days in Lisbon") {
		t.Errorf("the prompt: %+v", res.Messages[0].Content)
	}
}

func (v *tourist) cancel(t *testing.T) {
	ctx, cancel := context.WithCancel(v.ctx)
	defer cancel()
	p := &mcp.CallToolParams{Name: "countdown", Arguments: map[string]any{"steps": 1000, "interval_ms": 100}}
	p.SetProgressToken("cancelled")
	ended := make(chan error, 1)
	go func() {
		_, err := v.session.CallTool(ctx, p)
		ended <- err
	}()
	for next(t, "progress", v.progress).ProgressToken != "cancelled" {
	}
	cancel()
	if err := next(t, "end of the call", ended); err == nil {
		t.Error("the cancelled call succeeded")
	}
	v.call(t, "calculator_arithmetic", map[string]any{"expression": "1"}) // the session goes on
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

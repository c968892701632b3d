package sse_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The official Go client, configured to use only this transport.
func TestOfficialClient(t *testing.T) {
	f, e := startEdge(t)
	progressed := make(chan float64, 4)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			progressed <- r.Params.Progress
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	session, err := client.Connect(ctx, &mcp.SSEClientTransport{Endpoint: base(e) + "/sse", HTTPClient: newHTTP(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if v := session.InitializeResult().ProtocolVersion; v != vNov {
		t.Errorf("negotiated %s, want %s", v, vNov)
	}
	if err := session.Ping(ctx, nil); err != nil {
		t.Error(err)
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) != 4 {
		t.Fatalf("tools %+v, error %v", tools, err)
	}
	if got := call(t, ctx, session, "ask_name"); got != "Hello, Ada" {
		t.Errorf("an elicitation gave %q", got)
	}
	go func() {
		<-f.started
		f.open <- struct{}{}
		<-f.ended
	}()
	if got := call(t, ctx, session, "gate"); got != "passed" {
		t.Errorf("a slow call gave %q", got)
	}
	if got := <-progressed; got != 1 {
		t.Errorf("progress %v, want 1", got)
	}
	cctx, abort := context.WithCancel(ctx)
	go func() {
		<-f.started
		abort()
	}()
	if _, err := session.CallTool(cctx, &mcp.CallToolParams{Name: "gate"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	select {
	case err := <-f.ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the backend's call ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the backend does not hear of the cancellation")
	}
}

func call(t *testing.T, ctx context.Context, s *mcp.ClientSession, tool string) string {
	t.Helper()
	p := &mcp.CallToolParams{Name: tool}
	p.SetProgressToken("p")
	r, err := s.CallTool(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok || r.IsError {
		t.Fatalf("result %+v", r)
	}
	return text.Text
}

//go:build versions

package release

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// revisions are the last with sessions, and the one without.
var revisions = []string{"2025-11-25", "2026-07-28"}

// load is clients of both eras at work. Safe for concurrent use.
type load struct {
	url  string
	http http.Transport

	made, lost atomic.Int64

	mu     sync.Mutex
	served map[string]int // requests, by the incarnation that took them
	losses []string
	seen   map[string]int // calls, by revision and kind
}

func newLoad(url string) *load {
	return &load{url: url, served: map[string]int{}, seen: map[string]int{}}
}

// RoundTrip implements http.RoundTripper: it notes who served a request.
func (l *load) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.http.RoundTrip(r)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.served[resp.Header.Get(replicas.ServedBy)]++
	}
	return resp, err
}

// run has n clients of each revision call until stop is closed, each call to its end.
func (l *load) run(ctx context.Context, n int, stop <-chan struct{}) error {
	var clients sync.WaitGroup
	defer l.http.CloseIdleConnections()
	defer clients.Wait()
	for _, revision := range revisions {
		for range n {
			session, err := l.connect(ctx, revision)
			if err != nil {
				return fmt.Errorf("a client of %s cannot connect: %w", revision, err)
			}
			clients.Go(func() {
				defer session.Close()
				l.work(ctx, session, revision, stop)
			})
		}
	}
	<-stop
	return nil
}

func (l *load) connect(ctx context.Context, revision string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "versions", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"username": "ada", "email": "ada@example.com"}}, nil
		},
	})
	return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: l.url, HTTPClient: &http.Client{Transport: l}},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
}

func (l *load) work(ctx context.Context, session *mcp.ClientSession, revision string, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		c := calls[n%len(calls)]
		err := c.make(ctx, session)
		l.made.Add(1)
		l.mu.Lock()
		l.seen[revision+" "+c.name]++
		if err != nil {
			l.lost.Add(1)
			l.losses = append(l.losses, fmt.Sprintf("%s: %s: %v", revision, c.name, err))
		}
		l.mu.Unlock()
		if ctx.Err() != nil {
			return
		}
	}
}

// calls are what a client does, in turn.
var calls = []struct {
	name string
	make func(context.Context, *mcp.ClientSession) error
}{
	{"a tool", func(ctx context.Context, s *mcp.ClientSession) error {
		return says(ctx, s, "test_simple_text", nil, "simple text response")
	}},
	{"a tool with progress", func(ctx context.Context, s *mcp.ClientSession) error {
		params := &mcp.CallToolParams{Name: "test_tool_with_progress"}
		params.SetProgressToken("p")
		r, err := s.CallTool(ctx, params)
		if err == nil && r.IsError {
			err = errors.New("it is an error")
		}
		return err
	}},
	{"a tool that asks", func(ctx context.Context, s *mcp.ClientSession) error {
		return says(ctx, s, "test_elicitation", map[string]any{"message": "Who?"}, `action=accept`)
	}},
	{"a resource", func(ctx context.Context, s *mcp.ClientSession) error {
		r, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://static-text"})
		if err == nil && (len(r.Contents) != 1 || r.Contents[0].Text == "") {
			err = fmt.Errorf("it is %+v", r)
		}
		return err
	}},
	{"a prompt", func(ctx context.Context, s *mcp.ClientSession) error {
		r, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "test_simple_prompt"})
		if err == nil && len(r.Messages) != 1 {
			err = fmt.Errorf("it is %+v", r)
		}
		return err
	}},
	{"the list of tools", func(ctx context.Context, s *mcp.ClientSession) error {
		r, err := s.ListTools(ctx, nil)
		if err == nil && len(r.Tools) == 0 {
			err = errors.New("it is empty")
		}
		return err
	}},
}

// says calls a tool whose text has to contain something.
func says(ctx context.Context, s *mcp.ClientSession, tool string, arguments map[string]any, want string) error {
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err
	}
	if len(r.Content) == 1 {
		if text, ok := r.Content[0].(*mcp.TextContent); ok && !r.IsError && strings.Contains(text.Text, want) {
			return nil
		}
	}
	return fmt.Errorf("it says %+v, is an error: %v; want %q", r.Content, r.IsError, want)
}

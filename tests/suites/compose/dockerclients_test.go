//go:build composedocker && linux

package compose

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// revisions are the last with sessions, and the one without.
var revisions = []string{v2025, v2026}

// endpoint is where the proxy is published.
const endpoint = "http://127.0.0.1:8080/mcp"

// tally is a transport that keeps which edge answered, and what failed.
type tally struct {
	http   *http.Transport
	mu     sync.Mutex
	counts map[string]int
	failed []string
}

func newTally(t *testing.T) *tally {
	s := &tally{http: &http.Transport{}, counts: map[string]int{}}
	t.Cleanup(s.http.CloseIdleConnections)
	return s
}

func (s *tally) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.http.RoundTrip(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && r.Context().Err() == nil:
		s.failed = append(s.failed, r.Method+": "+err.Error())
	case err == nil && resp.StatusCode >= 500:
		s.failed = append(s.failed, r.Method+": "+resp.Status)
	case err == nil:
		s.counts[resp.Header.Get("X-Served-By")]++
	}
	return resp, err
}

// take returns what was seen since it was asked the last time.
func (s *tally) take() (edges []string, failed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	edges, failed = slices.Sorted(maps.Keys(s.counts)), s.failed
	s.counts, s.failed = map[string]int{}, nil
	return edges, failed
}

// calculate calls a tool that knows one answer, and says what was wrong with it.
func calculate(ctx context.Context, session *mcp.ClientSession) (wrong any) {
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "calculator_arithmetic", Arguments: map[string]any{"expression": "6*7"}})
	switch {
	case err != nil:
		return err
	case r.IsError || len(r.Content) != 1 || r.Content[0].(*mcp.TextContent).Text != "42":
		return r.Content
	}
	return nil
}

// busy has clients of both revisions call without end, and one stream of each run, until done is called, which waits for them.
func busy(t *testing.T, via *tally) (done func()) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for _, revision := range revisions {
		for range 4 {
			session := connect(t, ctx, endpoint, revision, via, nil)
			clients.Go(func() {
				defer session.Close()
				for {
					select {
					case <-stop:
						return
					default:
						if wrong := calculate(ctx, session); wrong != nil {
							t.Errorf("%s: a call: %v", revision, wrong)
							return
						}
					}
				}
			})
		}
		session := connect(t, ctx, endpoint, revision, via, nil)
		clients.Go(func() {
			defer session.Close()
			params := &mcp.CallToolParams{Name: "countdown", Arguments: map[string]any{"steps": 100, "interval_ms": 100}}
			params.SetProgressToken("p")
			if r, err := session.CallTool(ctx, params); err != nil || r.IsError {
				t.Errorf("%s: the countdown: %+v, error %v", revision, r, err)
			}
		})
	}
	return func() {
		close(stop)
		clients.Wait()
		cancel()
	}
}

package sse_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/sse"
)

// journal notes in what order things happen.
type journal struct {
	mu   sync.Mutex
	seen []string
}

func (j *journal) note(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = append(j.seen, what)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.seen, ", ")
}

// slow is a response whose status takes a while to leave.
type slow struct {
	header http.Header
	// status is called when the status has left, written with what is written after it.
	status  func(int)
	written func(string)
}

func (s *slow) Header() http.Header              { return s.header }
func (s *slow) Flush()                           {}
func (s *slow) SetWriteDeadline(time.Time) error { return nil }

func (s *slow) Write(b []byte) (int, error) {
	s.written(string(b))
	return len(b), nil
}

func (s *slow) WriteHeader(status int) {
	time.Sleep(100 * time.Millisecond)
	s.status(status)
}

// office is a Relay's medium in this process. carry may change a message or lose it, by an error.
type office struct {
	mu     sync.Mutex
	served map[string]func([]byte) []byte
}

// desk is one replica's Relay.
type desk struct {
	of   *office
	name string
}

func (d desk) Address() string { return d.name }

func (d desk) Receive(fn func([]byte) []byte) {
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	d.of.served[d.name] = fn
}

func (d desk) Send(_ context.Context, to string, message []byte) ([]byte, error) {
	d.of.mu.Lock()
	serve := d.of.served[to]
	d.of.mu.Unlock()
	if serve == nil {
		return nil, errors.New("no such replica")
	}
	return serve(message), nil
}

// The effects of an accepted message follow its 202. If the POST came to another replica, they wait for nothing.
func TestAcceptReturnsAfterThe202(t *testing.T) {
	for name, b := range map[string]struct {
		away bool
		want []string
	}{
		"here":               {false, []string{"202, released"}},
		"at another replica": {true, []string{"202, released", "released, 202"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen journal
				ended := make(chan struct{})
				f := &fake{post: func(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) {
					out.Accept()
					seen.note("released")
					close(ended)
				}}
				o := &office{served: map[string]func([]byte) []byte{}}
				owner := sse.New(f, nil, sse.Options{Relay: desk{o, "A"}})
				entry := owner
				if b.away {
					entry = sse.New(f, nil, sse.Options{Relay: desk{o, "B"}})
				}
				ctx, leave := context.WithCancel(t.Context())
				token := make(chan string, 1)
				var stream sync.WaitGroup
				stream.Go(func() {
					get := httptest.NewRequestWithContext(ctx, http.MethodGet, sse.StreamPath, nil)
					get.ProtoMajor, get.ProtoMinor = 2, 0
					get.Header.Set("Accept", "text/event-stream")
					owner.Stream(&slow{header: http.Header{}, status: func(int) {}, written: func(s string) {
						if _, after, ok := strings.Cut(s, "sessionId="); ok {
							token <- strings.TrimSpace(after)
						}
					}}, get, "")
				})
				uri := sse.MessagePath + "?sessionId=" + <-token
				post := httptest.NewRequestWithContext(ctx, http.MethodPost, uri, strings.NewReader(`{}`))
				post.Header.Set("Content-Type", "application/json")
				entry.Message(&slow{header: http.Header{}, written: func(string) {}, status: func(status int) {
					if status != http.StatusAccepted {
						t.Errorf("status %d", status)
					}
					seen.note("202")
				}}, post, "")
				<-ended
				if !slices.Contains(b.want, seen.String()) {
					t.Errorf("%s; want one of %q", &seen, b.want)
				}
				leave()
				stream.Wait()
			})
		})
	}
}

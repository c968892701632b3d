package sse_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
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
	carry  func(string) (string, error)
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
	carried, err := d.of.carry(string(message))
	if err != nil {
		return nil, err
	}
	return serve([]byte(carried)), nil
}

// What an accepted message sets off comes after its 202, also when the POST came to another replica.
func TestAcceptReturnsAfterThe202(t *testing.T) {
	whole := func(m string) (string, error) { return m, nil }
	for name, b := range map[string]struct {
		away  bool
		carry func(string) (string, error)
		want  string
		// within bounds how long it may take.
		within time.Duration
	}{
		"here":                {false, whole, "202, released", 100 * time.Millisecond},
		"at another replica":  {true, whole, "202, released", 100 * time.Millisecond},
		"its replica is lost": {true, func(m string) (string, error) { return m, lostWord(m) }, "202, released", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen journal
				began, took := time.Now(), make(chan time.Duration, 1)
				f := &fake{post: func(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) {
					out.Accept()
					seen.note("released")
					took <- time.Since(began)
				}}
				o := &office{served: map[string]func([]byte) []byte{}, carry: b.carry}
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
					}}, get)
				})
				uri := sse.MessagePath + "?sessionId=" + <-token
				began = time.Now()
				post := httptest.NewRequestWithContext(ctx, http.MethodPost, uri, strings.NewReader(`{}`))
				post.Header.Set("Content-Type", "application/json")
				entry.Message(&slow{header: http.Header{}, written: func(string) {}, status: func(status int) {
					if status != http.StatusAccepted {
						t.Errorf("status %d", status)
					}
					seen.note("202")
				}}, post)
				if d := <-took; d > b.within {
					t.Errorf("what was accepted went on after %s, want %s at the latest", d, b.within)
				}
				if seen.String() != b.want {
					t.Errorf("%s; want %s", &seen, b.want)
				}
				leave()
				stream.Wait()
			})
		})
	}
}

// lostWord loses the word that a 202 has left.
func lostWord(message string) error {
	if strings.Contains(message, `"left":`) {
		return errors.New("lost")
	}
	return nil
}

package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// somebody sends a token with every request, which may be another one later; nobody sends the empty one, and no header.
type somebody struct {
	http.RoundTripper
	token atomic.Pointer[string]
}

func (s *somebody) RoundTrip(r *http.Request) (*http.Response, error) {
	if token := *s.token.Load(); token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return s.RoundTripper.RoundTrip(r)
}

// as has a caller send a token.
func (c *caller) as(token string) *somebody {
	if s, ok := c.http.Transport.(*somebody); ok {
		s.token.Store(&token)
		return s
	}
	s := &somebody{RoundTripper: c.http.Transport}
	s.token.Store(&token)
	c.http.Transport = s
	return s
}

// sessionAs is newSession for somebody with a token.
func sessionAs(t *testing.T, e *harness.Edge, version, token string) *session {
	t.Helper()
	return sessionAt(t, e.URL, version, token)
}

// sessionAt is sessionAs at a URL, such as that of a set.
func sessionAt(t *testing.T, url, version, token string) *session {
	t.Helper()
	s := &session{caller: newCaller(t, url), t: t, version: version, next: new(atomic.Int64)}
	s.as(token)
	s.open(everything)
	return s
}

// seenBy is a session as somebody else comes with it, by way of another replica.
func (s *session) seenBy(e *harness.Edge, token string) *session {
	other := s.at(e)
	other.as(token)
	return other
}

func statelessAs(t *testing.T, e *harness.Edge, token string) *stateless {
	c := newStateless(t, e.URL)
	c.as(token)
	return c
}

// lasting is a token that is good for about so long, and its end.
func lasting(id *issuer.Issuer, subject string, d time.Duration) (token string, end time.Time) {
	end = time.Now().Add(d).Truncate(time.Second)
	return id.Token(subject, public, map[string]any{"exp": end.Unix()}), end
}

// same checks that two answers are the same but for the id in their text.
func same(t *testing.T, what string, got, want *reply, replace ...string) {
	t.Helper()
	text := strings.NewReplacer(replace...).Replace
	if got.status != want.status || text(string(got.body)) != text(string(want.body)) || got.stream != nil {
		t.Errorf("%s: %d %s\nwant what an unknown one gets: %d %s", what, got.status, got.body, want.status, want.body)
	}
}

// response is the next response; notifications before it are passed over.
func (s *stream) response() message {
	s.t.Helper()
	m := s.message()
	for ; m.Method != ""; m = s.message() {
	}
	return m
}

// over says whether the stream has ended. What it had is passed over.
func (s *stream) over() bool {
	for {
		select {
		case _, ok := <-s.events:
			if !ok {
				return true
			}
		default:
			return false
		}
	}
}

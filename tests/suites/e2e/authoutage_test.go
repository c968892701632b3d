package e2e

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// outage is an issuer whose address nobody listens on for a while.
type outage struct {
	*issuer.Issuer
	address string
	server  *http.Server
}

func serveOutage(t *testing.T) *outage {
	t.Helper()
	address, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	o := &outage{Issuer: issuer.New("http://" + address), address: address}
	o.listen(t)
	t.Cleanup(func() { _ = o.server.Close() })
	return o
}

func (o *outage) listen(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", o.address)
	if err != nil {
		t.Fatal(err)
	}
	o.server = &http.Server{Handler: o.Issuer, ReadHeaderTimeout: time.Minute}
	go func(s *http.Server) {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}(o.server)
}

// refuse has connections be refused, those that there are too.
func (o *outage) refuse(t *testing.T, is bool) {
	t.Helper()
	if !is {
		o.listen(t)
	} else if err := o.server.Close(); err != nil {
		t.Fatal(err)
	}
}

// withIntrospection has an edge ask the issuer about opaque tokens.
func withIntrospection(t *testing.T, id *issuer.Issuer, ttl time.Duration) func(*config.Config) {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(issuer.ClientSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(c *config.Config) {
		c.Auth.Issuers[0].Introspection = &config.Introspection{
			URL: id.IntrospectionURL(), ClientID: issuer.ClientID, ClientSecretFile: secret, TTL: ttl,
		}
	}
}

// TestIntrospectionOutage: while the issuer of opaque tokens is down, refuses connections or does not answer, a token that it was
// not asked about is answered 503, with a time to come again and without a challenge, at every endpoint; one that it was asked
// about goes on for as long as its answer is remembered; what is open stays open; the edge is ready. When the issuer is back, so
// is everything.
func TestIntrospectionOutage(t *testing.T) {
	for name, set := range map[string]func(*testing.T, *outage, bool){
		"answers 500":         func(_ *testing.T, o *outage, is bool) { o.SetUnavailable(is) },
		"refuses connections": func(t *testing.T, o *outage, is bool) { o.refuse(t, is) },
		"does not answer": func(_ *testing.T, o *outage, is bool) {
			o.SetDelay(0)
			if is {
				o.SetDelay(time.Hour)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ttl = 4 * time.Second
			id := serveOutage(t)
			e := startEdge(t, only(startService(t, newFixture().Server)), withAuth(id.Issuer), withIntrospection(t, id.Issuer, ttl))
			opaque := func(subject string) string { return id.Opaque(id.Claims(subject, public)) }
			known, late := opaque("alice"), opaque("bob")
			asked := time.Now()
			s := sessionAs(t, e, vNov, known)
			open := s.get("").want(http.StatusOK).events()
			answered := time.Now()

			set(t, id, true)
			awaitForgotten(t, statelessAs(t, e, known), asked.Add(ttl), answered.Add(ttl))
			refused := map[string]*reply{}
			var mu sync.Mutex
			var tries sync.WaitGroup
			for what, try := range map[string]func() *reply{
				v2026:       func() *reply { return statelessAs(t, e, late).call("add", `{"a":1,"b":2}`) },
				"a session": func() *reply { return s.seenBy(e, late).request("ping", "") },
				"SSE":       func() *reply { return at(t, e, "/sse", late).send(t, http.MethodGet, "") },
				"a message": func() *reply { return at(t, e, "/message?sessionId=x", late).send(t, http.MethodPost, "{}") },
			} {
				tries.Go(func() {
					r := try()
					mu.Lock()
					defer mu.Unlock()
					refused[what] = r
				})
			}
			ready(t, e)
			tries.Wait()
			for what, r := range refused {
				awayFor(t, what, r)
			}
			ready(t, e)
			if open.over() {
				t.Error("the stream of a token that was good has ended")
			}

			set(t, id, false)
			for what, token := range map[string]string{"the one that was never seen": late, "the one that was forgotten": known} {
				await.Until(t, "the issuer is asked about "+what, func() bool {
					r := statelessAs(t, e, token).call("add", `{"a":1,"b":2}`)
					if r.status != http.StatusOK {
						awayFor(t, what, r)
					}
					return r.status == http.StatusOK
				})
			}
			s.request("ping", "").want(http.StatusOK)
			if open.over() {
				t.Error("the stream of a token that is good has ended")
			}
			// It is believed again also about what is not good.
			statelessAs(t, e, "nobodys").call("add", `{"a":1,"b":2}`).want(http.StatusUnauthorized)
		})
	}
}

// at is somebody with a token at a path of an edge.
func at(t *testing.T, e *harness.Edge, path, token string) *caller {
	t.Helper()
	c := newCaller(t, "http://"+e.Host+path)
	c.as(token)
	return c
}

// awayFor checks the answer to a token whose issuer cannot be asked: each request has it asked anew.
func awayFor(t *testing.T, what string, r *reply) {
	t.Helper()
	after, err := strconv.Atoi(r.header.Get("Retry-After"))
	if r.status != http.StatusServiceUnavailable || err != nil || after != 1 || r.header.Get("WWW-Authenticate") != "" {
		t.Errorf("%s: status %d, %v: %s", what, r.status, r.header, r.body)
		return
	}
	r.json().wantError(t, -31503)
}

// awaitForgotten calls until what the issuer said is not remembered any more: it is served until earliest, and not after latest.
func awaitForgotten(t *testing.T, c *stateless, earliest, latest time.Time) {
	t.Helper()
	for served := 0; ; served++ {
		sent := time.Now()
		r := c.call("add", `{"a":1,"b":2}`)
		if r.status != http.StatusOK {
			awayFor(t, "a token that was known", r)
			if early := time.Until(earliest); early > 0 {
				t.Errorf("refused %v before the answer was to be forgotten", early)
			}
			t.Logf("%d calls were served while the issuer was away", served)
			return
		}
		if late := sent.Sub(latest); late > 0 {
			t.Fatalf("served %v after the answer was to be forgotten", late)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ready checks that an edge is.
func ready(t *testing.T, e *harness.Edge) {
	t.Helper()
	newCaller(t, "http://"+e.Admin+"/readyz").send(t, http.MethodGet, "", "Accept", "").want(http.StatusOK)
}

package e2e

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// exactly has the clocks of an edge and its issuers agree.
func exactly(c *config.Config) {
	for i := range c.Auth.Issuers {
		c.Auth.Issuers[i].Skew = new(time.Duration)
	}
}

// expiring are streams and a call that were opened with one token.
type expiring struct {
	streams map[string]*stream
	// ends and renewed are the sessions, and kept the caller over HTTP+SSE, of which the last two go on with another token.
	ends, renewed *session
	kept          *caller
}

// openExpiring opens streams with a token. Their call waits at the gate of that name.
func openExpiring(t *testing.T, f *fixture, edges []*harness.Edge, token, gate string) *expiring {
	t.Helper()
	x := &expiring{
		ends: sessionAs(t, edges[0], vNov, token), renewed: sessionAs(t, edges[0], vNov, token), kept: newCaller(t, "http://"+edges[0].Host+"/sse"),
	}
	x.streams = map[string]*stream{
		"standalone": x.ends.get("").events(), "renewed": x.renewed.get("").events(),
		"call":   x.ends.callWithProgress("gate", `{"name":"`+gate+`"}`, "p").events(),
		"listen": statelessAs(t, edges[1], token).request("subscriptions/listen", map[string]any{"notifications": map[string]bool{"toolsListChanged": true}}).events(),
	}
	<-f.started
	c := newCaller(t, "http://"+edges[0].Host+"/sse")
	c.as(token)
	x.streams["sse"] = c.send(t, "GET", "").want(200).events()
	x.streams["sse"].next() // its endpoint
	x.kept.as(token)
	x.streams["sse renewed"] = x.kept.send(t, "GET", "").want(200).events()
	ev, _ := x.streams["sse renewed"].next()
	x.kept.url = "http://" + edges[1].Host + ev.Data
	return x
}

// renew sends requests with another token by the other replica.
func (x *expiring) renew(t *testing.T, edges []*harness.Edge, fresh string) {
	t.Helper()
	x.renewed.seenBy(edges[1], fresh).request("ping", "").want(200)
	x.kept.as(fresh)
	x.kept.send(t, "POST", envelope("1", "initialize", `{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":`+clientInfo+`}`)).want(202)
	if m := x.streams["sse renewed"].response(); string(m.ID) != "1" {
		t.Errorf("got %s", m.raw)
	}
}

// TestStreamsEndWithTheToken: a stream ends when its token has expired, unless a later request of its session came with
// another, at whichever replica. A listen ends with its result. A call runs to its end.
func TestStreamsEndWithTheToken(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	f, edges, _ := startReplicas(t, 2, withAuth(id), exactly)
	fresh, _ := lasting(id, "alice", time.Hour)
	// The token outlives what is done with it, however slow the machine is.
	began := time.Now()
	first := openExpiring(t, f, edges, fresh, "first")
	first.renew(t, edges, fresh)
	for _, s := range first.streams {
		s.close()
	}
	close(f.gate("first"))
	<-f.ended
	token, end := lasting(id, "alice", longEnough(8*time.Second, time.Since(began)))
	x := openExpiring(t, f, edges, token, "expiring")
	x.renew(t, edges, fresh)
	streams := x.streams

	if m := streams["listen"].response(); m.result(t)["resultType"] != "complete" {
		t.Errorf("a listen ends with %s", m.raw)
	}
	for _, name := range []string{"listen", "sse", "standalone"} {
		streams[name].end()
		if early := time.Until(end); early > 0 {
			t.Errorf("%s ended %v before its token", name, early)
		}
	}
	x.ends.request("ping", "").want(http.StatusUnauthorized)

	// What was renewed lives on, and what runs ends by itself.
	time.Sleep(time.Until(end.Add(4 * time.Second)))
	close(f.gate("expiring"))
	<-f.ended
	streams["call"].awaitMethod("notifications/progress")
	streams["call"].awaitMethod("notifications/progress")
	if got := text(t, streams["call"].message().result(t)); got != "passed expiring" {
		t.Errorf("got %q", got)
	}
	for _, name := range []string{"renewed", "sse renewed"} {
		if streams[name].over() {
			t.Errorf("%s has ended", name)
		}
	}
}

// TestStreamsEndWithTheKey: when an API key is taken out of the file, the streams end that were opened with it, as they do
// with a token. A call runs to its end, and what somebody else has open stays.
func TestStreamsEndWithTheKey(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	file := filepath.Join(t.TempDir(), "keys.yaml")
	write := func(names ...string) {
		text := "[]\n"
		for i, name := range names {
			if i == 0 {
				text = ""
			}
			text += fmt.Sprintf("- {name: %s, sha256: %x}\n", name, sha256.Sum256([]byte("key-of-"+name)))
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ci", "cd")
	f, edges, _ := startReplicas(t, 1, withAuth(id), func(c *config.Config) { c.Auth.APIKeys = file })
	of := func(key string) map[string]*stream {
		c := newCaller(t, "http://"+edges[0].Host+"/sse")
		c.as(key)
		streams := map[string]*stream{
			"standalone": sessionAs(t, edges[0], vNov, key).get("").events(),
			"listen":     statelessAs(t, edges[0], key).request("subscriptions/listen", map[string]any{"notifications": map[string]bool{"toolsListChanged": true}}).events(),
			"sse":        c.send(t, "GET", "").want(200).events(),
		}
		streams["sse"].next() // its endpoint
		return streams
	}
	revoked, kept := of("key-of-ci"), of("key-of-cd")
	call := sessionAs(t, edges[0], vNov, "key-of-ci").callWithProgress("gate", `{"name":"revoked"}`, "p").events()
	<-f.started

	write("cd")
	if m := revoked["listen"].response(); m.result(t)["resultType"] != "complete" {
		t.Errorf("a listen ends with %s", m.raw)
	}
	for _, s := range revoked {
		s.end()
	}
	for name, s := range kept {
		if s.over() {
			t.Errorf("%s of another key has ended", name)
		}
	}
	close(f.gate("revoked"))
	<-f.ended
	if got := text(t, call.response().result(t)); got != "passed revoked" {
		t.Errorf("got %q", got)
	}
}

// TestRotationUnderLoad: an issuer signs with a new key, and no call is refused.
func TestRotationUnderLoad(t *testing.T) {
	id := issuer.Serve(t)
	_, e := startFixture(t, withAuth(id))
	var calls, refused atomic.Int64
	stop := make(chan struct{})
	var work sync.WaitGroup
	for n := range 8 {
		c := newStateless(t, e.URL)
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c.as(id.Token(fmt.Sprint("user", n), public))
				calls.Add(1)
				if r := c.call("add", `{"a":1,"b":2}`); r.status != 200 {
					refused.Add(1)
					t.Logf("%d %s", r.status, r.body)
				}
			}
		})
	}
	await.Until(t, "calls with the first key", func() bool { return calls.Load() >= 40 })
	id.Rotate()
	more := calls.Load() + 60
	await.Until(t, "calls with the next key", func() bool { return calls.Load() >= more })
	close(stop)
	work.Wait()
	if refused.Load() > 0 {
		t.Errorf("%d of %d calls were refused", refused.Load(), calls.Load())
	}
}

// TestBogusTokens: tokens in masses that name keys which nobody has cause few fetches and few lines of log.
func TestBogusTokens(t *testing.T) {
	id := issuer.Serve(t)
	_, e := startFixture(t, withAuth(id))
	statelessAs(t, e, id.Token("alice", public)).call("add", `{"a":1,"b":2}`).want(200)
	const line = "credentials were refused"
	before, began := id.Fetches.Load(), time.Now()
	var work sync.WaitGroup
	bogus := issuer.New(id.URL)
	for n := range 8 {
		c := newStateless(t, e.URL)
		work.Go(func() {
			for i := range 250 {
				c.as(bogus.Sign(bogus.Claims("alice", public), map[string]any{"kid": fmt.Sprint(n, "-", i)}))
				if r := c.call("add", `{"a":1,"b":2}`); r.status != 401 {
					t.Errorf("%d %s", r.status, r.body)
				}
			}
		})
	}
	work.Wait()
	// One at once, and one for each half minute.
	if n, most := id.Fetches.Load()-before, 2+int64(time.Since(began)/(30*time.Second)); n > most {
		t.Errorf("2000 bogus tokens caused %d fetches, want at most %d", n, most)
	}
	// One at once, and one for each ten seconds.
	if n, most := strings.Count(e.Log.String(), line), 2+int(time.Since(began)/(10*time.Second)); n > most {
		t.Errorf("2000 bogus tokens caused %d lines of log, want at most %d", n, most)
	}
}

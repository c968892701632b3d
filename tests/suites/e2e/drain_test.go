package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestDrain: when the edge is told to stop, calls run to their end and reach their clients on the streams that
// they have, in every revision; then the standalone streams close.
func TestDrain(t *testing.T) {
	harness.OneProcess(t)
	f, e := startFixture(t, quickStreams, func(c *config.Config) { c.Shutdown.Delay = 200 * time.Millisecond })
	modern, june, nov := newStateless(t, e.URL), newSession(t, e.URL, vJun), newSession(t, e.URL, vNov)
	modern.progress = `"p"`
	calls := map[string]*stream{
		"modern": modern.call("gate", `{"name":"modern"}`).events(),
		"june":   june.callWithProgress("gate", `{"name":"june"}`, "p").events(),
		"nov":    nov.callWithProgress("gate", `{"name":"nov"}`, "p").events(),
	}
	standalone := nov.get("").want(http.StatusOK).events()
	for _, c := range calls {
		<-f.started
		c.awaitMethod("notifications/progress")
	}
	e.Stop()
	await.Until(t, "the edge drains", func() bool {
		r, err := newOperator(t, e).try(http.MethodGet, "/readyz", "")
		return err == nil && r.status == http.StatusServiceUnavailable
	})
	for name, c := range calls {
		close(f.gate(name))
		c.awaitMethod("notifications/progress")
		if got := text(t, c.message().result(t)); got != "passed "+name {
			t.Errorf("the call %s: %q", name, got)
		}
		c.end()
		if err := <-f.ended; err != nil {
			t.Errorf("a call was cancelled: %v", err)
		}
	}
	if last, ok := standalone.next(); !ok || last.Retry == "" || last.ID != "" || last.Data != "" {
		t.Errorf("before it closes, the standalone stream says %+v", last)
	}
	standalone.end()
	e.AwaitEnd(t)
}

// TestDrainUnderClientsThatNeverResume: one of two replicas goes while fifty clients have a call on a stream there, and
// the half of them a standalone stream. None ever comes back to a stream: no call is lost, and none is late.
func TestDrainUnderClientsThatNeverResume(t *testing.T) {
	const clients = 50
	f, edges, _ := startReplicas(t, 2, quickStreams)
	going, staying := edges[0], edges[1]
	sessions, calls, standalone := make([]*session, clients), make([]*stream, clients), []*stream{}
	for i := range sessions {
		// Handshakes and answers come to either replica, the calls' streams are at the one that goes.
		sessions[i] = newSession(t, edges[i%2].URL, stateful[i%len(stateful)])
		here := sessions[i].at(going)
		if i%5 == 0 {
			calls[i] = here.call("ask_model", "").want(http.StatusOK).events()
			continue
		}
		calls[i] = here.callWithProgress("gate", `{"name":"all"}`, "p").want(http.StatusOK).events()
		calls[i].awaitMethod("notifications/progress")
		<-f.started
		if i%2 == 0 {
			standalone = append(standalone, here.get("").want(http.StatusOK).events())
		}
	}
	going.Stop()
	await.Until(t, "the replica drains", func() bool {
		r, err := newOperator(t, going).try(http.MethodGet, "/readyz", "")
		return err == nil && r.status == http.StatusServiceUnavailable
	})
	close(f.gate("all"))
	for i, c := range calls {
		want := "passed all"
		if i%5 == 0 {
			want = "The model said word"
			sessions[i].at(staying).answer(c.awaitMethod("sampling/createMessage"), answers["sampling/createMessage"])
		} else {
			c.awaitMethod("notifications/progress")
		}
		if got := text(t, c.message().result(t)); got != want {
			t.Errorf("client %d was told %q, want %q", i, got, want)
		}
		c.end()
	}
	for _, s := range standalone {
		for _, ok := s.next(); ok; _, ok = s.next() {
		}
	}
	going.AwaitEnd(t)
	for i, s := range sessions {
		if got := s.at(staying).call("add", `{"a":1,"b":2}`).text(); got == "" {
			t.Errorf("client %d: the other replica answers with nothing", i)
		}
	}
}

// TestDrainDelay: until the delay is over the edge takes new work, and asks for the connection to be
// closed.
func TestDrainDelay(t *testing.T) {
	harness.OneProcess(t)
	// The delay is long enough for what is done in it, however slow the machine is.
	_, before := startFixture(t)
	began := time.Now()
	newStateless(t, before.URL).call("add", `{"a":1,"b":1}`).want(http.StatusOK)
	newSession(t, before.URL, vNov)
	delay := longEnough(2*time.Second, time.Since(began))
	_, e := startFixture(t, func(c *config.Config) { c.Shutdown.Delay = delay })
	c := newStateless(t, e.URL)
	e.Stop()
	await.Until(t, "connections close after their request", func() bool {
		return c.call("add", `{"a":1,"b":1}`).want(http.StatusOK).last
	})
	newSession(t, e.URL, vNov)
}

// TestDrainBeyondTheGrace: an edge whose calls do not end within the grace says how many there are, and of which backends.
func TestDrainBeyondTheGrace(t *testing.T) {
	harness.OneProcess(t)
	f, e := startFixture(t, quickStreams, func(c *config.Config) { c.Shutdown.Grace = 300 * time.Millisecond })
	modern, june := newStateless(t, e.URL), newSession(t, e.URL, vJun)
	modern.progress = `"p"`
	modern.call("gate", `{"name":"modern"}`).events()
	june.callWithProgress("gate", `{"name":"june"}`, "p").events()
	<-f.started
	<-f.started
	e.Stop()
	err := e.Wait(t)
	if err == nil || strings.Contains(err.Error(), "context deadline exceeded") || !strings.Contains(err.Error(), "drain: after the grace of 300ms calls had not ended: 2 of the backend \"") {
		t.Errorf("it ends with %v", err)
	}
}

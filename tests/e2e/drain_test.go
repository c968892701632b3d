package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
)

// TestDrain: when the edge is told to stop, calls run to their end and reach their clients; streams
// that can be resumed close after a hint, with an id to come back with.
func TestDrain(t *testing.T) {
	f, e := startFixture(t, quickStreams, func(c *config.Config) { c.DrainDelay = 200 * time.Millisecond })
	modern, june, nov := newStateless(t, e.url), newSession(t, e.url, vJun), newSession(t, e.url, vNov)
	modern.progress = `"p"`
	call := modern.call("gate", `{"name":"modern"}`).events()
	held := june.callWithProgress("gate", `{"name":"june"}`, "p").events()
	resumable := nov.callWithProgress("gate", `{"name":"nov"}`, "p").events()
	standalone := nov.get("").want(http.StatusOK).events()
	for range 3 {
		<-f.started
	}
	call.awaitMethod("notifications/progress")
	held.awaitMethod("notifications/progress")
	resumable.awaitMethod("notifications/progress")
	e.stop()
	last, ok := resumable.next()
	if !ok || last.Retry == "" || last.ID == "" || last.Data != "" {
		t.Errorf("before it closes, the stream says %+v", last)
	}
	resumable.end()
	standalone.end()
	for _, name := range []string{"modern", "june", "nov"} {
		close(f.gate(name))
	}
	call.awaitMethod("notifications/progress")
	if got := text(t, call.message().result(t)); got != "passed modern" {
		t.Errorf("the stateless call: %q", got)
	}
	held.awaitMethod("notifications/progress")
	if got := text(t, held.message().result(t)); got != "passed june" {
		t.Errorf("the call of a stream that cannot close early: %q", got)
	}
	for range 3 {
		if err := <-f.ended; err != nil {
			t.Errorf("a call was cancelled: %v", err)
		}
	}
	e.awaitEnd(t)
}

// TestDrainDelay: until the delay is over the edge takes new work, and asks for the connection to be
// closed.
func TestDrainDelay(t *testing.T) {
	_, e := startFixture(t, func(c *config.Config) { c.DrainDelay = 2 * time.Second })
	c := newStateless(t, e.url)
	e.stop()
	eventually(t, "connections close after their request", func() bool {
		return c.call("add", `{"a":1,"b":1}`).want(http.StatusOK).last
	})
	newSession(t, e.url, vNov)
}

package stdio_test

import (
	"strings"
	"testing"
	"time"
)

// began waits until the tool `gate` runs, and ended until it does not any more.
func (b *backend) began(t *testing.T, name string) {
	t.Helper()
	select {
	case got := <-b.started:
		if got != name {
			t.Fatalf("%s began, not %s", got, name)
		}
	case <-time.After(patience):
		t.Fatalf("%s did not begin", name)
	}
}

func (b *backend) cancelled(t *testing.T) {
	t.Helper()
	select {
	case err := <-b.ended:
		if err == nil {
			t.Error("the call passed the gate")
		}
	case <-time.After(patience):
		t.Fatal("the call was not cancelled")
	}
}

func TestCancellation(t *testing.T) {
	gate := map[string]func(e *edge, id string){
		"modern": func(e *edge, id string) { e.modern(id, "tools/call", `"name":"gate","arguments":{"name":"x"},`) },
		"legacy": func(e *edge, id string) {
			e.handshake("2025-11-25")
			e.legacy(id, "tools/call", `{"name":"gate","arguments":{"name":"x"},"_meta":{"progressToken":1}}`)
		},
	}
	cancel := map[string]string{
		"bare":   `{"requestId":"c","reason":"enough"}`,
		"tagged": `{"requestId":"c",` + meta + `}`,
	}
	for era, call := range gate {
		for form, params := range cancel {
			if era == "legacy" && form == "tagged" {
				continue // a legacy client knows no versions in _meta
			}
			t.Run(era+" "+form, func(t *testing.T) {
				b := newBackend()
				e := start(t, b)
				call(e, `"c"`)
				b.began(t, "x")
				e.method("notifications/progress")
				e.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":%s}`, params)
				b.cancelled(t)
				// The id is free again, and its next use is answered.
				e.modern(`"c"`, "tools/call", `"name":"echo","arguments":{"text":"again"},`)
				wants(t, e.response(`"c"`), `"text":"again"`)
				e.silent("something follows a cancellation", func(message) bool { return true })
			})
		}
	}
}

// A cancellation right behind its request finds it.
func TestCancellationDoesNotOvertake(t *testing.T) {
	b := newBackend()
	e := start(t, b)
	for range 200 {
		e.modern(`1`, "tools/call", `"name":"gate","arguments":{"name":"x"},`)
		e.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	}
	e.modern(`2`, "server/discover", "")
	e.response("2")
	e.silent("a cancelled request was answered", func(m message) bool { return string(m.ID) == "1" })
	close(b.open) // for what began all the same
}

func TestListenIsCancelledByTheClient(t *testing.T) {
	b := newBackend()
	e := start(t, b)
	e.modern(`1`, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["test://note"]},`)
	e.method("notifications/subscriptions/acknowledged")
	e.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	e.modern(`2`, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["test://note"]},`)
	e.method("notifications/subscriptions/acknowledged")
	b.ResourceUpdated("test://note")
	wants(t, e.method("notifications/resources/updated"), `subscriptionId":2`)
	e.silent("something follows a cancellation", func(m message) bool {
		return string(m.ID) == "1" || strings.Contains(m.raw, `subscriptionId":1`)
	})
}

func TestListenIsEndedByTheServer(t *testing.T) {
	e := start(t, newBackend())
	e.modern(`"l"`, "subscriptions/listen", `"notifications":{"toolsListChanged":true},`)
	e.method("notifications/subscriptions/acknowledged")
	e.Stop()
	wants(t, e.method("notifications/cancelled"), `"requestId":"l"`)
	wants(t, e.response(`"l"`), `"resultType":"complete"`, `subscriptionId":"l"`)
	e.awaitEnd()
}

func TestEndOfInputWithCallsInFlight(t *testing.T) {
	b := newBackend()
	e := start(t, b)
	e.handshake("2025-11-25")
	e.legacy("1", "tools/call", `{"name":"gate","arguments":{"name":"l"}}`)
	b.began(t, "l")
	e.modern("2", "tools/call", `"name":"gate","arguments":{"name":"m"},`)
	b.began(t, "m")
	_ = e.In.Close()
	close(b.open)
	wants(t, e.response("1"), "passed l")
	wants(t, e.response("2"), "passed m")
	e.awaitEnd()
}

func TestEndOfInputCancelsRunningCalls(t *testing.T) {
	b := newBackend()
	e := start(t, b)
	e.handshake("2025-11-25")
	e.legacy("1", "tools/call", `{"name":"gate","arguments":{"name":"l"}}`)
	b.began(t, "l")
	e.modern("2", "tools/call", `"name":"gate","arguments":{"name":"m"},`)
	b.began(t, "m")
	_ = e.In.Close()
	e.awaitEnd()
	b.cancelled(t)
	b.cancelled(t)
	e.silent("a modern call was answered after its cancellation", func(m message) bool { return string(m.ID) == "2" })
}

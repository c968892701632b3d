package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// TestPostedAgain: a request that a client or a proxy posts again, with its id, while the call has a stream, does not run again, whichever
// replica gets it, and is refused alike by all; the first one has its response.
func TestPostedAgain(t *testing.T) {
	f, edges, _ := startReplicas(t, 2, quickStreams)
	for _, version := range stateful {
		for name, held := range map[string]bool{"which holds the session": true, "which does not": false} {
			t.Run(version+", at a replica "+name, func(t *testing.T) {
				a := newSession(t, edges[0].URL, version)
				b := a.at(edges[1])
				if held {
					b.call("add", `{"a":1,"b":2}`).text()
				}
				gate := strings.ReplaceAll(t.Name(), "/", " ")
				body := envelope("77", "tools/call", toolParams("gate", `{"name":"`+gate+`"}`, `"progressToken":"p"`))
				stream := a.post(body).want(http.StatusOK).events()
				await.Receive(t, "the call at the backend", f.started)
				stream.awaitMethod("notifications/progress")

				want := string(a.post(body).json().wantError(t, -32600).raw)
				if held { // What tells it is on its way.
					harmless := envelope("77", "tools/call", toolParams("add", `{"a":1,"b":2}`, ""))
					await.Until(t, "the other replica knows the id", func() bool { return string(b.post(harmless).final().raw) == want })
				}
				if got := string(b.post(body).json().raw); got != want {
					t.Errorf("the other replica answers %s, want %s", got, want)
				}
				if version == vMar {
					if got := strings.TrimSpace(string(b.post("[" + body + "]").body)); got != "["+want+"]" {
						t.Errorf("a batch is answered by %s", got)
					}
				}
				b.call("add", `{"a":1,"b":2}`).text()

				close(f.gate(gate))
				if err := await.Receive(t, "the end of the call", f.ended); err != nil {
					t.Error(err)
				}
				stream.awaitMethod("notifications/progress")
				if got := text(t, stream.message().result(t)); got != "passed "+gate {
					t.Errorf("the call gave %q", got)
				}
				stream.end()
				select {
				case name := <-f.started:
					t.Errorf("%s ran again", name)
				default:
				}
				// The id is free with the response.
				if got := text(t, b.post(envelope("77", "tools/call", toolParams("add", `{"a":1,"b":2}`, ""))).result()); got != `{"sum":3}` {
					t.Errorf("the id is not free: %q", got)
				}
			})
		}
	}
	t.Run(v2024+" over HTTP+SSE", func(t *testing.T) {
		open := newCaller(t, "http://"+edges[0].Host+"/sse").send(t, http.MethodGet, "").want(http.StatusOK).events()
		endpoint, _ := open.next()
		a, b := newCaller(t, "http://"+edges[0].Host+endpoint.Data), newCaller(t, "http://"+edges[1].Host+endpoint.Data)
		a.send(t, http.MethodPost, envelope("1", "initialize", `{"protocolVersion":"`+v2024+`","capabilities":{},"clientInfo":`+clientInfo+`}`)).want(http.StatusAccepted)
		open.response()
		body := envelope("77", "tools/call", toolParams("gate", `{"name":"sse"}`, `"progressToken":"p"`))
		a.send(t, http.MethodPost, body).want(http.StatusAccepted)
		await.Receive(t, "the call at the backend", f.started)
		open.awaitMethod("notifications/progress")
		for _, c := range []*caller{a, b} {
			c.send(t, http.MethodPost, body).want(http.StatusAccepted)
			open.message().wantError(t, -32600)
		}
		close(f.gate("sse"))
		await.Receive(t, "the end of the call", f.ended)
		if got := text(t, open.response().result(t)); got != "passed sse" {
			t.Errorf("the call gave %q", got)
		}
		open.close()
	})
}

// TestPostedAgainAfterALoss: a client whose replica was lost posts its request again, with its id, to another, before that has taken the call
// over: the call, which may not be run again, has one response in its log, and did not run twice.
func TestPostedAgainAfterALoss(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, version := range stateful {
		t.Run(version, func(t *testing.T) {
			f := newFixture()
			p := startPair(t, f.Server)
			a := newSession(t, p.first.URL, version)
			body := envelope("77", "tools/call", toolParams("gate", `{"name":"lost"}`, `"progressToken":"p"`))
			stream := a.post(body).want(http.StatusOK).events()
			await.Receive(t, "the call at the backend", f.started)
			stream.awaitMethod("notifications/progress")
			last := stream.lastID
			p.lose()
			b := a.at(p.second)
			b.post(body).json().wantError(t, -32600)
			b.get(last).want(http.StatusOK).events().response().wantError(t, -31520)
			select {
			case <-f.started:
				t.Error("it ran again")
			default:
			}
			stream.close()
			p.back()
		})
	}
}

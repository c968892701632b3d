package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/config"
)

func optionalSessions(c *config.Config) { c.Sessions.Required = false }

// forgetful is a client of a revision with sessions that does not send its session's id.
type forgetful struct {
	*caller
	t       *testing.T
	version string // empty sends no version
}

func (f *forgetful) post(body string) *reply {
	f.t.Helper()
	var h []string
	if f.version != "" {
		h = []string{"MCP-Protocol-Version", f.version}
	}
	return f.send(f.t, http.MethodPost, body, h...)
}

func (f *forgetful) ask(method, params string) *reply {
	f.t.Helper()
	return f.post(envelope("7", method, params))
}

// exchanges are requests that a session serves, by what they show.
var exchanges = []struct{ name, method, params string }{
	{"ping", "ping", ""},
	{"ping with params", "ping", `{"_meta":{"progressToken":1}}`},
	{"tools", "tools/list", ""},
	{"bad cursor", "tools/list", `{"cursor":"x"}`},
	{"resources", "resources/list", "{}"},
	{"templates", "resources/templates/list", ""},
	{"prompts", "prompts/list", ""},
	{"call", "tools/call", `{"name":"add","arguments":{"a":1,"b":2}}`},
	{"progress and logs", "tools/call", `{"name":"count","arguments":{"to":3},"_meta":{"progressToken":"p"}}`},
	{"content", "tools/call", `{"name":"rich"}`},
	{"no such tool", "tools/call", `{"name":"nothing"}`},
	{"no name", "tools/call", `{}`},
	{"twice", "tools/call", `{"name":"add","name":"echo"}`},
	{"no object", "tools/call", `[]`},
	{"misfit", "tools/call", `{"name":"add","arguments":{"a":"x"}}`},
	{"header of the other era", "tools/call", `{"name":"region","arguments":{"region":"eu"}}`},
	{"fails", "tools/call", `{"name":"fail_plain"}`},
	{"fails on an argument", "tools/call", `{"name":"fail_argument"}`},
	{"unavailable", "tools/call", `{"name":"fail_unavailable"}`},
	{"exhausted", "tools/call", `{"name":"fail_exhausted"}`},
	{"denied", "tools/call", `{"name":"fail_denied"}`},
	{"state of the other era", "tools/call", `{"name":"add","arguments":{"a":1,"b":2},"requestState":"x","inputResponses":{"name":{}}}`},
	{"read", "resources/read", `{"uri":"test://note"}`},
	{"binary", "resources/read", `{"uri":"test://bytes"}`},
	{"template", "resources/read", `{"uri":"test://item/1"}`},
	{"no such resource", "resources/read", `{"uri":"test://nothing"}`},
	{"prompt", "prompts/get", `{"name":"greet","arguments":{"name":"Ada"}}`},
	{"no such prompt", "prompts/get", `{"name":"nothing"}`},
	{"completion", "completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"A"}}`},
	{"discover", "server/discover", ""},
	{"listen", "subscriptions/listen", "{}"},
	{"skills", "skills/list", ""},
	{"no such method", "nothing/at-all", ""},
	{"of tasks of the extension", "tasks/update", `{"taskId":"x"}`},
	{"asks the user", "tools/call", `{"name":"ask_name"}`},
	{"asks the model", "tools/call", `{"name":"ask_model"}`},
	{"asks for roots", "tools/call", `{"name":"ask_roots"}`},
	{"asks for all", "tools/call", `{"name":"ask_all"}`},
	{"asks for a page", "tools/call", `{"name":"ask_url"}`},
	{"prompt that asks", "prompts/get", `{"name":"ask_prompt"}`},
	{"resource that asks", "resources/read", `{"uri":"test://asked"}`},
}

// advice is in the text of what asks the client of a request without a session.
const advice = "; the request names no session, so that its client cannot be asked anything: " +
	"the client must send the Mcp-Session-Id of the response to its initialize with every request"

// rendered is what a client receives, without what only a session has: event ids and priming.
func rendered(r *reply) string {
	out := fmt.Sprintf("%d %s\n", r.status, r.header.Get("Content-Type"))
	if r.stream == nil {
		return out + string(r.body)
	}
	for {
		ev, ok := r.stream.next()
		if !ok {
			return out
		}
		if ev.Data != "" {
			out += ev.Data + "\n"
		}
	}
}

// Without its session a request gets what it gets in a session whose client declares nothing, in every revision. What asks says that the
// client must send its session's id.
func TestWithoutSessionAsWithOne(t *testing.T) {
	t.Parallel() // it waits for most of its time
	_, e := startFixture(t, optionalSessions)
	for _, version := range []string{"2024-11-05", vMar, vJun, vNov} {
		s := newSession(t, e.URL, version, "{}")
		f := &forgetful{caller: newCaller(t, e.URL), t: t, version: version}
		for _, x := range exchanges {
			t.Run(version+" "+x.name, func(t *testing.T) {
				f.t, s.t = t, t
				with, without := rendered(s.post(envelope("7", x.method, x.params))), rendered(f.ask(x.method, x.params))
				if asks := strings.Contains(" "+x.name, " asks"); asks != strings.Contains(without, advice) {
					t.Errorf("asks: %t: %s", asks, without)
				}
				if without = strings.Replace(without, advice, "", 1); with != without {
					t.Errorf("with a session\n%s\nwithout\n%s", with, without)
				}
			})
		}
	}
}

// A request without a version is of 2025-03-26, and what a session alone can serve says so.
func TestWithoutSessionRefuses(t *testing.T) {
	_, e := startFixture(t, optionalSessions)
	plain := &forgetful{caller: newCaller(t, e.URL), t: t}
	if with, without := rendered(plain.ask("tools/call", `{"name":"rich"}`)), rendered((&forgetful{caller: plain.caller, t: t, version: vMar}).ask("tools/call", `{"name":"rich"}`)); with != without {
		t.Errorf("%s\nwant\n%s", with, without)
	}
	nov := &forgetful{caller: plain.caller, t: t, version: vNov}
	// A request gets an error with the status 200, with which no client gives up the connection.
	for status, bodies := range map[int][]string{http.StatusOK: {
		envelope("7", "resources/subscribe", `{"uri":"test://note"}`), envelope("7", "resources/unsubscribe", `{"uri":"test://note"}`),
		envelope("7", "logging/setLevel", `{"level":"debug"}`), envelope("7", "tasks/list", ""), envelope("7", "tasks/get", `{"taskId":"x"}`),
		envelope("7", "tasks/result", `{"taskId":"x"}`), envelope("7", "tasks/cancel", `{"taskId":"x"}`),
		envelope("7", "tools/call", `{"name":"add","arguments":{"a":1,"b":2},"task":{}}`),
	}, http.StatusBadRequest: {
		"[" + envelope("7", "ping", "") + "]", "[" + envelope("", "notifications/initialized", "") + "]",
		`{"jsonrpc":"2.0","id":7,"result":{}}`, `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}`,
	}} {
		for _, body := range bodies {
			r := nov.post(body).want(status)
			if text := string(r.body); !strings.Contains(text, "session") || !strings.Contains(text, "initialize") || !strings.Contains(text, "-32600") {
				t.Errorf("%s: %s", body, text)
			}
		}
	}
	for _, body := range []string{
		envelope("", "notifications/initialized", ""), envelope("", "notifications/cancelled", `{"requestId":7}`), envelope("", "notifications/roots/list_changed", ""),
	} {
		nov.post(body).want(http.StatusAccepted)
	}
	nov.send(t, http.MethodGet, "", "MCP-Protocol-Version", vNov).want(http.StatusMethodNotAllowed)
	nov.send(t, http.MethodDelete, "", "MCP-Protocol-Version", vNov).want(http.StatusBadRequest)
	nov.send(t, http.MethodPost, envelope("7", "ping", ""), "MCP-Protocol-Version", "2025-01-01").want(http.StatusBadRequest)
	nov.send(t, http.MethodPost, envelope("7", "ping", ""), "MCP-Protocol-Version", vNov, "Mcp-Session-Id", "unknown").want(http.StatusNotFound)
}

// A client that does not send its session's id works from initialize on, and one that does has its session.
func TestForgetfulClient(t *testing.T) {
	_, e := startFixture(t, optionalSessions)
	f := &forgetful{caller: newCaller(t, e.URL), t: t, version: vNov}
	f.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":`+clientInfo+`}`).want(http.StatusOK)
	f.post(envelope("", "notifications/initialized", "")).want(http.StatusAccepted)
	f.ask("tools/call", `{"name":"add","arguments":{"a":1,"b":2}}`).want(http.StatusOK)
	s := newSession(t, e.URL, vNov)
	if !strings.Contains(s.id, ".") {
		t.Errorf("the id %q is not sealed", s.id)
	}
	checkLists(t, s)
	checkEnd(t, s)
}

// The client's disconnect cancels a call without a session, and a notification of another request does not.
func TestWithoutSessionIsCancelled(t *testing.T) {
	f, e := startFixture(t, optionalSessions)
	client := &forgetful{caller: newCaller(t, e.URL), t: t, version: vNov}
	open := client.ask("tools/call", `{"name":"gate","arguments":{"name":"left"},"_meta":{"progressToken":1}}`).events()
	open.next()
	client.post(envelope("", "notifications/cancelled", `{"requestId":7}`)).want(http.StatusAccepted)
	select {
	case err := <-f.ended:
		t.Fatalf("the call ended: %v", err)
	default:
	}
	open.close()
	if err := <-f.ended; err == nil {
		t.Error("the call was not cancelled")
	}
}

// A request without a session, and one with the session of another principal, has nothing of that session, and changes nothing in it.
func TestWithoutSessionOfAVictim(t *testing.T) {
	f, e := startFixture(t, optionalSessions, twoSets)
	victim := newSession(t, e.URL, vNov)
	victim.request("resources/subscribe", `{"uri":"test://note"}`).want(http.StatusOK)
	listening := victim.get("").want(http.StatusOK).events()
	asked := victim.call("ask_name", "{}").events()
	question := asked.awaitMethod("elicitation/create")
	attacker := &forgetful{caller: newCaller(t, e.URL), t: t, version: vNov}
	for _, x := range exchanges {
		if x.method != "subscriptions/listen" {
			rendered(attacker.ask(x.method, x.params))
		}
	}
	for _, body := range []string{
		envelope("", "notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, victim.next.Load())), envelope("7", "resources/unsubscribe", `{"uri":"test://note"}`),
		envelope("7", "logging/setLevel", `{"level":"debug"}`), `{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"action":"decline"}}`,
		"[" + `{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"action":"decline"}}` + "]",
	} {
		attacker.post(body)
		// At the endpoint of a set the session does not exist.
		newCaller(t, atSet(e, "sums")).send(t, http.MethodPost, body, "Mcp-Session-Id", victim.id).want(http.StatusNotFound)
	}
	victim.answer(question, `{"action":"accept","content":{"name":"Ada"}}`)
	if text := string(asked.response().raw); !strings.Contains(text, "Hello, Ada") {
		t.Errorf("%s", text)
	}
	f.setNote("changed")
	for {
		if ev, _ := listening.next(); strings.Contains(ev.Data, "resources/updated") {
			break
		}
	}
}

// On replicas that share a Redis, an initialize that nothing follows leaves nothing there and counts against no bound, first uses of an
// id at several replicas at once all succeed, and an id whose session has ended is of no use at any replica.
func TestOptionalSessionsInRedis(t *testing.T) {
	t.Parallel() // it waits for most of its time
	_, edges, server := startReplicas(t, 2, optionalSessions, func(c *config.Config) { c.Clients.Sessions, c.Advanced.SessionsPerAddress = 1, 1000 })
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	records := func() int {
		n := 0
		for keys := client.Scan(t.Context(), 0, "*", 1000).Iterator(); keys.Next(t.Context()); {
			if strings.Contains(keys.Val(), ":{") { // of sessions, principals and callers
				n++
			}
		}
		return n
	}
	before := records()
	s := &session{caller: newCaller(t, edges[0].URL), t: t, version: vNov, next: new(atomic.Int64)}
	var id string
	for range 10_000 {
		r := s.send(t, http.MethodPost, envelope("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":`+clientInfo+`}`)).want(http.StatusOK)
		id = r.header.Get("Mcp-Session-Id")
	}
	if n := records(); n != before {
		t.Errorf("%d keys, before %d", n, before)
	}
	s.id = id
	var work sync.WaitGroup
	for i := range 8 {
		at := s.at(edges[i%2])
		work.Go(func() {
			if r := at.request("tools/list", ""); r.status != http.StatusOK {
				t.Errorf("replica %d: %d %s", i%2, r.status, r.body)
			}
		})
	}
	work.Wait()
	s.at(edges[1]).delete().want(http.StatusNoContent)
	for _, e := range edges {
		s.at(e).request("tools/list", "").want(http.StatusNotFound)
		s.at(e).delete().want(http.StatusNotFound)
	}
}

// A call that must be confirmed does not run without a session, in any revision.
func TestConfirmWithoutSession(t *testing.T) {
	w := newWiper()
	e := startEdge(t, only(startService(t, w.Server)), toConfirm, optionalSessions)
	for _, version := range stateful {
		f := &forgetful{caller: newCaller(t, e.URL), t: t, version: version}
		for _, tool := range []string{"wipe", "job", "twice"} {
			if m := f.ask("tools/call", toolParams(tool, `{"path":"a"}`, "")).final().wantError(t, -31403); !strings.Contains(m.Error.Message, advice) {
				t.Errorf("%s: %s", version, m.Error.Message)
			}
		}
		f.ask("tools/call", toolParams("look", `{"path":"a"}`, "")).want(http.StatusOK)
	}
	w.ran(t, int64(len(stateful)))
}

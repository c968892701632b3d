package e2e

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// twins is a backend with two tools that ask. It records each round of them, with the tenant, and each answer.
type twins struct {
	*capability.Server
	mu  sync.Mutex
	got []string
}

func newTwins() *twins {
	s := &twins{Server: capability.New("twins", "1.0.0")}
	type in struct {
		Tenant string `json:"tenant"`
	}
	for _, name := range []string{"left", "right"} {
		capability.AddTool(s.Server, name, "Is the "+name+" one", func(_ context.Context, c *capability.Call, in in) (string, error) {
			what := name + " of " + in.Tenant
			s.record(what)
			who, err := capability.Ask[person](c, "name", "Who?")
			if err != nil {
				return "", err
			}
			what += " by " + who.Name
			s.record(what)
			return what, nil
		}, capability.Tasks(capability.TaskOptional))
	}
	capability.AddTool(s.Server, "probe", "Returns the tenant", func(_ context.Context, _ *capability.Call, in in) (string, error) { return in.Tenant, nil })
	return s
}

func (s *twins) record(what string) {
	s.mu.Lock()
	s.got = append(s.got, what)
	s.mu.Unlock()
}

// take returns the rounds that were recorded, and forgets them.
func (s *twins) take() (got []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got, s.got = s.got, nil
	return got
}

// waiting answers, at another replica and with a token, a call that asks there. It returns the response; refused says that it is an error.
type waiting func(e *harness.Edge, token string) (response string, refused bool)

// askedCalls are ways to begin a call of a tool that asks.
var askedCalls = map[string]func(t *testing.T, e *harness.Edge, token, tool string) waiting{
	"session": func(t *testing.T, e *harness.Edge, token, tool string) waiting {
		s := sessionAs(t, e, vNov, token)
		stream := s.call(tool, `{}`).want(http.StatusOK).events()
		question, last := stream.awaitMethod("elicitation/create"), stream.lastID
		return func(e *harness.Edge, token string) (string, bool) {
			stream.close()
			there := s.seenBy(e, token)
			there.answer(question, answers["elicitation/create"])
			return isRefused(&reply{t: t, body: there.get(last).want(http.StatusOK).events().message().raw})
		}
	},
	v2026: func(t *testing.T, e *harness.Edge, token, tool string) waiting {
		again := retry(t, statelessAs(t, e, token).call(tool, `{}`).result(), `{"name":`+answers["elicitation/create"]+`}`)
		return func(e *harness.Edge, token string) (string, bool) {
			return isRefused(statelessAs(t, e, token).call(tool, `{}`, again))
		}
	},
	"task": func(t *testing.T, e *harness.Edge, token, tool string) waiting {
		s := sessionAs(t, e, vNov, token)
		id, _ := dig(s.request("tools/call", `{"name":"`+tool+`","arguments":{},"task":{}}`).want(http.StatusOK).result(), "task", "taskId").(string)
		await.Until(t, "the task to ask", func() bool {
			return s.request("tasks/get", `{"taskId":"`+id+`"}`).result()["status"] == "input_required"
		})
		return func(e *harness.Edge, token string) (string, bool) {
			there := s.seenBy(e, token)
			stream := there.request("tasks/result", `{"taskId":"`+id+`"}`).want(http.StatusOK).events()
			there.answer(stream.awaitMethod("elicitation/create"), answers["elicitation/create"])
			return isRefused(&reply{t: t, body: stream.message().raw})
		}
	},
}

// TestSwapWhileAsked: a call asks, a reload swaps the names of two tools, its replica is lost, and the answer arrives at another. With the
// same claim the same tool runs once, with the same pinned value. With another claim, or after the pin has changed, nothing runs.
func TestSwapWhileAsked(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, s := issuer.Serve(t), newTwins()
	service := startService(t, s.Server)
	write, set := settingsFile(t)
	settings := func(left, right, tenant string) string {
		pin := ", arguments: {tenant: {from: '" + tenant + "'}}}\n"
		return "backends: [{name: fixture, target: '" + service.Addr + "'}]\ncatalog:\n  tools:\n" +
			"    - {backend: fixture, tool: left, name: " + left + pin + "    - {backend: fixture, tool: right, name: " + right + pin + "    - {backend: fixture, tool: probe" + pin
	}
	const claim = "principal.claims.tenant"
	write(settings("one", "two", claim))
	p := startPairBefore(t, only(service), withAuth(id), set, withKeys(stateKey('k')), func(c *config.Config) { c.Backends[0].Name = "fixture" })
	acme, other := id.Token("alice", public, map[string]any{"tenant": "acme"}), id.Token("alice", public, map[string]any{"tenant": "other"})
	begun := map[string][3]waiting{} // for the same claim, another claim, and a changed pin
	for kind, begin := range askedCalls {
		var calls [3]waiting
		for i := range calls {
			calls[i] = begin(t, p.first, acme, "one")
		}
		begun[kind] = calls
	}
	const began = "left of acme"
	if got := s.take(); len(got) != 9 || slices.ContainsFunc(got, func(what string) bool { return what != began }) {
		t.Fatalf("the backend got %q", got)
	}
	write(settings("two", "one", claim))
	second := statelessAs(t, p.second, acme)
	await.Until(t, "the names to be swapped", func() bool {
		one := named(t, second.ask("tools/list", `{}`).want(http.StatusOK).result()["tools"], "one")
		return one["description"] == "Is the right one"
	})
	p.lose()
	refuses := func(what, token string, i int) {
		t.Helper()
		for kind, calls := range begun {
			response, refused := calls[i](p.second, token)
			if got := s.take(); !refused || len(got) > 0 || strings.Contains(response, "acme") || strings.Contains(response, "tenant") {
				t.Errorf("%s, %s: the backend got %q: %s", kind, what, got, response)
			}
		}
	}
	refuses("with another claim", other, 1)
	for kind, calls := range begun {
		const want = began + " by Ada"
		response, refused := calls[0](p.second, acme)
		if got := s.take(); refused || !slices.Equal(got, []string{began, want}) || !strings.Contains(response, want) {
			t.Errorf("%s: the backend got %q, want %q once: %s", kind, got, want, response)
		}
	}
	write(settings("two", "one", claim+` + "-2"`))
	await.Until(t, "the pin to be another", func() bool { return second.call("probe", `{}`).text() == "acme-2" })
	refuses("after the pin has changed", acme, 2)
}

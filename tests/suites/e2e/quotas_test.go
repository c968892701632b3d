package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// quota is a budget of so many calls, which is regained after hours.
func quota(per string, burst int, tools ...string) config.Quota {
	return config.Quota{Per: per, Tools: tools, Rate: "1/h", Burst: burst}
}

// overQuota checks how a call beyond a quota is answered.
func overQuota(t *testing.T, r *reply, rule string) {
	t.Helper()
	overQuotaUntil(t, r, rule, 3600)
}

// overQuotaUntil: a call is regained after so many seconds.
func overQuotaUntil(t *testing.T, r *reply, rule string, regained int) {
	t.Helper()
	tooMany(t, r)
	if after, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || after < regained-100 || after > regained {
		t.Errorf("Retry-After: %q; want the seconds until a call is regained, nearly %d", r.header.Get("Retry-After"), regained)
	}
	if m := r.json(); !strings.Contains(m.Error.Message, strconv.Quote(rule)) || !strings.Contains(m.Error.Message, "try again in") {
		t.Errorf("the message %q does not name the rule %q and when to try again", m.Error.Message, rule)
	}
}

// TestQuota: calls of tools beyond a quota are refused, in either era, and nothing else is.
func TestQuota(t *testing.T) {
	_, e := startFixture(t, func(c *config.Config) { c.Quotas = []config.Quota{quota("tool", 2, "add"), quota("tool", 1, "ask_*")} })
	s, c := newSession(t, e.URL, vNov), newStateless(t, e.URL)
	const sum = `{"a":1,"b":2}`
	for range 3 {
		if got := s.call("add", `{"a":"no number"}`).want(http.StatusOK).text(); !strings.Contains(got, "do not fit") {
			t.Errorf("arguments that do not fit the schema, which cost nothing: %s", got)
		}
	}
	s.call("add", sum).want(http.StatusOK)
	c.call("add", sum).want(http.StatusOK)
	for _, version := range stateful {
		overQuota(t, newSession(t, e.URL, version).call("add", sum), "tool add")
	}
	overQuota(t, c.call("add", sum), "tool add")
	s.call("gate", `{}`).want(http.StatusOK) // without a name it is refused at once
	s.request("tools/list", "").want(http.StatusOK)
	s.call("nothing", "").want(http.StatusOK).json().wantError(t, -32602)

	// A call of a session is counted once, whatever its rounds.
	asked := s.call("ask_name", "").events()
	s.answer(asked.awaitMethod("elicitation/create"), answers["elicitation/create"])
	if got := text(t, asked.message().result(t)); got != "Hello, Ada" {
		t.Errorf("a call that asks, within its quota: %q", got)
	}
	overQuota(t, s.call("ask_name", ""), "tool ask_*")
	overQuota(t, c.call("ask_name", ""), "tool ask_*")
}

// TestQuotaOfRounds: without a session a round can be sent again as often as the client likes, so each counts.
func TestQuotaOfRounds(t *testing.T) {
	_, e := startFixture(t, func(c *config.Config) { c.Quotas = []config.Quota{quota("tool", 3, "ask_name")} })
	c := newStateless(t, e.URL)
	asked := c.call("ask_name", "").result()
	again := retry(t, asked, `{"name":`+answers["elicitation/create"]+`}`)
	for range 2 {
		if got := c.call("ask_name", "", again).text(); got != "Hello, Ada" {
			t.Errorf("a round within the quota: %q", got)
		}
	}
	overQuota(t, c.call("ask_name", "", again), "tool ask_name")
}

// TestQuotaOverREST: the REST API says when to try again, too.
func TestQuotaOverREST(t *testing.T) {
	e := startEdge(t, only(startService(t, newFixture().Server)), func(c *config.Config) { c.Quotas = []config.Quota{quota("tool", 1, "add")} })
	for i := range 2 {
		resp, err := http.Post("http://"+e.Admin+"/v1/tools/add:call", "application/json", strings.NewReader(`{"arguments":{"a":1,"b":2}}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		switch {
		case i == 0 && resp.StatusCode != http.StatusOK:
			t.Fatalf("the first call: %s", resp.Status)
		case i == 1 && (resp.StatusCode != http.StatusTooManyRequests || after < 3500 || after > 3600):
			t.Errorf("beyond the quota: %s, Retry-After %q", resp.Status, resp.Header.Get("Retry-After"))
		}
	}
}

// TestQuotaInBand: where no status can say it, the response does.
func TestQuotaInBand(t *testing.T) {
	_, e := startFixture(t, func(c *config.Config) { c.Quotas = []config.Quota{quota("principal", 1)} })
	s := newSession(t, e.URL, vMar)
	batch := "[" + envelope("11", "tools/call", toolParams("add", `{"a":1,"b":2}`, "")) + "," + envelope("12", "tools/call", toolParams("add", `{"a":1,"b":2}`, "")) + "]"
	r := s.post(batch).want(http.StatusOK)
	var all []message
	if err := json.Unmarshal(r.body, &all); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, m := range all {
		if m.Error != nil {
			m.wantError(t, -31429)
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d of two calls in a batch were refused; the quota is one", failed)
	}
}

// TestQuotaOfReplicas: replicas admit what the quota says together, each its share while Redis is away, and together again.
func TestQuotaOfReplicas(t *testing.T) {
	t.Parallel() // it waits for most of its time
	const burst = 30
	_, edges, server := startReplicas(t, 3, func(c *config.Config) {
		c.Quotas = []config.Quota{quota("tool", burst, "add"), quota("tool", burst, "echo")}
	})
	var clients []*stateless
	for _, e := range edges {
		clients = append(clients, newStateless(t, e.URL))
	}
	call := func(tool, args string, regained int) (admitted int) {
		for i := range 3 * burst {
			r := clients[i%len(clients)].call(tool, args)
			switch {
			case r.status != http.StatusTooManyRequests:
				admitted++
			default:
				overQuotaUntil(t, r, "tool "+tool, regained)
			}
		}
		return admitted
	}
	if n := call("add", `{"a":1,"b":2}`, 3600); n != burst {
		t.Errorf("three replicas admitted %d calls; want %d", n, burst)
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	since := float64(0)
	await.Until(t, "each replica has counted all", func() bool {
		present := client.ZRangeWithScores(t.Context(), "mcpedge:qr", 0, -1).Val()
		if len(present) == len(edges) && since == 0 {
			since = present[len(present)-1].Score
		}
		return since > 0 && present[0].Score > since
	})
	server.Kill()
	if n := call("echo", `{"text":"x"}`, 3*3600); n != burst {
		t.Errorf("three replicas without Redis admitted %d calls; want their shares of %d", n, burst)
	}
}

// TestQuotasAreReadAgain: other quotas are in force soon, and what cannot be used is not.
func TestQuotasAreReadAgain(t *testing.T) {
	t.Parallel() // it waits for most of its time
	write, set := settingsFile(t)
	write("quotas: [{per: tool, tools: [add], rate: 1/h, burst: 2}]\n")
	// One replica, whose metrics say that it read them.
	e := startEdge(t, only(startService(t, newFixture().Server)), set)
	c := newStateless(t, e.URL)
	const sum = `{"a":1,"b":2}`
	admitted := func() (n int) {
		for ; ; n++ {
			r := c.call("add", sum)
			if r.status == http.StatusTooManyRequests {
				overQuota(t, r, "tool add")
				return n
			}
			r.want(http.StatusOK)
		}
	}
	if n := admitted(); n != 2 {
		t.Fatalf("%d calls of 2", n)
	}
	write("quotas: [{per: tool, tools: [add], rate: 1/h, burst: 5}]\n")
	awaitMetric(t, e, "mcpedge_quota_exchanges_total", 1)
	if n := admitted(); n != 3 {
		t.Errorf("%d calls of the 3 that are left", n)
	}
	for _, bad := range []string{"quotas: [{per: tool, rate: 1}]\n", "", "policy: {default: allow}\n"} {
		write(bad)
		awaitMetric(t, e, "mcpedge_settings_stale", 1)
		if n := admitted(); n != 0 {
			t.Errorf("%q: %d calls beyond the quota", bad, n)
		}
		write("quotas: [{per: tool, tools: [add], rate: 1/h, burst: 5}]\n")
		awaitMetric(t, e, "mcpedge_settings_stale", 0)
	}
	// A quota by another name begins whole, and the tool of the one before has none.
	write("quotas: [{name: sums, per: principal, tools: [add], rate: 1/h, burst: 1}]\n")
	awaitMetric(t, e, "mcpedge_quota_exchanges_total", 2)
	c.call("add", sum).want(http.StatusOK)
	overQuota(t, c.call("add", sum), "sums")
}

// TestSettingsAreReadAgainAsAWhole: a file in which either the policy or the quotas cannot be used changes neither.
func TestSettingsAreReadAgainAsAWhole(t *testing.T) {
	t.Parallel() // it waits for most of its time
	write, set := settingsFile(t)
	const quotas, policy = "quotas: [{per: tool, tools: [add], rate: 1/h, burst: 2}]\n", "policy: {default: allow}\n"
	write(quotas + policy)
	e := startEdge(t, only(startService(t, newFixture().Server)), set)
	c := newStateless(t, e.URL)
	const sum = `{"a":1,"b":2}`
	c.call("add", sum).want(http.StatusOK)
	for _, bad := range []string{
		"quotas: [{per: tool, tools: [echo], rate: 1/h}]\npolicy: {default: hidden}\n",
		"quotas: [{per: tool, rate: 1}]\npolicy: {default: deny}\n",
	} {
		write(bad)
		awaitMetric(t, e, "mcpedge_settings_stale", 1)
		awaitMetric(t, e, "mcpedge_settings_stale", 1)
		awaitMetric(t, e, "mcpedge_quota_exchanges_total", 0)
		awaitMetric(t, e, "mcpedge_policy_exchanges_total", 0)
		if got := names(c.request("tools/list", nil).result()["tools"], "name"); !slices.Contains(got, "add") {
			t.Errorf("%q: the tools are %q", bad, got)
		}
		write(quotas + policy)
		awaitMetric(t, e, "mcpedge_settings_stale", 0)
	}
	c.call("add", sum).want(http.StatusOK)
	overQuota(t, c.call("add", sum), "tool add")
}

// TestClientsSpendNothingOfUsers: a client whose id is a user's subject spends neither the calls nor the sessions, tasks and subscriptions of
// that user, though it comes with another token for each.
func TestClientsSpendNothingOfUsers(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, server := issuer.Serve(t), redisserver.ForTest(t)
	more := startService(t, newFixture().Server).Backend()
	more.Name = "more"
	for what, redis := range map[string]string{"in memory": "", "in Redis": server.URL()} {
		t.Run(what, func(t *testing.T) {
			_, backends, steps := stepping(t)
			defer close(steps)
			e := startEdge(t, append(backends, more), withAuth(id), func(c *config.Config) {
				c.Redis.URL, c.Quotas = redis, []config.Quota{quota("principal", 1, "add")}
				c.Clients.Sessions, c.Clients.Tasks, c.Advanced.ListensPerPrincipal = 1, 1, 1
			})
			spend := func(who, token string) {
				t.Helper()
				s, c := sessionAs(t, e, vNov, token), statelessAs(t, e, token)
				c.request("subscriptions/listen", map[string]any{"notifications": json.RawMessage(`{"toolsListChanged":true}`)}).events().message()
				if made := dig(s.request("tools/call", `{"name":"steps","arguments":{},"task":{}}`).result(), "task", "taskId"); made == nil {
					t.Errorf("%s has no task", who)
				}
				s.call("add", `{"a":1,"b":2}`).want(http.StatusOK)
				overQuota(t, c.call("add", `{"a":1,"b":2}`), "principal add")
				tooMany(t, at(t, e, "/mcp", token).send(t, http.MethodPost, hello))
			}
			spend("the client", id.Token("", public, map[string]any{"sub": nil, "client_id": "alice"}))
			spend("alice", id.Token("alice", public))
		})
	}
}

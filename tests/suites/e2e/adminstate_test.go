package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// state is what the status says of the store, and since when that is so.
func (o *operator) state() (kind string, reachable bool, since time.Time) {
	o.t.Helper()
	r := o.get("/v1/status").want(http.StatusOK)
	kind, _ = r.at("state", "kind").(string)
	reachable, _ = r.at("state", "reachable").(bool)
	text, _ := r.at("state", "since").(string)
	since, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		o.t.Errorf("status: %s: %v", r.text, err)
	}
	return kind, reachable, since
}

// reaches checks that the gauge says whether the store is reached, and that the replica is ready all the same.
func (o *operator) reaches(value string) {
	o.t.Helper()
	if text := o.get("/metrics").want(http.StatusOK).text; !strings.Contains(text, "\nmcpedge_state_reachable "+value+"\n") {
		o.t.Errorf("mcpedge_state_reachable is not %s", value)
	}
	if r := o.get("/readyz"); r.status != http.StatusOK {
		o.t.Errorf("/readyz: %d %s", r.status, r.text)
	}
}

// A Redis that is lost while the edge runs does not make it unready: plain calls go on. The status and a gauge tell of it.
func TestAdminTellsThatRedisIsAway(t *testing.T) {
	srv := redisserver.ForTest(t)
	_, e, o := startAdmin(t, func(c *config.Config) { c.Redis.URL, c.Redis.Lease = srv.URL(), time.Second })
	kind, reachable, up := o.state()
	if kind != "redis" || !reachable {
		t.Errorf("%s, reachable: %t", kind, reachable)
	}
	o.reaches("1")
	srv.Kill()
	var down time.Time
	await.Until(t, "Redis is told to be away", func() bool { _, reachable, down = o.state(); return !reachable })
	if text, _ := o.get("/v1/status").at("state", "error").(string); !strings.Contains(text, "unavailable") {
		t.Errorf("the status does not say why: %q", text)
	}
	if !down.After(up) {
		t.Errorf("away since %v, there before since %v", down, up)
	}
	o.reaches("0")
	newStateless(t, e.URL).call("add", `{"a":1,"b":2}`).want(http.StatusOK)
	if err := srv.Restart(); err != nil {
		t.Fatal(err)
	}
	var again time.Time
	await.Until(t, "Redis is told to be there again", func() bool { _, reachable, again = o.state(); return reachable })
	if text := o.get("/v1/status").at("state", "error"); text != "" {
		t.Errorf("the status of a Redis that is there has the error %v", text)
	}
	if !again.After(down) {
		t.Errorf("there again since %v, away since %v", again, down)
	}
	o.reaches("1")
}

// A state in memory is always there.
func TestAdminStateInMemory(t *testing.T) {
	_, _, o := startAdmin(t)
	if kind, reachable, _ := o.state(); kind != "memory" || !reachable {
		t.Errorf("%s, reachable: %t", kind, reachable)
	}
	o.reaches("1")
}

// TestStatusOfTheSettings: the status names what the file of settings has that is not in force.
func TestStatusOfTheSettings(t *testing.T) {
	t.Parallel() // it waits for most of its time
	const begun = "demo: true\n"
	write, set := settingsFile(t)
	write(begun)
	var file string
	_, _, o := startAdmin(t, set, func(c *config.Config) { file = c.File })
	is := func(problem string, keys ...any) {
		t.Helper()
		await.Until(t, fmt.Sprintf("the error %q and the keys %q", problem, keys), func() bool {
			r := o.get("/v1/status").want(http.StatusOK).has(file, "settings", "file")
			text, _ := r.at("settings", "error").(string)
			got, _ := r.at("settings", "restartKeys").([]any)
			return (problem == "") == (text == "") && strings.Contains(text, problem) && slices.Equal(got, keys)
		})
	}
	is("")
	write(begun + "calls: {rounds: 3}\nshutdown: {grace: 1m}\n")
	is("", "calls.rounds", "shutdown.grace")
	write(begun + "calls: {rounds: 3}\n")
	is("", "calls.rounds")
	write("demo: [\n")
	is("edge.yaml", "calls.rounds")
	write(begun)
	is("")
}

package redis_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// A replica that was cut off from Redis keeps what it knows, refuses to change it, and follows once it reaches Redis again: also one
// that was emptied meanwhile.
func TestDisabledWhileCutOff(t *testing.T) {
	t.Parallel()
	addr := startServer(t)
	admin, p := connect(t, addr), startProxy(t, addr)
	registry := func(c *goredis.Client) *disabled.Registry {
		r, err := redis.New(c, redis.Options{})
		must(t, err)
		t.Cleanup(func() { _ = r.Close() })
		out := disabled.New(disabled.Options{Store: r.Disabled(), Logger: slog.New(slog.DiscardHandler)})
		must(t, r.Start(t.Context()))
		must(t, out.Load(t.Context()))
		go out.Run(t.Context())
		return out
	}
	near, far := registry(connect(t, addr)), registry(connect(t, p.addr))
	tool := func(name string) disabled.Entry {
		return disabled.Entry{ID: disabled.ID{Kind: disabled.Tool, Backend: "b", Name: name}}
	}
	has := func(r *disabled.Registry, first, second bool) func() bool {
		return func() bool {
			return r.List().HasTool("b", "first") == first && r.List().HasTool("b", "second") == second
		}
	}
	disable := func(name string) {
		t.Helper()
		_, err := near.Disable(t.Context(), tool(name))
		must(t, err)
	}
	disable("first")
	await.Until(t, "the other replica to follow", has(far, true, false))
	p.refuse(true)
	disable("second")
	must(t, near.Enable(t.Context(), tool("first")))
	if _, err := far.Disable(t.Context(), tool("third")); !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("disabled while it is cut off: %v", err)
	}
	if !has(far, true, false)() {
		t.Errorf("cut off, it has %v", far.List().Entries())
	}
	p.refuse(false)
	await.Until(t, "it to follow again", has(far, false, true))
	p.refuse(true)
	must(t, admin.FlushAll(t.Context()).Err())
	p.refuse(false)
	await.Until(t, "the emptied Redis to be restored", func() bool { return admin.HLen(t.Context(), "mcpedge:{disabled}").Val() == 2 })
	fresh := registry(connect(t, addr))
	for _, r := range []*disabled.Registry{near, far, fresh} {
		if !has(r, false, true)() {
			t.Errorf("after it was emptied: %v", r.List().Entries())
		}
	}
}

// Redis's clock gives the time of a change, which is later than all that are known; what is restored replaces only what is older, and
// only what has not changed is deleted.
func TestStampAndSupersede(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	table := start(t, c, redis.Options{}).Disabled()
	stamp := func(after int64) int64 {
		t.Helper()
		at, err := table.Stamp(t.Context(), "a", disabled.Unstamped{Head: []byte("<"), Tail: []byte(">"), Sum: "s", After: after})
		must(t, err)
		return at
	}
	clock, err := c.Time(t.Context()).Result()
	must(t, err)
	first := stamp(0)
	if late := first - clock.UnixMilli(); late < 0 || late > time.Minute.Milliseconds() {
		t.Errorf("the time is %d ms after Redis's", late)
	}
	const future = 9_000_000_000_000
	if got := stamp(future); got != future+1 {
		t.Errorf("after %d: %d", int64(future), got)
	}
	if got := stamp(0); got != future+2 {
		t.Errorf("after what is stored: %d", got)
	}
	digest := func(at int64) string { return fmt.Sprintf("%016x.s", at) }
	stored := func() string {
		t.Helper()
		digests, err := table.Digests(t.Context())
		must(t, err)
		values, err := table.Values(t.Context(), []string{"a"})
		must(t, err)
		return digests["a"] + " " + string(values["a"])
	}
	newest := fmt.Sprintf("%s <%d>", digest(future+2), int64(future+2))
	for _, c := range []struct {
		set  int64
		drop int64
		want string
	}{{future + 1, 0, newest}, {0, future + 1, newest}, {future + 3, 0, digest(future+3) + " v"}, {0, future + 3, " "}, {5, 0, digest(5) + " v"}} {
		set, drop := map[string]ownership.Value{}, map[string]string{}
		if c.set > 0 {
			set["a"] = ownership.Value{Digest: digest(c.set), Bytes: []byte("v")}
		}
		if c.drop > 0 {
			drop["a"] = digest(c.drop)
		}
		must(t, table.Supersede(t.Context(), set, drop))
		if got := stored(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	for _, damaged := range []string{"d", digest(math.MaxInt64)} {
		must(t, c.HSet(t.Context(), "mcpedge:{disabled}:d", "a", damaged).Err())
		must(t, table.Supersede(t.Context(), map[string]ownership.Value{"a": {Digest: digest(7), Bytes: []byte("v")}}, nil))
		if got := stored(); got != digest(7)+" v" {
			t.Errorf("%s is replaced by %s", damaged, got)
		}
	}
}

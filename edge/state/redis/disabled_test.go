package redis_test

import (
	"errors"
	"log/slog"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
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
	must(t, near.Enable(t.Context(), tool("first").ID))
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

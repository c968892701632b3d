package redis_test

import (
	"context"
	"errors"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/redis"
)

// growing answers every script on one key with "short", as a Cluster does for a session that grows each time its caller's account is asked.
type growing struct {
	key, account string
	short        bool
}

func (g *growing) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (g *growing) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (g *growing) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		c, ok := cmd.(*goredis.Cmd)
		if args := cmd.Args(); g.short && ok && len(args) > 3 && args[3] == g.key {
			c.SetVal([]any{"short", "", g.account, "2048", "10", "60000", "10"})
			return nil
		}
		return next(ctx, cmd)
	}
}

// TestShortIsNoSuccess: a script whose session never gets enough of its caller's account was not run. No method takes that for its result.
func TestShortIsNoSuccess(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	g := &growing{key: "mcpedge:{s}", account: "mcpedge:a:{x}"}
	c.AddHook(g)
	r, ctx := start(t, c, redis.Options{}), t.Context()
	g.short = true
	want(t, state.ErrUnavailable, r.Create(ctx, record("s")))
	if n := c.Exists(ctx, g.key).Val(); n != 0 {
		t.Fatal("the session is there")
	}
	g.short = false
	must(t, r.Create(ctx, record("s")))
	g.short = true
	for name, op := range map[string]func() error{
		"Update": func() error {
			_, err := r.Update(ctx, "s", state.Patch{From: record("s"), Subscribe: "test://a"})
			return err
		},
		"Load":   func() error { _, err := r.Load(ctx, "s", true); return err },
		"Delete": func() error { return r.Delete(ctx, "s") },
		"Claim": func() error {
			_, err := r.Claim(ctx, medium.ClaimTarget{Session: "s", RequestID: `"c"`})
			return err
		},
	} {
		if err := op(); !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package app

import (
	"context"
	"errors"
	"net"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// redisHook measures round trips to Redis.
type redisHook struct{ t *telemetry.Telemetry }

var _ goredis.Hook = redisHook{}

// DialHook implements goredis.Hook.
func (redisHook) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements goredis.Hook.
func (h redisHook) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmd)
		h.t.RedisCalled(ctx, cmd.Name(), redisFailed(err), time.Since(began))
		return err
	}
}

// ProcessPipelineHook implements goredis.Hook: a pipeline is one round trip.
func (h redisHook) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmds)
		h.t.RedisCalled(ctx, "pipeline", redisFailed(err), time.Since(began))
		return err
	}
}

// redisFailed reports whether a command failed. A missing value, and a script that must be sent to
// Redis first, are answers.
func redisFailed(err error) bool {
	return err != nil && !errors.Is(err, goredis.Nil) && !goredis.HasErrorPrefix(err, "NOSCRIPT")
}

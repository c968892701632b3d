package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Kind is how the servers of a Redis are arranged.
type Kind int

const (
	// Single is one server.
	Single Kind = iota
	// Cluster is a Redis Cluster.
	Cluster
	// Sentinel is a server and its replicas, monitored by Sentinels.
	Sentinel
)

// Observe is called after each round trip to Redis, with the name of the command, or "pipeline". failed is false for a missing value.
type Observe func(ctx context.Context, command string, failed bool, took time.Duration)

// Redis answers in well under a millisecond; longer waits than these mean a failure and only delay
// requests. Each can be set in the URL by its go-redis name.
const (
	dialTimeout = time.Second
	ioTimeout   = time.Second
	poolTimeout = time.Second
	// poolSize bounds the connections to one server; an operation that needs another waits, at
	// most poolTimeout.
	poolSize = 64
	// maxRetries is how often a command is sent again after a broken connection. Every script is
	// safe to repeat.
	maxRetries = 1
)

// connect returns a client for the Redis at url. It connects when it is first used. The caller closes it. observe may be nil. Errors
// name the setting redis.url, and contain no values of the URL.
func connect(kind Kind, url string, observe Observe) (redis.UniversalClient, error) {
	client, err := newClient(kind, url)
	if err != nil {
		return nil, optionError(err)
	}
	if observe != nil {
		client.AddHook(hook{observe})
	}
	return client, nil
}

func newClient(kind Kind, url string) (redis.UniversalClient, error) {
	switch kind {
	case Cluster:
		o, err := redis.ParseClusterURL(url)
		if err != nil {
			return nil, err
		}
		setDefaults(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout, &o.PoolSize, &o.MaxRetries)
		o.DialerRetries, o.ContextTimeoutEnabled = 1, true
		// Heartbeats must be read where they are written.
		o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled} // It is a feature of one vendor's servers.
		return redis.NewClusterClient(o), nil
	case Sentinel:
		o, err := redis.ParseFailoverURL(url)
		if err != nil {
			return nil, err
		}
		setDefaults(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout, &o.PoolSize, &o.MaxRetries)
		o.DialerRetries, o.ContextTimeoutEnabled = 1, true
		o.ReplicaOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
		return redis.NewFailoverClient(o), nil
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	setDefaults(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout, &o.PoolSize, &o.MaxRetries)
	o.DialerRetries, o.ContextTimeoutEnabled = 1, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled} // It is a feature of one vendor's servers.
	return redis.NewClient(o), nil
}

// setDefaults sets the options of a client for which the edge has its own defaults, unless the URL does.
func setDefaults(dial, read, write, pool *time.Duration, conns, retries *int) {
	*dial, *read, *write = cmp.Or(*dial, dialTimeout), cmp.Or(*read, ioTimeout), cmp.Or(*write, ioTimeout)
	*pool, *conns, *retries = cmp.Or(*pool, poolTimeout), cmp.Or(*conns, poolSize), cmp.Or(*retries, maxRetries)
}

// optionOf finds in an error of go-redis which option of the URL is wrong.
var optionOf = regexp.MustCompile(`^redis: (invalid [A-Za-z_]+ (?:number|duration|boolean)|unexpected option|unable to parse addr)`)

// optionError returns the error of a URL that go-redis does not accept, without the values that
// go-redis repeats of it: each may be a part of a password.
func optionError(err error) error {
	what := "an option in its query is wrong"
	if m := optionOf.FindStringSubmatch(err.Error()); m != nil {
		what = m[1]
	}
	return errors.New("redis.url: the URL cannot be used: " + what + ": its query takes the options of go-redis, such as dial_timeout=3s; percent-encode / # @ ? & and % in their values")
}

// hook measures round trips.
type hook struct{ observe Observe }

var _ redis.Hook = hook{}

// DialHook implements redis.Hook.
func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h.measure(ctx, cmd.Name(), func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook implements redis.Hook: a pipeline is one round trip.
func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h.measure(ctx, "pipeline", func() error { return next(ctx, cmds) })
	}
}

func (h hook) measure(ctx context.Context, name string, send func() error) error {
	began := time.Now()
	err := send()
	h.observe(ctx, name, commandFailed(err), time.Since(began))
	return err
}

// commandFailed reports whether a command failed. A missing value, and a script that must be sent to
// Redis first, are answers.
func commandFailed(err error) bool {
	return err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "NOSCRIPT")
}

// SetLogger logs the messages of go-redis, for all clients of the process, at level debug: the callers log what matters of them.
func SetLogger(log *slog.Logger) { redis.SetLogger(logger{log}) }

type logger struct{ log *slog.Logger }

// Printf implements go-redis' logging interface.
func (l logger) Printf(ctx context.Context, format string, args ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, fmt.Sprintf(format, args...))
	}
}

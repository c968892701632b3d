package config

import (
	"fmt"
	"net/url"
	"strings"
)

// Kinds of a Redis, by the scheme of its URL.
const (
	// RedisSingle: redis:// or rediss:// (TLS) is one server.
	RedisSingle = ""
	// RedisCluster: redis+cluster:// or rediss+cluster:// is a Cluster; more nodes to begin with are
	// addr=HOST:PORT in the query.
	RedisCluster = "cluster"
	// RedisSentinel: redis+sentinel:// or rediss+sentinel:// are Sentinels that know the master
	// master_name; more of them are addr=HOST:PORT in the query.
	RedisSentinel = "sentinel"
)

// RedisURL returns which kind of Redis is meant and its URL as go-redis reads it. The URL is never
// part of the error: it may hold a password.
func (c *Config) RedisURL() (kind, plain string, err error) {
	scheme, rest, ok := strings.Cut(c.Redis, "://")
	base, kind, _ := strings.Cut(scheme, "+")
	u, perr := url.Parse("redis://" + rest)
	switch {
	case !ok || base != "redis" && base != "rediss" || kind != "" && kind != RedisCluster && kind != RedisSentinel || scheme != base && kind == "":
		return "", "", fmt.Errorf("redis: the URL begins with %.20q: begin with redis://, rediss://, redis+cluster:// or redis+sentinel://", scheme)
	case perr != nil || u.Host == "":
		return "", "", fmt.Errorf("redis: the URL names no server: write %s://[USER:PASSWORD@]HOST:PORT", scheme)
	case hasLargePort(u, "addr"):
		return "", "", fmt.Errorf("redis: the URL has a port that is too large: ports are at most %d", maxPort)
	case kind == RedisSentinel && u.Query().Get("master_name") == "":
		return "", "", fmt.Errorf("redis: %s:// lacks the name of the master: add ?master_name=NAME", scheme)
	}
	return kind, base + "://" + rest, nil
}

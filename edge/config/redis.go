package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Redis configures the state that replicas share, and its keys.
type Redis struct {
	// URL of the Redis that keeps the state of all replicas, see RedisURL. Empty keeps the state in
	// the process, for one replica.
	URL string `yaml:"url" usage:"URL of the Redis that keeps the state of all replicas; none: in memory, for one replica"`
	// Prefix begins every key and channel: replicas with the same prefix form one edge.
	Prefix string `yaml:"prefix" usage:"beginning of every key; replicas with the same prefix belong together"`
	// SealKeys seal request states, and the data of callers, backends and users in Redis. Each has
	// 32 bytes, in base64. The first one seals, and all open. All replicas must have the same keys.
	// Empty generates a key for request states, which replicas share through Redis, and seals
	// nothing in Redis.
	SealKeys Names         `yaml:"seal-keys" usage:"keys that seal what Redis holds, and request states, base64 of 32 bytes each; the same on all replicas; the first one seals, all open"`
	Lease    time.Duration `yaml:"lease" usage:"time after which a silent replica has lost its calls to the others"`
	// Acknowledge is the number of Redis replicas that must have a task before the client receives
	// its id, and a used confirmation or approval before its call runs. 0 requires none.
	Acknowledge int `yaml:"acknowledge" usage:"Redis replicas that must have a task before the client receives its id, and a used confirmation before its call runs"`
}

func defaultRedis() Redis { return Redis{Prefix: "mcpedge", Lease: 3 * time.Second} }

// minLease allows for three renewals within a lease.
const minLease = 500 * time.Millisecond

func (c *Config) validateRedis() (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("redis."+format, args...)) }
	r := &c.Redis
	if _, err := c.Keys(); err != nil {
		errs = append(errs, err)
	}
	if r.URL != "" {
		if _, _, err := c.RedisURL(); err != nil {
			errs = append(errs, err)
		}
	}
	if r.Prefix == "" || strings.ContainsAny(r.Prefix, "{ ") {
		wrong("prefix: %q: give a word without { and spaces", r.Prefix)
	}
	if r.Acknowledge > 0 && r.URL == "" {
		wrong("acknowledge: %d: there is no Redis, and so no replica of it: set redis.url, or leave it out", r.Acknowledge)
	}
	if r.Lease < minLease {
		wrong("lease: %s: give %s or more, so that a replica which is merely busy is not given up", r.Lease, minLease)
	}
	return errs
}

// Keys decodes Redis.SealKeys.
func (c *Config) Keys() ([][]byte, error) {
	var keys [][]byte
	for i, text := range c.Redis.SealKeys {
		key, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(key) != 32 {
			return nil, fmt.Errorf("redis.seal-keys[%d] is not 32 bytes in base64: make one with: openssl rand -base64 32", i)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Kinds of a Redis, by the scheme of its URL.
const (
	// RedisSingle: redis:// or rediss:// (TLS) is one server.
	RedisSingle = ""
	// RedisCluster: redis+cluster:// or rediss+cluster:// is a Cluster; further seed nodes are
	// addr=HOST:PORT in the query.
	RedisCluster = "cluster"
	// RedisSentinel: redis+sentinel:// or rediss+sentinel:// are Sentinels that monitor the master
	// master_name; further Sentinels are addr=HOST:PORT in the query.
	RedisSentinel = "sentinel"
)

// redisSchemes is the part of an error that lists the valid schemes.
const redisSchemes = "begin with redis://, rediss://, redis+cluster:// or redis+sentinel://"

// RedisURL returns the kind of Redis and its URL in the form of go-redis. Errors contain no more of
// the URL than its scheme: anything after that may be part of a password.
func (c *Config) RedisURL() (kind, plain string, err error) {
	scheme, rest, ok := strings.Cut(c.Redis.URL, "://")
	base, kind, _ := strings.Cut(scheme, "+")
	u, perr := url.Parse("redis://" + rest)
	switch {
	case !ok || !urlScheme.MatchString(scheme):
		return "", "", errors.New("redis.url: the URL has no scheme: " + redisSchemes)
	case base != "redis" && base != "rediss" || kind != "" && kind != RedisCluster && kind != RedisSentinel || scheme != base && kind == "":
		return "", "", fmt.Errorf("redis.url: the URL begins with %.20q: %s", scheme, redisSchemes)
	case isUnescaped(rest):
		return "", "", fmt.Errorf("redis.url: the URL %s://*** cannot be read: percent-encode what its user, password or query has of / # @ ? and %% "+
			"(/ as %%2F, # as %%23, @ as %%40, ? as %%3F, %% as %%25), and all that is neither letter nor digit", scheme)
	case perr != nil || u.Host == "":
		return "", "", fmt.Errorf("redis.url: the URL names no server: write %s://HOST:PORT, with USER:PASSWORD@ before HOST if it takes them", scheme)
	case !databasePath.MatchString(u.Path):
		return "", "", fmt.Errorf("redis.url: the URL has a path that is not a database number: write %s://HOST:PORT/NUMBER, or no path", scheme)
	case hasLargePort(u, "addr"):
		return "", "", fmt.Errorf("redis.url: the URL has a port that is too large: ports are at most %d", maxPort)
	case kind == RedisSentinel && u.Query().Get("master_name") == "":
		return "", "", fmt.Errorf("redis.url: %s:// lacks the name of the master: add ?master_name=NAME", scheme)
	}
	return kind, base + "://" + rest, nil
}

var (
	urlScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
	// databasePath is the path of a URL of Redis: none, or the number of a database.
	databasePath = regexp.MustCompile(`^/?([0-9]{1,9}/?)?$`)
)

// isUnescaped reports whether the user, password or query of a URL has characters that must be
// percent-encoded. rest is the URL without its scheme. A Redis URL has no fragment and at most one
// @, before the host: another @ means that the password itself has a / ? or @.
func isUnescaped(rest string) bool {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	user, _, hasUser := strings.Cut(authority, "@")
	if strings.Contains(tail, "#") || strings.Contains(tail, "@") || strings.Count(authority, "@") > 1 {
		return true
	}
	if _, err := url.Parse("redis://" + user + "@host"); hasUser && err != nil {
		return true
	}
	_, query, _ := strings.Cut(tail, "?")
	_, err := url.ParseQuery(query)
	return err != nil
}

package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

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
	scheme, rest, ok := strings.Cut(c.Redis, "://")
	base, kind, _ := strings.Cut(scheme, "+")
	u, perr := url.Parse("redis://" + rest)
	switch {
	case !ok || !urlScheme.MatchString(scheme):
		return "", "", errors.New("redis: the URL has no scheme: " + redisSchemes)
	case base != "redis" && base != "rediss" || kind != "" && kind != RedisCluster && kind != RedisSentinel || scheme != base && kind == "":
		return "", "", fmt.Errorf("redis: the URL begins with %.20q: %s", scheme, redisSchemes)
	case isUnescaped(rest):
		return "", "", fmt.Errorf("redis: the URL %s://*** cannot be read: percent-encode what its user, password or query has of / # @ ? and %% "+
			"(/ as %%2F, # as %%23, @ as %%40, ? as %%3F, %% as %%25), and all that is neither letter nor digit", scheme)
	case perr != nil || u.Host == "":
		return "", "", fmt.Errorf("redis: the URL names no server: write %s://HOST:PORT, with USER:PASSWORD@ before HOST if it takes them", scheme)
	case !databasePath.MatchString(u.Path):
		return "", "", fmt.Errorf("redis: the URL has a path that is no number of a database: write %s://HOST:PORT/NUMBER, or no path", scheme)
	case hasLargePort(u, "addr"):
		return "", "", fmt.Errorf("redis: the URL has a port that is too large: ports are at most %d", maxPort)
	case kind == RedisSentinel && u.Query().Get("master_name") == "":
		return "", "", fmt.Errorf("redis: %s:// lacks the name of the master: add ?master_name=NAME", scheme)
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

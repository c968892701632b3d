package config

import (
	"strings"
	"testing"
)

// A URL of Redis whose user or password is not percent-encoded is refused with advice. No error
// contains a part of them.
func TestRedisURLIsEncoded(t *testing.T) {
	for _, url := range []string{
		"redis://:7/kQsecretrest@127.0.0.1:26379", "redis://:My@Secret/Pass@127.0.0.1:26379", "redis://:p@ss#1/x@127.0.0.1:26379",
		"redis://:ab/cd+ef==@127.0.0.1:26379", "redis://:ab#cd@127.0.0.1:26379", "redis://:ab?cd@127.0.0.1:26379", "redis://:12?cd@127.0.0.1:26379",
		"redis://:ab%zz@127.0.0.1:26379", "redis://:ab%@127.0.0.1:26379", "redis://:a@b@127.0.0.1:26379", "redis://:ab@h:1#cd", "redis://:a b@h:1",
		`redis://:a"b@h:1`, "redis://us/er:ab@h:1", "redis+cluster://:7/kQ@h:1", "redis+cluster://:ab@h:1?addr=:7@h:2", "redis+sentinel://:7/kQ@h:1?master_name=m",
		"redis+sentinel://h:1?master_name=m&password=ab%zz", "redis+sentinel://h:1?master_name=m&password=ab#cd", "redis+sentinel://h:1?master_name=m&password=ab@cd",
		"redis+sentinel://h:1?master_name=m&password=ab;cd",
	} {
		scheme, _, _ := strings.Cut(url, "://")
		want := "redis.url: the URL " + scheme + "://*** cannot be read: percent-encode what its user, password or query has of / # @ ? and % (/ as %2F, # as %23, @ as %40, ? as %3F, % as %25), and all that is neither letter nor digit"
		_, _, err := (&Config{Redis: Redis{URL: url}}).RedisURL()
		if err == nil || err.Error() != want || Redact(err.Error()) != want {
			t.Errorf("%s: %v", url, err)
		}
	}
	for url, want := range map[string]string{
		"redis://:pw@h:port":            "redis.url: the URL names no server: write redis://HOST:PORT, with USER:PASSWORD@ before HOST if it takes them",
		"redis://:pw@":                  "redis.url: the URL names no server: write redis://HOST:PORT, with USER:PASSWORD@ before HOST if it takes them",
		"redis://h:1/secretrest":        "redis.url: the URL has a path that is not a database number: write redis://HOST:PORT/NUMBER, or no path",
		"redis://h:1/1/2":               "redis.url: the URL has a path that is not a database number: write redis://HOST:PORT/NUMBER, or no path",
		":secret@host:6379":             "redis.url: the URL has no scheme: begin with redis://, rediss://, redis+cluster:// or redis+sentinel://",
		":secret@host://6379":           "redis.url: the URL has no scheme: begin with redis://, rediss://, redis+cluster:// or redis+sentinel://",
		"redis+ring://:secret@h":        `redis.url: the URL begins with "redis+ring": begin with redis://, rediss://, redis+cluster:// or redis+sentinel://`,
		"redis+sentinel://:secret@h:26": "redis.url: redis+sentinel:// lacks the name of the master: add ?master_name=NAME",
	} {
		if _, _, err := (&Config{Redis: Redis{URL: url}}).RedisURL(); err == nil || err.Error() != want || Redact(want) != want {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
	for _, url := range []string{
		"redis://h:1", "rediss://edge:7%2FkQ%23%40%3F%25@h:1/3", "redis://:a:b+c==@h", "redis://[::1]:6379/", "redis+cluster://:p@h:1?addr=i:2&addr=j:3&dial_timeout=3s",
		"redis+sentinel://h:1/0?master_name=a%40b&password=a%26b",
	} {
		if _, _, err := (&Config{Redis: Redis{URL: url}}).RedisURL(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

//go:build unix

package e2e

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestFreeOnTheRequestsPath: a plain call of a session that the replica holds, and one in the stateless era, are
// answered while Redis answers nothing, and cause no script in Redis either.
func TestFreeOnTheRequestsPath(t *testing.T) {
	_, edges, server := startReplicas(t, 1)
	s, c := newSession(t, edges[0].URL, vNov), newStateless(t, edges[0].URL)
	s.call("add", `{"a":1,"b":2}`).text()
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer func() { _ = client.Close() }()
	plain := map[string]func(){
		"a plain call of a warm session": func() { s.call("add", `{"a":1,"b":2}`).text() },
		"a call of the stateless era":    func() { c.call("add", `{"a":1,"b":2}`).text() },
	}
	for name, call := range plain {
		const calls = 200
		if err := client.ConfigResetStat(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		for range calls {
			call()
		}
		if n := scripts(t, client); n >= calls/2 { // the background's own are a few a second
			t.Errorf("%s, %d times, caused %d scripts in Redis", name, calls, n)
		}
	}

	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Resume(); err != nil {
			t.Error(err)
		}
	}()
	asked, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if err := client.Ping(asked).Err(); err == nil {
		t.Fatal("a stopped Redis answered")
	}
	for _, call := range plain {
		for range 10 {
			call()
		}
	}
}

// scripts returns how many scripts and functions Redis ran since its statistics were reset.
func scripts(t *testing.T, client *redis.Client) (total int) {
	t.Helper()
	stats, err := client.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(stats) {
		command, rest, _ := strings.Cut(line, ":calls=")
		if times, _, _ := strings.Cut(rest, ","); strings.HasPrefix(command, "cmdstat_eval") || strings.HasPrefix(command, "cmdstat_fcall") {
			n, err := strconv.Atoi(times)
			if err != nil {
				t.Fatalf("Redis says %q of a command: %v", line, err)
			}
			total += n
		}
	}
	return total
}

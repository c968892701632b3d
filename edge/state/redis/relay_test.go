package redis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state/redis"
)

// A message goes to the replica of an address and comes back answered; who is gone does not answer.
func TestRelay(t *testing.T) {
	t.Parallel()
	addr := startServer(t)
	single := func() goredis.UniversalClient {
		return goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
	}
	relays(t, single, single)
}

func TestRelayInCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	same := func() goredis.UniversalClient { return c }
	relays(t, same, same)
}

func relays(t *testing.T, clients ...func() goredis.UniversalClient) {
	t.Helper()
	var replicas []*redis.Replica
	for _, client := range clients {
		r, err := redis.New(client(), redis.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		replicas = append(replicas, r)
	}
	a, b := replicas[0].Relay(), replicas[1].Relay()
	if a.Address() == b.Address() {
		t.Fatal("two replicas have one address")
	}
	b.Receive(func(m []byte) []byte { return append([]byte("answer to "), m...) })
	message := "a message with spaces, \x00 and more: " + strings.Repeat("x", 1<<20)
	got, err := a.Send(t.Context(), b.Address(), []byte(message))
	if err != nil || string(got) != "answer to "+message {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := a.Send(ctx, "NONE", []byte("m")); err == nil {
		t.Error("no replica answered, and there was no error")
	}
	if _, err := b.Send(ctx, a.Address(), []byte("m")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a replica that serves no messages: %v", err)
	}
}

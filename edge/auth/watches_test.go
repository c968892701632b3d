package auth_test

import (
	"crypto/sha256"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// The streams of an API key end when it is removed from the file, and no others.
func TestWatchedKeys(t *testing.T) {
	var file atomic.Pointer[[]auth.APIKey]
	one := auth.APIKey{Name: "one", SHA256: sha256.Sum256([]byte("k1"))}
	two := auth.APIKey{Name: "two", SHA256: sha256.Sum256([]byte("k2"))}
	file.Store(&[]auth.APIKey{one, two})
	i := issuer.New("https://id.example")
	o := options(i)
	o.ReadAPIKeys = func() ([]auth.APIKey, error) { return *file.Load(), nil }
	synctestRun(t, o, func(a *auth.Authenticator) {
		var first, second, other, stopped atomic.Int64
		a.Watch("Bearer k1", func() { first.Add(1) })
		a.Watch("bearer  k1", func() { second.Add(1) })
		a.Watch("Bearer k2", func() { other.Add(1) })
		a.Watch("Bearer k1", func() { stopped.Add(1) })()
		for _, nothing := range []string{"", "Bearer", "Bearer x", "Bearer " + i.Token("alice", resource)} {
			if a.Watch(nothing, func() {}) != nil {
				t.Errorf("%q is watched", nothing)
			}
		}
		time.Sleep(time.Minute)
		if first.Load() != 0 {
			t.Error("a key that is in the file was found revoked")
		}
		file.Store(&[]auth.APIKey{two})
		time.Sleep(5 * time.Second)
		if first.Load() != 1 || second.Load() != 1 || other.Load() != 0 || stopped.Load() != 0 {
			t.Errorf("told %d and %d times, for the other key %d, after the end %d", first.Load(), second.Load(), other.Load(), stopped.Load())
		}
		// It was removed between the request and its stream.
		a.Watch("Bearer k1", func() { first.Add(1) })
		if first.Load() != 2 {
			t.Error("a key that is gone already")
		}
	})
}

// The streams of an opaque token end when the issuer says that it is invalid, or does not answer
// for an hour.
func TestWatchedTokens(t *testing.T) {
	i := issuer.New("https://id.example")
	synctestRun(t, asked(i), func(a *auth.Authenticator) {
		watch := func(token string) *atomic.Int64 {
			var told atomic.Int64
			if got := status(a, token); got != 200 {
				t.Fatalf("status %d", got)
			}
			a.Watch("Bearer "+token, func() { told.Add(1) })
			return &told
		}
		token, other := i.Opaque(i.Claims("alice", resource)), i.Opaque(claims{"sub": "bob", "aud": resource})
		revoked, good := watch(token), watch(other)
		time.Sleep(10*time.Minute + time.Second)
		before := i.Questions.Load()
		time.Sleep(10 * time.Minute)
		if n := i.Questions.Load() - before; n != 10 { // alice's stream ended with the token's exp
			t.Errorf("%d questions in ten minutes about one token that is watched", n)
		}
		if revoked.Load() != 1 || good.Load() != 0 {
			t.Errorf("told %d times of the one that expired, %d of the other", revoked.Load(), good.Load())
		}
		i.Down(true)
		time.Sleep(55 * time.Minute)
		if good.Load() != 0 {
			t.Error("told while the issuer was down for less than an hour")
		}
		i.Down(false)
		time.Sleep(2 * time.Minute)
		i.Down(true)
		time.Sleep(64 * time.Minute)
		if good.Load() != 1 {
			t.Error("not told, the issuer is down for more than an hour")
		}
		i.Down(false)
		again := watch(other)
		i.Revoke(other)
		time.Sleep(2*time.Minute + time.Second)
		if again.Load() != 1 {
			t.Error("not told that the token was revoked")
		}
		synctest.Wait()
	})
}

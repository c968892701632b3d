package auth_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/mcp"
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
		a.Watch("Bearer k1", one.Principal(), func() { first.Add(1) })
		a.Watch("bearer  k1", one.Principal(), func() { second.Add(1) })
		a.Watch("Bearer k2", two.Principal(), func() { other.Add(1) })
		a.Watch("Bearer k1", one.Principal(), func() { stopped.Add(1) })()
		for _, nothing := range []string{"", "Bearer", "Bearer x", "Bearer " + i.Token("alice", resource)} {
			if a.Watch(nothing, mcp.Principal{}, func() {}) != nil {
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
			t.Errorf("notified %d and %d times, for the other key %d, after the end %d", first.Load(), second.Load(), other.Load(), stopped.Load())
		}
		// It was removed between the request and its stream.
		a.Watch("Bearer k1", one.Principal(), func() { first.Add(1) })
		if first.Load() != 2 {
			t.Error("a key that is gone already")
		}
	})
}

// claimsOfKey returns the claims tenant and unused, each a JSON value.
func claimsOfKey(tenant, unused string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"tenant": json.RawMessage(tenant), "unused": json.RawMessage(unused)}
}

// A principal with an API key has the claims of the key that the settings keep.
func TestKeptClaimsOfAPIKeys(t *testing.T) {
	o := options(issuer.New("https://id.example"))
	o.ReadAPIKeys = func() ([]auth.APIKey, error) {
		return []auth.APIKey{{Name: "one", SHA256: sha256.Sum256([]byte("k1")), Claims: map[string]json.RawMessage{
			"tenant": json.RawMessage(`"acme"`), "org": json.RawMessage(`{"id":7}`), "other": json.RawMessage("1"),
		}}}, nil
	}
	a := newAuth(t, o)
	for name, c := range map[string]struct {
		keep              auth.KeptClaims
		claims, forwarded string
	}{
		"none":      {auth.KeptClaims{}, "map[]", "map[]"},
		"all":       {auth.KeptClaims{All: true}, `map[org:{"id":7} other:1 tenant:"acme"]`, "map[]"},
		"named":     {auth.KeptClaims{Names: []string{"tenant", "absent"}}, `map[tenant:"acme"]`, "map[]"},
		"forwarded": {auth.KeptClaims{Forwarded: []string{"org.id", "tenant", "tenant.id"}}, "map[]", `map[org.id:7 tenant:"acme"]`},
	} {
		a.KeepClaims(c.keep)
		p, denied := a.Authenticate(bearer("k1"))
		if denied != nil || fmt.Sprintf("%s", p.Claims) != c.claims || fmt.Sprintf("%s", p.Forwarded) != c.forwarded {
			t.Errorf("%s: %s, %s, %+v", name, p.Claims, p.Forwarded, denied)
		}
	}
}

// The streams of an API key end when the key has other rights or claims or expires earlier, and those
// that were opened with its new rights stay.
func TestWatchedKeysThatChange(t *testing.T) {
	soon, later := time.Now().Add(365*24*time.Hour), time.Now().Add(2*365*24*time.Hour)
	before := auth.APIKey{Name: "one", SHA256: sha256.Sum256([]byte("k1")), Scopes: []string{"read", "write"}, Roles: []string{"ops"}, Claims: claimsOfKey(`"acme"`, "1"), Expires: soon}
	with := func(change func(*auth.APIKey)) auth.APIKey {
		k := before
		change(&k)
		return k
	}
	for name, c := range map[string]struct {
		after auth.APIKey
		ends  bool
	}{
		"the same":                 {before, false},
		"in another order":         {with(func(k *auth.APIKey) { k.Scopes = []string{"write", "read"} }), false},
		"expires later":            {with(func(k *auth.APIKey) { k.Expires = later }), false},
		"expires earlier":          {with(func(k *auth.APIKey) { k.Expires = soon.Add(-time.Hour) }), true},
		"without a scope":          {with(func(k *auth.APIKey) { k.Scopes = []string{"read"} }), true},
		"with another scope":       {with(func(k *auth.APIKey) { k.Scopes = []string{"read", "delete"} }), true},
		"with a further role":      {with(func(k *auth.APIKey) { k.Roles = []string{"ops", "intern"} }), true},
		"with another claim":       {with(func(k *auth.APIKey) { k.Claims = claimsOfKey(`"globex"`, "1") }), true},
		"without a claim":          {with(func(k *auth.APIKey) { k.Claims = nil }), true},
		"with an unused claim":     {with(func(k *auth.APIKey) { k.Claims = claimsOfKey(`"acme"`, "2") }), false},
		"with the name of another": {with(func(k *auth.APIKey) { k.Name = "two" }), true},
	} {
		var file atomic.Pointer[[]auth.APIKey]
		file.Store(&[]auth.APIKey{before})
		o := options(issuer.New("https://id.example"))
		o.ReadAPIKeys = func() ([]auth.APIKey, error) { return *file.Load(), nil }
		synctestRun(t, o, func(a *auth.Authenticator) {
			a.KeepClaims(auth.KeptClaims{Names: []string{"tenant"}})
			principal := func() mcp.Principal {
				p, denied := a.Authenticate(bearer("k1"))
				if denied != nil {
					t.Fatalf("%s: %+v", name, denied)
				}
				return p
			}
			var old, late, now atomic.Int64
			accepted := principal()
			a.Watch("Bearer k1", accepted, func() { old.Add(1) })
			file.Store(&[]auth.APIKey{c.after})
			time.Sleep(5 * time.Second)
			// Accepted before the change, and watched after it.
			a.Watch("Bearer k1", accepted, func() { late.Add(1) })
			a.Watch("Bearer k1", principal(), func() { now.Add(1) })
			if (old.Load() == 1) != c.ends || (late.Load() == 1) != c.ends || now.Load() != 0 {
				t.Errorf("%s: ended %d and %d times, with the new rights %d", name, old.Load(), late.Load(), now.Load())
			}
		})
	}
}

// The streams of an opaque token end when the issuer says that it is invalid, or that it has other
// rights, or does not answer for an hour.
func TestWatchedTokens(t *testing.T) {
	i := issuer.New("https://id.example")
	synctestRun(t, asked(i), func(a *auth.Authenticator) {
		watch := func(token string) *atomic.Int64 {
			var calls atomic.Int64
			p, denied := a.Authenticate(bearer(token))
			if denied != nil {
				t.Fatalf("%+v", denied)
			}
			a.Watch("Bearer "+token, p, func() { calls.Add(1) })
			return &calls
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
			t.Errorf("notified %d times of the one that expired, %d of the other", revoked.Load(), good.Load())
		}
		i.SetUnavailable(true)
		time.Sleep(55 * time.Minute)
		if good.Load() != 0 {
			t.Error("notified while the issuer was down for less than an hour")
		}
		i.SetUnavailable(false)
		time.Sleep(2 * time.Minute)
		i.SetUnavailable(true)
		time.Sleep(64 * time.Minute)
		if good.Load() != 1 {
			t.Error("not notified, the issuer is down for more than an hour")
		}
		i.SetUnavailable(false)
		scoped := i.Opaque(claims{"sub": "bob", "aud": resource, "scope": "a b"})
		narrowed := watch(scoped)
		i.Describe(scoped, claims{"sub": "bob", "aud": resource, "scope": "b a", "used": 2})
		time.Sleep(3 * time.Minute)
		if narrowed.Load() != 0 {
			t.Error("notified of a token whose rights are the same")
		}
		i.Describe(scoped, claims{"sub": "bob", "aud": resource, "scope": "a"})
		time.Sleep(2*time.Minute + time.Second)
		if narrowed.Load() != 1 {
			t.Error("not notified that the token lost a scope")
		}
		again := watch(other)
		i.Revoke(other)
		time.Sleep(2*time.Minute + time.Second)
		if again.Load() != 1 {
			t.Error("not notified that the token was revoked")
		}
		synctest.Wait()
	})
}

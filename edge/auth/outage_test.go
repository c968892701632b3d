package auth_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// synctestRun runs fn with a started Authenticator in virtual time.
func synctestRun(t *testing.T, o auth.Options, fn func(a *auth.Authenticator)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		a := newAuth(t, o)
		a.Start(ctx)
		defer a.Wait()
		defer cancel()
		fn(a)
	})
}

// remote returns options with one issuer whose keys are fetched, by discovery.
func remote(i *issuer.Issuer) auth.Options {
	o := options(i)
	o.Issuers[0].ReadKeys = nil
	o.Transport = direct{"id.example": i}
	return o
}

func status(a *auth.Authenticator, token string) int {
	_, denied := a.Authenticate(bearer(token))
	if denied == nil {
		return http.StatusOK
	}
	return denied.Status
}

// An issuer that is unavailable from the start does not make a token invalid. When it is back, its
// tokens are valid.
func TestIssuerDownAtStart(t *testing.T) {
	i := issuer.New("https://id.example")
	i.SetUnavailable(true)
	var log bytes.Buffer
	o := remote(i)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	synctestRun(t, o, func(a *auth.Authenticator) {
		_, denied := a.Authenticate(bearer(i.Token("alice", resource)))
		if denied == nil || denied.Status != 503 || denied.RetryAfter < time.Second || denied.RetryAfter > 30*time.Second || len(denied.Challenges) > 0 {
			t.Errorf("%+v", denied)
		}
		time.Sleep(5 * time.Minute)
		i.SetUnavailable(false)
		time.Sleep(31 * time.Second)
		if got := status(a, i.Token("alice", resource)); got != 200 {
			t.Errorf("status %d, the issuer is back", got)
		}
	})
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("%d lines of log, want 2: down, and back:\n%s", n, &log)
	}
}

// The first callers wait for the keys, for a limited time.
func TestSlowIssuer(t *testing.T) {
	i := issuer.New("https://id.example")
	i.SetDelay(2 * time.Second)
	synctestRun(t, remote(i), func(a *auth.Authenticator) {
		if got := status(a, i.Token("alice", resource)); got != 200 {
			t.Errorf("status %d, want 200 after the issuer's %v", got, 4*time.Second)
		}
	})
	i.SetDelay(time.Hour)
	synctestRun(t, remote(i), func(a *auth.Authenticator) {
		began := time.Now()
		if got := status(a, i.Token("alice", resource)); got != 503 || time.Since(began) > 15*time.Second {
			t.Errorf("status %d after %v", got, time.Since(began))
		}
	})
}

// The last keys serve for an hour.
func TestIssuerDownLater(t *testing.T) {
	i := issuer.New("https://id.example")
	synctestRun(t, remote(i), func(a *auth.Authenticator) {
		time.Sleep(time.Second)
		i.SetUnavailable(true)
		for range 11 {
			time.Sleep(5 * time.Minute)
			if got := status(a, i.Token("alice", resource)); got != 200 {
				t.Fatalf("status %d within the hour", got)
			}
		}
		time.Sleep(11 * time.Minute)
		if got := status(a, i.Token("alice", resource)); got != 503 {
			t.Errorf("status %d after the hour", got)
		}
		i.SetUnavailable(false)
		time.Sleep(31 * time.Second)
		if got := status(a, i.Token("alice", resource)); got != 200 {
			t.Errorf("status %d, the issuer is back", got)
		}
	})
}

// A new key of an issuer whose keys have no ids, or only some, is fetched like any other: when no
// key verifies a token that names none of them.
func TestRotationOfKeysWithoutIDs(t *testing.T) {
	i := issuer.New("https://id.example")
	unnamed := func() issuer.Key {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return issuer.Key{Method: jwt.SigningMethodEdDSA, Private: private}
	}
	synctestRun(t, remote(i), func(a *auth.Authenticator) {
		time.Sleep(time.Second)
		for n, use := range []func(){func() { i.Use(unnamed()) }, func() { i.Use(unnamed()) }, i.Rotate} {
			use()
			claims := i.Claims("alice", resource)
			header := map[string]any{"kid": i.Newest().ID}
			if header["kid"] == "" {
				header["kid"] = nil
			}
			if got := status(a, i.Sign(claims, header)); got != 200 {
				t.Errorf("exchange %d: status %d", n, got)
			}
			before := i.Fetches.Load()
			for range 10 {
				if got := status(a, unnamed().Sign(claims, map[string]any{"kid": nil})); got != 401 {
					t.Errorf("exchange %d: status %d for a stranger's", n, got)
				}
			}
			if got := i.Fetches.Load(); got != before {
				t.Errorf("exchange %d: the keys were fetched %d times in 30 s", n, got-before)
			}
			time.Sleep(31 * time.Second)
		}
	})
}

// An unknown key is fetched at once; many bogus ones cause one fetch in 30 s, and do not delay a
// new key further.
func TestRotation(t *testing.T) {
	i := issuer.New("https://id.example")
	synctestRun(t, remote(i), func(a *auth.Authenticator) {
		time.Sleep(time.Second)
		old := i.Token("alice", resource)
		i.Rotate()
		if got := status(a, i.Token("alice", resource)); got != 200 {
			t.Errorf("status %d for the new key", got)
		}
		if got := status(a, old); got != 200 {
			t.Errorf("status %d for the old one, which the issuer still has", got)
		}
		time.Sleep(time.Minute)
		before := i.Fetches.Load()
		for n := range 600 {
			if got := status(a, i.Sign(i.Claims("alice", resource), claims{"kid": fmt.Sprint("bogus", n)})); got != 401 {
				t.Fatalf("status %d for a bogus key", got)
			}
			time.Sleep(100 * time.Millisecond)
			if n == 450 {
				i.Rotate()
			}
			if n == 550 {
				time.Sleep(20 * time.Second)
				if got := status(a, i.Token("alice", resource)); got != 200 {
					t.Errorf("status %d for a new key 30 s after it was there", got)
				}
			}
		}
		if n := i.Fetches.Load() - before; n > 4 {
			t.Errorf("%d fetches in 80 s", n)
		}
	})
}

// The keys are fetched periodically, so that a removed key becomes invalid.
func TestRemovedKey(t *testing.T) {
	i := issuer.New("https://id.example")
	synctestRun(t, remote(i), func(a *auth.Authenticator) {
		token := i.Token("alice", resource, claims{"exp": time.Now().Add(time.Hour).Unix()})
		if got := status(a, token); got != 200 {
			t.Fatalf("status %d", got)
		}
		i.Rotate()
		i.Rotate()
		time.Sleep(7 * time.Minute)
		if got := status(a, token); got != 401 {
			t.Errorf("status %d for the token of a key that is no more", got)
		}
	})
}

// An issuer that removes all its keys is not treated as unavailable: its tokens become invalid, as
// with a single removed key, and valid again once it has keys. The log says so.
func TestAllKeysRemoved(t *testing.T) {
	i := issuer.New("https://id.example")
	var log bytes.Buffer
	o := remote(i)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	synctestRun(t, o, func(a *auth.Authenticator) {
		token := i.Token("alice", resource, claims{"exp": time.Now().Add(2 * time.Hour).Unix()})
		if got := status(a, token); got != 200 {
			t.Fatalf("status %d", got)
		}
		i.Withdraw()
		time.Sleep(7 * time.Minute)
		if _, denied := a.Authenticate(bearer(token)); denied == nil || denied.Status != 401 {
			t.Errorf("%v for the token of an issuer without keys, want 401", denied)
		}
		time.Sleep(time.Hour)
		if _, denied := a.Authenticate(bearer(token)); denied == nil || denied.Status != 401 {
			t.Errorf("%v an hour later, want 401: it is not that the keys could not be read", denied)
		}
		if n := strings.Count(log.String(), "has no keys for signatures"); n != 1 || strings.Contains(log.String(), "cannot be read") {
			t.Errorf("the log: %s", &log)
		}
		time.Sleep(time.Minute)
		i.Rotate()
		if got := status(a, i.Token("alice", resource)); got != 200 {
			t.Errorf("status %d for a token of the first key after that", got)
		}
	})
}

// A cached token expires.
func TestRememberedTokenExpires(t *testing.T) {
	i := issuer.New("https://id.example")
	synctestRun(t, options(i), func(a *auth.Authenticator) {
		token := i.Token("alice", resource, claims{"exp": time.Now().Add(10 * time.Second).Unix()})
		time.Sleep(69 * time.Second)
		if got := status(a, token); got != 200 {
			t.Errorf("status %d within the skew", got)
		}
		time.Sleep(2 * time.Second)
		if got := status(a, token); got != 401 {
			t.Errorf("status %d after it", got)
		}
	})
}

// Metadata of another issuer, or of none, is refused.
func TestDiscoveryOfAnother(t *testing.T) {
	i := issuer.New("https://id.example")
	for name, body := range map[string]string{
		"another":  `{"issuer":"https://evil.example","jwks_uri":"https://id.example/jwks"}`,
		"no keys":  `{"issuer":"https://id.example"}`,
		"to http":  `{"issuer":"https://id.example","jwks_uri":"http://id.example/jwks"}`,
		"no JSON":  `<html>`,
		"too long": `{"issuer":"https://id.example","jwks_uri":"https://id.example/jwks","x":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		o := remote(i)
		o.Transport = direct{"id.example": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/jwks" {
				i.ServeHTTP(w, r)
				return
			}
			_, _ = w.Write([]byte(body))
		})}
		tried := newAuth(t, o).Try(t.Context())
		if len(tried) != 1 || tried[0].Err == nil {
			t.Errorf("%s: %+v", name, tried)
		}
	}
	// RFC 8414, with the path of an issuer that does not support OpenID Connect.
	i = issuer.New("https://id.example/realms/main")
	o := remote(i)
	o.Transport = direct{"id.example": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server/realms/main":
			_, _ = w.Write([]byte(`{"issuer":"https://id.example/realms/main","jwks_uri":"https://id.example/jwks"}`))
		case "/jwks":
			_, _ = w.Write(i.Set())
		default:
			http.NotFound(w, r)
		}
	})}
	if tried := newAuth(t, o).Try(t.Context()); tried[0].Err != nil || tried[0].Keys != 1 {
		t.Errorf("%+v", tried)
	}
}

// A token that is verified while the first fetch of the keys ends is valid, whichever comes first.
func TestFirstFetchEndsMeanwhile(t *testing.T) {
	i := issuer.New("https://id.example")
	token := i.Token("alice", resource)
	for range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		a := newAuth(t, remote(i))
		a.Start(ctx)
		var judged sync.WaitGroup
		for n := range 8 {
			judged.Go(func() {
				for range n * 20 {
					runtime.Gosched()
				}
				if got := status(a, token); got != http.StatusOK {
					t.Errorf("status %d", got)
				}
			})
		}
		judged.Wait()
		cancel()
		a.Wait()
	}
}

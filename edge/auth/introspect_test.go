package auth_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// asked returns options with one issuer that introspects opaque tokens.
func asked(i *issuer.Issuer) auth.Options {
	o := remote(i)
	o.Issuers[0].Introspection = &auth.Introspection{
		URL: i.IntrospectionURL(), Client: issuer.ClientID,
		ReadSecret: func() ([]byte, error) { return []byte(issuer.ClientSecret + "\n"), nil },
	}
	return o
}

// The principal of an opaque token has the issuer's answer.
func TestOpaqueTokens(t *testing.T) {
	i := issuer.New("https://id.example")
	synctestRun(t, asked(i), func(a *auth.Authenticator) {
		token := func(changes claims) string {
			c := i.Claims("alice", resource)
			for k, v := range changes {
				if c[k] = v; v == nil {
					delete(c, k)
				}
			}
			return i.Opaque(c)
		}
		for name, changes := range map[string]claims{"good": nil, "without an issuer": {"iss": nil}, "without an end": {"exp": nil}} {
			p, denied := a.Authenticate(bearer(token(changes)))
			p.Until, p.TokenID = time.Time{}, ""
			want := mcp.Principal{Issuer: i.URL, Subject: "alice", Client: "a-client", Scopes: []string{"mcp:read", "mcp:write"}}
			if diff := cmp.Diff(want, p); denied != nil || diff != "" {
				t.Errorf("%s: %+v, %s", name, denied, diff)
			}
		}
		for name, token := range map[string]string{
			"unknown": "nobodys", "three parts": "a.b.c", "another issuer": token(claims{"iss": "https://evil.example"}),
			"another audience": token(claims{"aud": "https://other.example"}), "no audience": token(claims{"aud": nil}),
			"expired": token(claims{"exp": time.Now().Add(-2 * time.Minute).Unix()}), "no subject": token(claims{"sub": nil, "client_id": nil}),
			"bound": token(claims{"cnf": claims{"jkt": "x"}}),
		} {
			_, denied := a.Authenticate(bearer(token))
			if denied == nil {
				t.Errorf("%s was accepted", name)
				continue
			}
			checkDenial(t, denied, 401, "invalid_token")
		}
	})
}

// An issuer's answer about a token is limited in size, as a JWT is, because many are cached.
// Exceeding the limit is not a failure of the issuer.
func TestLargeAnswers(t *testing.T) {
	i := issuer.New("https://id.example")
	synctestRun(t, asked(i), func(a *auth.Authenticator) {
		with := func(roles int) string {
			c, list := i.Claims("alice", resource), make([]string, roles)
			for n := range list {
				list[n] = fmt.Sprintf("role-%05d", n)
			}
			c["roles"] = list
			return i.Opaque(c)
		}
		p, denied := a.Authenticate(bearer(with(4000)))
		if denied != nil || len(p.Roles) != 4000 {
			t.Errorf("%d roles, %+v", len(p.Roles), denied)
		}
		if _, denied = a.Authenticate(bearer(with(6000))); denied == nil || denied.Status != 401 || denied.Reason != "too_large" {
			t.Errorf("with more: %+v", denied)
		}
	})
}

// An issuer is asked once a minute about a token, and once in ten seconds about an unknown one. A
// token that it revokes becomes invalid within the minute.
func TestOpaqueTokensAreRemembered(t *testing.T) {
	i := issuer.New("https://id.example")
	i.SetDelay(time.Second)
	synctestRun(t, asked(i), func(a *auth.Authenticator) {
		token := i.Opaque(i.Claims("alice", resource))
		var work sync.WaitGroup
		for n := range 100 {
			work.Go(func() {
				if n%2 == 0 && status(a, token) != 200 || n%2 == 1 && status(a, "unknown") != 401 {
					t.Error("a wrong status")
				}
			})
		}
		work.Wait()
		if n := i.Questions.Load(); n != 2 {
			t.Errorf("%d questions about two tokens", n)
		}
		i.Revoke(token)
		if got := status(a, token); got != 200 {
			t.Errorf("status %d within the time", got)
		}
		time.Sleep(61 * time.Second)
		if got := status(a, token); got != 401 {
			t.Errorf("status %d after it was revoked", got)
		}
	})
}

// A slow or unavailable issuer does not make a token invalid. Cached tokens stay valid, and all are
// valid when it is back.
func TestIntrospectionOutage(t *testing.T) {
	i := issuer.New("https://id.example")
	o := asked(i)
	broken := false
	read := o.Issuers[0].Introspection.ReadSecret
	o.Issuers[0].Introspection.ReadSecret = func() ([]byte, error) {
		if broken {
			return nil, errors.New("no such file")
		}
		return read()
	}
	synctestRun(t, o, func(a *auth.Authenticator) {
		known, late := i.Opaque(i.Claims("alice", resource)), i.Opaque(i.Claims("bob", resource))
		if got := status(a, known); got != 200 {
			t.Fatalf("status %d", got)
		}
		for what, set := range map[string]func(is bool){
			"down": i.SetUnavailable,
			"slow": func(is bool) {
				i.SetDelay(0)
				if is {
					i.SetDelay(time.Hour)
				}
			},
			"no secret": func(is bool) { broken = is },
		} {
			set(true)
			began := time.Now()
			_, denied := a.Authenticate(bearer(late))
			if denied == nil || denied.Status != 503 || denied.RetryAfter != 0 || // a second
				time.Since(began) > 6*time.Second {
				t.Errorf("%s: %+v after %v", what, denied, time.Since(began))
			}
			if got := status(a, known); got != 200 {
				t.Errorf("%s: status %d for what is remembered", what, got)
			}
			set(false)
		}
		if got := status(a, late); got != 200 {
			t.Errorf("status %d, the issuer is back", got)
		}
		// Many concurrent introspections run a few at a time, and none is lost.
		i.SetDelay(10 * time.Millisecond)
		var work sync.WaitGroup
		for n := range 500 {
			token := i.Opaque(i.Claims(fmt.Sprint("user", n), resource))
			work.Go(func() {
				if got := status(a, token); got != 200 {
					t.Errorf("status %d", got)
				}
			})
		}
		work.Wait()
	})
}

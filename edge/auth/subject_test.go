package auth_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// A token without sub belongs to its client, unless it shows a user: all users of the client would
// be one. A subject claim in the settings is used as configured.
func TestUserWithoutSubject(t *testing.T) {
	i := issuer.New("https://id.example")
	own := options(i)
	own.Issuers[0].Subject = []string{"sub", "client_id", "azp"}
	for name, value := range map[string]any{
		"sid": "s", "auth_time": 1700000000, "preferred_username": "alice", "username": "alice", "email": "alice@example.com", "name": "Alice",
	} {
		t.Run(name, func(t *testing.T) {
			synctestRun(t, asked(i), func(a *auth.Authenticator) {
				opaque := i.Claims("alice", resource)
				delete(opaque, "sub")
				opaque[name] = value
				for kind, token := range map[string]string{
					"JWT": i.Token("alice", resource, claims{"sub": nil, name: value}), "opaque": i.Opaque(opaque),
				} {
					p, denied := a.Authenticate(bearer(token))
					if denied == nil {
						t.Errorf("%s: it is %q", kind, p.Subject)
						continue
					}
					checkDenial(t, denied, 401, "invalid_token")
					for _, want := range []string{"has the claim " + name, "no sub"} {
						if !strings.Contains(denied.Challenges[0], want) {
							t.Errorf("%s: %s does not say %q", kind, denied.Challenges[0], want)
						}
					}
					if denied.Reason != "subject" {
						t.Errorf("%s: refused for %q", kind, denied.Reason)
					}
				}
			})
			token := i.Token("alice", resource, claims{"sub": nil, name: value})
			if p, denied := newAuth(t, own).Authenticate(bearer(token)); denied != nil || p.Subject != "a-client" {
				t.Errorf("with settings that name client_id it is %q, %+v", p.Subject, denied)
			}
			token = i.Token("alice", resource, claims{name: value})
			if p, denied := newAuth(t, options(i)).Authenticate(bearer(token)); denied != nil || p.Subject != "alice" {
				t.Errorf("with sub it is %q, %+v", p.Subject, denied)
			}
		})
	}
}

// The log names, once for each issuer, the claim that was used in place of sub, unless it is
// configured.
func TestSubjectOfAnotherClaim(t *testing.T) {
	i, other := issuer.New("https://id.example"), issuer.New("https://other.example")
	for name, c := range map[string]struct {
		subject []string
		changes claims
		want    string
	}{
		"sub":       {nil, claims{}, ""},
		"client_id": {nil, claims{"sub": nil}, "claim=client_id"},
		"azp":       {nil, claims{"sub": nil, "client_id": nil, "azp": "desk"}, "claim=azp"},
		"as set":    {[]string{"sub", "client_id"}, claims{"sub": nil}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			o := options(i)
			o.Issuers = append(o.Issuers, options(other).Issuers...)
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			for n := range o.Issuers {
				o.Issuers[n].Subject = c.subject
			}
			a := newAuth(t, o)
			for range 2 {
				for _, from := range []*issuer.Issuer{i, other} {
					if _, denied := a.Authenticate(bearer(from.Token("alice", resource, c.changes))); denied != nil {
						t.Fatalf("it was refused: %+v", denied)
					}
				}
			}
			lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
			if c.want == "" {
				if log.String() != "" {
					t.Errorf("the log says\n%s", &log)
				}
				return
			}
			for _, from := range []*issuer.Issuer{i, other} {
				if len(lines) != 2 || !strings.Contains(log.String(), "issuer="+from.URL+" "+c.want) || !strings.Contains(log.String(), "level=WARN") {
					t.Errorf("the log says\n%s", &log)
				}
			}
		})
	}
}

// A subject is a client if its claim names a client, or if a client has its id as sub and the token
// shows no user.
func TestSubjectIsClient(t *testing.T) {
	i := issuer.New("https://id.example")
	for name, c := range map[string]struct {
		subject []string
		changes claims
		want    string // the user, or "client " and the client; empty means refused
	}{
		"a user":                                 {nil, claims{"sub": "alice"}, "alice"},
		"a user of no client":                    {nil, claims{"sub": "alice", "client_id": nil}, "alice"},
		"client_id":                              {nil, claims{"sub": nil, "client_id": "alice"}, "client alice"},
		"azp":                                    {nil, claims{"sub": nil, "client_id": nil, "azp": "alice"}, "client alice"},
		"sub is client_id":                       {nil, claims{"sub": "alice", "client_id": "alice"}, "client alice"},
		"sub is azp":                             {nil, claims{"sub": "alice", "client_id": nil, "azp": "alice"}, "client alice"},
		"sub is azp, client_id is another":       {nil, claims{"sub": "alice", "azp": "alice"}, "client alice"},
		"sub is client_id, of a user":            {nil, claims{"sub": "alice", "client_id": "alice", "sid": "s"}, "alice"},
		"sub is set, and client_id":              {[]string{"sub"}, claims{"sub": "alice", "client_id": "alice"}, "client alice"},
		"client_id is set, of a user":            {[]string{"client_id"}, claims{"sub": "bob", "client_id": "alice", "sid": "s"}, "client alice"},
		"azp is set":                             {[]string{"uid", "azp"}, claims{"azp": "alice"}, "client alice"},
		"another is set, and is client_id":       {[]string{"uid"}, claims{"uid": "alice", "client_id": "alice"}, "alice"},
		"another is set that ends client_id":     {[]string{"x.client_id"}, claims{"x": map[string]any{"client_id": "alice"}}, "alice"},
		"client_id is not a text, and sub alice": {nil, claims{"sub": "alice", "client_id": []string{"alice"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(i)
			o.Issuers[0].Subject = c.subject
			p, denied := newAuth(t, o).Authenticate(bearer(i.Token("alice", resource, c.changes)))
			if c.want == "" && denied != nil && denied.Reason == "claim" {
				return
			}
			if denied != nil {
				t.Fatalf("it was refused: %+v", denied)
			}
			got := p.Subject
			if p.SubjectIsClient {
				got = "client " + got
			}
			if got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
}

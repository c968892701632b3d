package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

var exchangeAttacks = []attack{
	{name: "exchange-deputy", what: "callers of two backends that get exchanged tokens, at a time, with tokens that change hands and tenants", run: exchangeDeputy},
	{name: "exchange-lies", what: "an issuer that exchanges tokens slowly, hugely, wrongly, elsewhere, or gives back what it got", run: exchangeLies},
}

// exchanging is an edge with two backends that get exchanged tokens, and one that gets none.
type exchanging struct {
	*fleet
	lock           *lock
	crm, erp, none *badge
	logs           []string // files
}

// withExchange runs fn on such an edge. Opaque tokens are cached for a second.
func withExchange(fn func(context.Context, *site, *exchanging) error) func(context.Context, *site) error {
	return func(ctx context.Context, s *site) (err error) {
		dir, err := os.MkdirTemp(s.dir, "exchange-")
		if err != nil {
			return err
		}
		x := &exchanging{}
		if x.lock, err = newLock(); err != nil {
			return err
		}
		defer x.lock.stop()
		for name, to := range map[string]**badge{"crm": &x.crm, "erp": &x.erp, "none": &x.none} {
			if *to, err = startBadge(name); err != nil {
				return err
			}
			defer (*to).stop()
		}
		secret := filepath.Join(dir, "secret")
		if err := os.WriteFile(secret, []byte(issuer.ClientSecret), 0o600); err != nil {
			return err
		}
		config := fmt.Sprintf(`auth:
  issuers:
    - issuer: %q
      introspection: {url: %q, client-id: %q, client-secret-file: %q, ttl: 1s}
      exchange: {client-id: %q, client-secret-file: %q}
policy: {default: allow, rules: [{name: others, when: 'has(principal.claims.tenant) && principal.claims.tenant == "none"', then: deny}]}
backends:
  - {name: crm, target: %q, identity: exchange, exchange: {scopes: ["crm:read"]}}
  - {name: erp, target: %q, identity: exchange, exchange: {audience: erp}, claims: [tenant]}
  - {name: none, target: %q}
`, x.lock.URL, x.lock.IntrospectionURL(), issuer.ClientID, secret, issuer.ClientID, secret, x.crm.addr, x.erp.addr, x.none.addr)
		base := filepath.Join(dir, "edge")
		if x.fleet, err = s.start(ctx, base, config, setting{"log.level", "debug"}); err != nil {
			return err
		}
		defer x.kill()
		for i := range x.all {
			x.logs = append(x.logs, fmt.Sprintf("%s-%d.log", base, i))
		}
		return errors.Join(fn(ctx, s, x), x.gone())
	}
}

// bearer is a client with a token.
func (x *exchanging) bearer(s *site, token string) *rogue {
	c := x.rogue(s.freshAddr())
	c.authorization = func() string { return "Bearer " + token }
	return c
}

// owners checks the tokens that a backend got, by tag, which is the caller's token with a number behind it: each is one that the issuer gave for that
// token and that backend. Each tag must have so many.
func (x *exchanging) owners(b *badge, tags map[string]string, each int) (err error) {
	given := map[string]url.Values{}
	for _, e := range x.lock.Exchanged() {
		given["Bearer "+e.Token] = e.Form
	}
	got := b.taken()
	for tag, token := range tags {
		if len(got[tag]) != each {
			err = errors.Join(err, fmt.Errorf("%s got %d tokens with the calls of %s, want %d", b.name, len(got[tag]), tag, each))
		}
		for _, sent := range got[tag] {
			switch form := given[sent]; {
			case form == nil:
				err = errors.Join(err, fmt.Errorf("%s got a token that the issuer did not give: %.20s", b.name, sent))
			case form.Get("subject_token") != token || form.Get("audience") != b.name:
				err = errors.Join(err, fmt.Errorf("%s got a token of another caller or backend with a call of %s: for %s", b.name, tag, form.Get("audience")))
			}
		}
	}
	return err
}

func exchangeDeputy(ctx context.Context, s *site) error {
	return withExchange(func(ctx context.Context, s *site, x *exchanging) error {
		return errors.Join(x.together(ctx, s), x.handsOver(ctx, s))
	})(ctx, s)
}

// together has ten callers call both backends at a time: plain, in sessions, as tasks, and with a question that the same user answers with another
// token.
func (x *exchanging) together(ctx context.Context, s *site) error {
	const callers = 10
	tokens, tags := make([]string, callers), map[string]string{}
	for i := range tokens {
		claims := x.lock.Claims(fmt.Sprint("caller", i), x.url())
		claims["tenant"] = fmt.Sprint("tenant", i)
		if tokens[i] = x.lock.Sign(claims, nil); i%2 == 0 {
			tokens[i] = x.lock.Opaque(claims)
		}
		tags[fmt.Sprint("call", i)] = tokens[i]
	}
	err := together(callers*4, 8, func(n int) error {
		i := n / 4
		c := x.bearer(s, tokens[i])
		defer c.close()
		args := `{"tag":"` + fmt.Sprint("call", i) + `"}`
		for _, b := range []string{"crm", "erp"} {
			var a *answer
			var err error
			switch n % 4 {
			case 0:
				a, err = c.call(ctx, b+"_show", args)
			case 1:
				var session string
				if session, err = c.hello(ctx, `{"name":"x","version":"1"}`); err == nil {
					a, err = c.legacy(ctx, session, "tools/call", `{"name":"`+b+`_show","arguments":`+args+`}`)
				}
			case 2:
				a, err = c.finishes(ctx, b+"_task", args)
			case 3:
				a, err = c.answersTo(ctx, b+"_ask", args)
			}
			if err == nil && !bytes.Contains(a.body, []byte("shown by "+b)) {
				err = fmt.Errorf("%d %.300s", a.status, a.body)
			}
			if err != nil {
				return fmt.Errorf("call %d of %s: %w", n, b, err)
			}
		}
		return nil
	})
	return errors.Join(err, x.owners(x.crm, tags, 5), x.owners(x.erp, tags, 5)) // The question takes two rounds.
}

// finishes calls a tool that is a task, and waits for its result.
func (r *rogue) finishes(ctx context.Context, tool, args string) (*answer, error) {
	id, a, err := r.task(ctx, tool, args)
	if err != nil || id == "" {
		return nil, fmt.Errorf("no task: %v, %v", err, a)
	}
	for end := time.Now().Add(slack); ; pause(ctx, 20*time.Millisecond) {
		a, err := r.tasks(ctx, "tasks/get", id, aboutTask(id))
		if err != nil || bytes.Contains(a.body, []byte("shown by")) || time.Now().After(end) {
			return a, err
		}
	}
}

// answersTo calls a tool that asks once, and answers.
func (r *rogue) answersTo(ctx context.Context, tool, args string) (*answer, error) {
	a, err := r.call(ctx, tool, args)
	if err != nil {
		return nil, err
	}
	var out struct {
		Result struct{ RequestState json.RawMessage }
	}
	if err := json.Unmarshal(a.body, &out); err != nil || out.Result.RequestState == nil {
		return nil, fmt.Errorf("nothing is asked: %v: %.300s", err, a.body)
	}
	return r.modern(ctx, "tools/call", tool, callMembers(tool, args)+`,"requestState":`+string(out.Result.RequestState)+
		`,"inputResponses":{"pin":{"action":"accept","content":{"pin":"4711"}}}`)
}

// handsOver has an issuer describe one opaque token as another caller's: the backends get none of the tokens of the caller before.
func (x *exchanging) handsOver(ctx context.Context, s *site) error {
	token := x.lock.Opaque(x.lock.Claims("nobody", x.url()))
	c := x.bearer(s, token)
	defer c.close()
	of := map[string]string{} // who had a token first
	for _, change := range []map[string]any{
		{"sub": "alice", "tenant": "acme"}, {"sub": "bob", "tenant": "acme"}, {"sub": "bob", "tenant": "globex"}, {"sub": "bob", "tenant": "globex", "scope": "mcp:read"},
	} {
		claims := x.lock.Claims("", x.url())
		maps.Copy(claims, change)
		x.lock.Describe(token, claims)
		pause(ctx, 2*time.Second) // What was known is good for a second.
		if err := c.each(func(c *rogue) error {
			for _, b := range []*badge{x.crm, x.erp} {
				a, err := c.call(ctx, b.name+"_show", `{"tag":"hands"}`)
				if err != nil || !bytes.Contains(a.body, []byte("shown by")) {
					return fmt.Errorf("%v, %v", err, a)
				}
				for _, sent := range b.taken()["hands"] {
					if before, known := of[sent]; known && before != fmt.Sprint(change) {
						return fmt.Errorf("%s gets the token of %s with a call of %v", b.name, before, change)
					}
					of[sent] = fmt.Sprint(change)
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	x.lock.Revoke(token)
	pause(ctx, 2*time.Second)
	a, err := c.call(ctx, "crm_show", `{"tag":"hands"}`)
	if err == nil && a.status != http.StatusUnauthorized {
		err = fmt.Errorf("a token that was revoked: %d %.300s", a.status, a.body)
	}
	return err
}

func exchangeLies(ctx context.Context, s *site) error {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	return withExchange(func(ctx context.Context, s *site, x *exchanging) error {
		err := x.lies(ctx, s, other.URL)
		if n := elsewhere.Load(); n > 0 {
			err = errors.Join(err, fmt.Errorf("another server was asked %d times", n))
		}
		return err
	})(ctx, s)
}

// given is a response with a token.
func given(token, more string) string {
	return `{"access_token":"` + token + `","token_type":"Bearer"` + more + `}`
}

// lies has the issuer answer in ways of its own. No caller of the backend gets a result that a token is needed for, other callers of other backends
// do, and neither a token nor the edge's secret is shown.
func (x *exchanging) lies(ctx context.Context, s *site, other string) (err error) {
	const huge = 64 << 20
	var secrets []string
	for name, lie := range map[string]func(token string) (int, string){
		"itself":        func(token string) (int, string) { return http.StatusOK, given(token, "") },
		"itself, apart": func(token string) (int, string) { return http.StatusOK, given(token+"\\n", "") },
		"a refusal that quotes": func(token string) (int, string) {
			return http.StatusBadRequest, `{"error":"` + token + `","error_description":"` + token + `"}`
		},
		"a failure that quotes": func(token string) (int, string) { return http.StatusInternalServerError, token },
		"a redirect":            func(token string) (int, string) { return http.StatusTemporaryRedirect, other + "/?t=" + token },
		"a permanent redirect":  func(string) (int, string) { return http.StatusPermanentRedirect, other },
		"a redirect to get":     func(string) (int, string) { return http.StatusSeeOther, other },
		"much":                  func(string) (int, string) { return http.StatusOK, given(strings.Repeat("a", huge), "") },
		"a long token":          func(string) (int, string) { return http.StatusOK, given(strings.Repeat("a", 900<<10), "") },
		"deep":                  func(string) (int, string) { return http.StatusOK, given("a", `,"x":`+strings.Repeat("[", 500<<10)) },
		"another kind": func(string) (int, string) {
			return http.StatusOK, given("a", `,"issued_token_type":"urn:ietf:params:oauth:token-type:id_token"`)
		},
		"two tokens":              func(string) (int, string) { return http.StatusOK, given("a", `,"access_token":"b"`) },
		"a token as another sees": func(string) (int, string) { return http.StatusOK, `{"Access_Token":"b","token_type":"Bearer"}` },
		"a header":                func(string) (int, string) { return http.StatusOK, given(`a\r\nx: y`, "") },
		"no token":                func(string) (int, string) { return http.StatusOK, `[]` },
	} {
		token := x.lock.Token("liar", x.url())
		secrets = append(secrets, token)
		x.lock.ExchangeWith(func(r *http.Request) (int, string) { return lie(r.PostFormValue("subject_token")) })
		c := x.bearer(s, token)
		a, e := c.call(ctx, "crm_show", `{"tag":"lies"}`)
		c.close()
		if e == nil && (!bytes.Contains(a.body, []byte(`"error"`)) || bytes.Contains(a.body, []byte(token))) {
			e = fmt.Errorf("%d %.300s", a.status, a.body)
		}
		if got := x.crm.taken(); len(got) > 0 {
			e = errors.Join(e, fmt.Errorf("the backend is called with %.100q", got))
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("the issuer answers %s: %w", name, e))
		}
	}
	err = errors.Join(err, x.hangs(ctx, s))
	for _, file := range x.logs {
		text, e := os.ReadFile(file)
		err = errors.Join(err, e)
		for _, secret := range append(secrets, issuer.ClientSecret, url.QueryEscape(issuer.ClientSecret)) {
			if parts := strings.Split(secret, "."); bytes.Contains(text, []byte(parts[len(parts)-1])) {
				err = errors.Join(err, fmt.Errorf("%s has a secret of an exchange", filepath.Base(file)))
			}
		}
	}
	return err
}

// hangs has the issuer answer exchanges not at all, under calls of 40 callers: those of a backend without exchange are answered as ever, and so is
// who has a token already.
func (x *exchanging) hangs(ctx context.Context, s *site) error {
	x.lock.ExchangeWith(nil)
	early := x.bearer(s, x.lock.Token("early", x.url()))
	defer early.close()
	if err := early.each(func(c *rogue) error {
		a, err := c.call(ctx, "erp_show", `{"tag":"early"}`)
		if err == nil && !bytes.Contains(a.body, []byte("shown by erp")) {
			err = fmt.Errorf("%d %.300s", a.status, a.body)
		}
		return err
	}); err != nil {
		return err
	}
	x.lock.ExchangeWith(func(r *http.Request) (int, string) {
		_ = r.ParseForm() // The end of a client is seen once the body is read.
		<-r.Context().Done()
		return http.StatusServiceUnavailable, ""
	})
	defer x.lock.ExchangeWith(nil)
	waiting := make(chan error, 1)
	go func() {
		waiting <- together(40, 40, func(i int) error {
			c := x.bearer(s, x.lock.Token(fmt.Sprint("waits", i), x.url()))
			defer c.close()
			a, err := c.call(ctx, "erp_show", `{"tag":"waits"}`)
			if err == nil && !bytes.Contains(a.body, []byte("-31502")) {
				err = fmt.Errorf("who waits for an issuer that hangs: %d %.300s", a.status, a.body)
			}
			return err
		})
	}()
	var slowest time.Duration
	var err error
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end) && err == nil; pause(ctx, 20*time.Millisecond) {
		for _, tool := range []string{"none_show", "erp_show"} {
			began := time.Now()
			a, e := early.call(ctx, tool, `{"tag":"early"}`)
			if e == nil && !bytes.Contains(a.body, []byte("shown by")) {
				e = fmt.Errorf("%s while the issuer hangs for others: %d %.300s", tool, a.status, a.body)
			}
			err, slowest = errors.Join(err, e), max(slowest, time.Since(began))
		}
	}
	s.note("answered beside an issuer that hangs within %.2f s", slowest.Seconds())
	if slowest > listsWithin {
		err = errors.Join(err, fmt.Errorf("a call that needs no exchange took %v", slowest))
	}
	return errors.Join(err, <-waiting)
}

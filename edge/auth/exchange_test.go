package auth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// exchanging returns options with one issuer that exchanges tokens.
func exchanging(i *issuer.Issuer) auth.Options {
	o := remote(i)
	o.Transport = nil
	o.Issuers[0].Exchange = exchangeOf()
	return o
}

func exchangeOf() *auth.Exchange {
	return &auth.Exchange{Client: issuer.ClientID, ReadSecret: func() ([]byte, error) { return []byte(issuer.ClientSecret + "\n"), nil }}
}

// of returns a caller, and the context of a request with a token.
func of(t testing.TB, i *issuer.Issuer, token string) (context.Context, *mcp.Principal) {
	t.Helper()
	return mcp.WithToken(t.Context(), mcp.NewToken(token)), &mcp.Principal{Subject: "alice", Issuer: i.URL, Until: time.Now().Add(time.Hour)}
}

// A token is exchanged for one of the backend's by RFC 8693, once for all callers that need the
// same.
func TestExchange(t *testing.T) {
	i := issuer.Serve(t)
	a := newAuth(t, exchanging(i))
	crm := a.Exchanger(auth.Wanted{Backend: "crm", Audience: "crm", Scopes: []string{"crm:read", "crm:write"}})
	erp := a.Exchanger(auth.Wanted{Backend: "erp", Resource: "https://erp.example"})
	alice, bob := i.Token("alice", resource), i.Token("bob", resource)
	get := func(x *auth.Exchanger, token string) string {
		ctx, who := of(t, i, token)
		key, value, err := x.Prove(ctx, who, "call")
		if err != nil || key != "authorization" {
			t.Errorf("%q, %v", key, err)
		}
		return value
	}
	i.SetDelay(50 * time.Millisecond)
	values := make([]string, 20)
	var group sync.WaitGroup
	for n := range values {
		group.Go(func() { values[n] = get(crm, alice) })
	}
	group.Wait()
	first := i.Exchanged()
	if len(first) != 1 || i.Exchanges.Load() != 1 {
		t.Fatalf("%d exchanges for one token and backend", i.Exchanges.Load())
	}
	for _, v := range append(values, get(crm, alice)) {
		if v != "Bearer "+first[0].Token {
			t.Errorf("%q is sent, want %q", v, first[0].Token)
		}
	}
	want := url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {alice}, "audience": {"crm"}, "scope": {"crm:read crm:write"},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"}, "requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
	}
	if d := cmp.Diff(want, first[0].Form); d != "" {
		t.Error(d)
	}
	get(erp, alice)
	get(crm, bob)
	all := i.Exchanged()
	if len(all) != 3 || all[1].Form.Get("resource") != "https://erp.example" || all[1].Form.Has("audience") || all[1].Form.Has("scope") || all[2].Form.Get("subject_token") != bob {
		t.Errorf("%v", all)
	}
	a.ForgetExchangers(func(backend string) bool { return backend == "erp" })
	if a.Exchanger(auth.Wanted{Backend: "erp", Resource: "https://erp.example"}) == erp ||
		a.Exchanger(auth.Wanted{Backend: "crm", Audience: "crm", Scopes: []string{"crm:read", "crm:write"}}) != crm {
		t.Error("the Exchanger of a backend that is gone stays, or another one is dropped")
	}
}

// Refusals of an issuer and failures are distinguished; no error and no log line contains a token,
// and no redirect sends a token elsewhere.
func TestExchangeFails(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	for name, c := range map[string]struct {
		status    int
		body      string
		kind      mcp.Kind
		text      string
		challenge *mcp.Challenge
		asked     int64
	}{
		"invalid_grant":       {400, `{"error":"invalid_grant","error_description":"TOKEN"}`, mcp.KindUnauthenticated, "get a new one", &mcp.Challenge{Invalid: true}, 1},
		"invalid_token":       {401, `{"error":"invalid_token"}`, mcp.KindUnauthenticated, "get a new one", &mcp.Challenge{Invalid: true}, 1},
		"access_denied":       {403, `{"error":"access_denied","error_description":"TOKEN"}`, mcp.KindForbidden, "(access_denied)", nil, 1},
		"invalid_target":      {400, `{"error":"invalid_target"}`, mcp.KindForbidden, "(invalid_target)", nil, 1},
		"invalid_request":     {400, `{"error":"invalid_request"}`, mcp.KindForbidden, "(invalid_request)", nil, 1},
		"invalid_client":      {401, `{"error":"invalid_client"}`, mcp.KindInternal, "ask its operator to correct the configuration", nil, 1},
		"an error of no kind": {400, `{"error":"TOKEN"}`, mcp.KindInternal, "its operator", nil, 1},
		"no JSON":             {200, "TOKEN", mcp.KindInternal, "its operator", nil, 1},
		"two members":         {200, `{"access_token":"a","access_token":"b","token_type":"Bearer"}`, mcp.KindInternal, "its operator", nil, 1},
		"no token":            {200, `{"token_type":"Bearer"}`, mcp.KindInternal, "its operator", nil, 1},
		"a token with a line": {200, `{"access_token":"a\r\nb","token_type":"Bearer"}`, mcp.KindInternal, "its operator", nil, 1},
		"another type":        {200, `{"access_token":"a","token_type":"DPoP"}`, mcp.KindInternal, "its operator", nil, 1},
		"another kind":        {200, `{"access_token":"a","token_type":"Bearer","issued_token_type":"urn:ietf:params:oauth:token-type:refresh_token"}`, mcp.KindInternal, "its operator", nil, 1},
		"an odd life":         {200, `{"access_token":"a","token_type":"Bearer","expires_in":"soon"}`, mcp.KindInternal, "its operator", nil, 1},
		"the caller's own":    {200, `{"access_token":"TOKEN","token_type":"Bearer"}`, mcp.KindInternal, "its operator", nil, 1},
		"too much":            {200, `{"access_token":"` + strings.Repeat("a", 2<<20) + `"}`, mcp.KindInternal, "its operator", nil, 1},
		"a redirect":          {307, other.URL, mcp.KindInternal, "its operator", nil, 1},
		"too many":            {429, `{}`, mcp.KindUnavailable, "try again later", nil, 3},
		"down":                {503, `{"error":"invalid_grant"}`, mcp.KindUnavailable, "try again later", nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			i := issuer.Serve(t)
			var log bytes.Buffer
			o := exchanging(i)
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			x := newAuth(t, o).Exchanger(auth.Wanted{Backend: "crm", Audience: "crm"})
			token := i.Token("alice", resource)
			i.ExchangeWith(func(*http.Request) (int, string) { return c.status, strings.ReplaceAll(c.body, "TOKEN", token) })
			ctx, who := of(t, i, token)
			for range 3 {
				_, value, err := x.Prove(ctx, who, "call")
				var e *mcp.Error
				if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Message, c.text) || value != "" {
					t.Fatalf("%q, %v, want %v %q", value, err, c.kind, c.text)
				}
				if d := cmp.Diff(c.challenge, e.Challenge); d != "" {
					t.Error(d)
				}
				if said := fmt.Sprintf("%s %v %+v", e.Message, e.Err, e); strings.Contains(said, token) {
					t.Errorf("the error has the token: %s", said)
				}
			}
			if n := i.Exchanges.Load(); n != c.asked {
				t.Errorf("the issuer was asked %d times, want %d", n, c.asked)
			}
			if text := log.String(); strings.Contains(text, token) || strings.Count(text, "cannot be exchanged") != 1 {
				t.Errorf("logged: %s", text)
			}
		})
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("a redirect was followed %d times", n)
	}
}

// Callers without an exchangeable token are refused with what to do, and no issuer is asked: API
// keys are sent to no issuer.
func TestNothingToExchange(t *testing.T) {
	i := issuer.Serve(t)
	x := newAuth(t, exchanging(i)).Exchanger(auth.Wanted{Backend: "crm", Audience: "crm"})
	with := mcp.WithToken(t.Context(), mcp.NewToken("secret"))
	for name, c := range map[string]struct {
		ctx  context.Context
		who  mcp.Principal
		kind mcp.Kind
		text string
		lost bool
	}{
		"anonymous":      {t.Context(), mcp.Principal{}, mcp.KindUnauthenticated, "call over HTTP with an access token", false},
		"an API key":     {with, mcp.Principal{Subject: "ci", Issuer: auth.APIKeyIssuer}, mcp.KindForbidden, "these credentials cannot be exchanged", false},
		"another issuer": {with, mcp.Principal{Subject: "a", Issuer: "https://other"}, mcp.KindForbidden, "these credentials cannot be exchanged", false},
		"a lost token":   {t.Context(), mcp.Principal{Subject: "a", Issuer: i.URL}, mcp.KindForbidden, "which this server does not have", true},
	} {
		_, _, err := x.Prove(c.ctx, &c.who, "call")
		var e *mcp.Error
		if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Message, c.text) || errors.Is(err, mcp.ErrNoToken) != c.lost {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := i.Exchanges.Load(); n != 0 {
		t.Errorf("the issuer was asked %d times", n)
	}
}

// A token is used until shortly before its expiry or that of the caller's own, whichever is first;
// refusals are cached for ten seconds.
func TestExchangedTokensExpire(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		until time.Duration // expiry of the caller's own token
		good  time.Duration
	}{
		"of five minutes":   {`{"access_token":"a","token_type":"bearer","expires_in":300}`, time.Hour, 290 * time.Second},
		"of twenty seconds": {`{"access_token":"a","token_type":"bearer","expires_in":20}`, time.Hour, 18 * time.Second},
		"as it likes":       {`{"access_token":"a","token_type":"bearer"}`, time.Hour, time.Minute},
		"the caller's own":  {`{"access_token":"a","token_type":"bearer","expires_in":300}`, 30 * time.Second, 30 * time.Second},
		"in a string":       {`{"access_token":"a","token_type":"bearer","expires_in":"300"}`, time.Hour, 290 * time.Second},
		"not said":          {`{"access_token":"a","token_type":"bearer","expires_in":null}`, time.Hour, time.Minute},
		"of no life":        {`{"access_token":"a","token_type":"bearer","expires_in":-5}`, time.Hour, 0},
		"of all life":       {`{"access_token":"a","token_type":"bearer","expires_in":1e300}`, time.Minute, time.Minute},
		"a refusal":         {`{"error":"access_denied"}`, time.Hour, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			i := issuer.New("https://id.example")
			synctest.Test(t, func(t *testing.T) {
				o := remote(i)
				o.Issuers[0].Exchange = exchangeOf()
				x := newAuth(t, o).Exchanger(auth.Wanted{Backend: "crm", Audience: "crm"})
				status := http.StatusOK
				if strings.Contains(c.body, "error") {
					status = http.StatusBadRequest
				}
				i.ExchangeWith(func(*http.Request) (int, string) { return status, c.body })
				who := mcp.Principal{Subject: "alice", Issuer: i.URL, Until: time.Now().Add(c.until)}
				ctx := mcp.WithToken(t.Context(), mcp.NewToken("t"))
				asked := func() int64 { _, _, _ = x.Prove(ctx, &who, "call"); return i.Exchanges.Load() }
				if n := asked(); n != 1 {
					t.Fatalf("asked %d times", n)
				}
				if c.good > 0 {
					time.Sleep(c.good - time.Millisecond)
					if n := asked(); n != 1 {
						t.Errorf("asked %d times before %v", n, c.good)
					}
				}
				time.Sleep(2 * time.Millisecond)
				if n := asked(); n != 2 {
					t.Errorf("asked %d times after %v", n, c.good)
				}
			})
		})
	}
}

// A caller that leaves does not affect the others; an issuer that does not answer delays no caller
// for longer than five seconds.
func TestSlowExchange(t *testing.T) {
	i := issuer.New("https://id.example")
	synctest.Test(t, func(t *testing.T) {
		o := remote(i)
		o.Issuers[0].Exchange = exchangeOf()
		x := newAuth(t, o).Exchanger(auth.Wanted{Backend: "crm", Audience: "crm"})
		who := mcp.Principal{Subject: "alice", Issuer: i.URL}
		i.SetDelay(3 * time.Second)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		with := func(ctx context.Context) context.Context {
			return mcp.WithToken(ctx, mcp.NewToken(i.Token("alice", resource)))
		}
		token := mcp.TokenOf(with(t.Context()))
		var left, stayed error
		var group sync.WaitGroup
		group.Go(func() { _, _, left = x.Prove(mcp.WithToken(short, token), &who, "1") })
		group.Go(func() { _, _, stayed = x.Prove(mcp.WithToken(t.Context(), token), &who, "2") })
		group.Wait()
		if mcp.AsError(left).Kind != mcp.KindTimeout || i.Exchanges.Load() != 1 {
			t.Errorf("%v, %d exchanges", left, i.Exchanges.Load())
		}
		// The metadata takes three seconds, too: what is left for the token is too little.
		if mcp.AsError(stayed).Kind != mcp.KindUnavailable {
			t.Errorf("%v", stayed)
		}
		i.SetDelay(time.Hour)
		began := time.Now()
		_, _, err := x.Prove(mcp.WithToken(t.Context(), token), &who, "3")
		if took := time.Since(began); mcp.AsError(err).Kind != mcp.KindUnavailable || took > 5*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		i.SetDelay(0) // after two unanswered requests; a third one would open the breaker
		if _, _, err := x.Prove(mcp.WithToken(t.Context(), token), &who, "4"); err != nil {
			t.Errorf("when it is back: %v", err)
		}
	})
}

// A token that a backend refuses is exchanged again, at most once in ten seconds: otherwise a
// backend that refuses all tokens would cause an exchange for each call. The refusal of an older
// token does not affect the current one.
func TestRefusedByTheBackend(t *testing.T) {
	i := issuer.New("https://id.example")
	synctest.Test(t, func(t *testing.T) {
		o := remote(i)
		o.Issuers[0].Exchange = exchangeOf()
		x := newAuth(t, o).Exchanger(auth.Wanted{Backend: "crm", Audience: "crm"})
		ctx, who := of(t, i, i.Token("alice", resource))
		prove := func(want int64) string {
			t.Helper()
			_, value, err := x.Prove(ctx, who, "call")
			if n := i.Exchanges.Load(); err != nil || n != want {
				t.Errorf("%d exchanges, want %d: %v", n, want, err)
			}
			return value
		}
		first := prove(1)
		x.Refused(ctx, who, first)
		x.Refused(ctx, who, first)
		time.Sleep(time.Second) // so that the issuer issues another token
		second := prove(2)
		x.Refused(ctx, who, first)
		prove(2)
		x.Refused(ctx, who, second)
		prove(2)
		time.Sleep(10 * time.Second)
		x.Refused(ctx, who, second)
		prove(3)
		x.Refused(context.Background(), who, second) // without a known caller
	})
}

// Callers that are refused beside others that are not do not fill the log.
func TestExchangesAreLoggedOnceInAWhile(t *testing.T) {
	i := issuer.New("https://id.example")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := remote(i)
		o.Issuers[0].Exchange, o.Logger = exchangeOf(), slog.New(slog.NewTextHandler(&log, nil))
		x := newAuth(t, o).Exchanger(auth.Wanted{Backend: "crm", Audience: "crm"})
		exchange := func(n int, refused bool) {
			i.ExchangeWith(func(*http.Request) (int, string) {
				if refused {
					return http.StatusForbidden, `{"error":"access_denied"}`
				}
				return http.StatusOK, `{"access_token":"a","token_type":"Bearer"}`
			})
			ctx, who := of(t, i, i.Token(fmt.Sprint("caller", n), resource))
			_, _, _ = x.Prove(ctx, who, "call")
		}
		counts := func(failed, again int) {
			t.Helper()
			text := log.String()
			if f, a := strings.Count(text, "cannot be exchanged"), strings.Count(text, "are exchanged for a backend again"); f != failed || a != again {
				t.Errorf("%d and %d lines, want %d and %d:\n%s", f, a, failed, again, text)
			}
		}
		for n := range 100 {
			exchange(n, n%2 == 0)
		}
		counts(1, 0)
		time.Sleep(time.Minute)
		exchange(101, false)
		counts(1, 1)
		time.Sleep(time.Minute)
		exchange(102, true)
		counts(2, 1)
	})
}

// An issuer that does not answer blocks only its own callers.
func TestSlowIssuerDelaysNoOther(t *testing.T) {
	slow, well := issuer.New("https://slow.example"), issuer.New("https://well.example")
	synctest.Test(t, func(t *testing.T) {
		o := remote(slow)
		o.Issuers = append(o.Issuers, remote(well).Issuers...)
		for n := range o.Issuers {
			o.Issuers[n].Exchange = exchangeOf()
		}
		o.Transport = direct{"slow.example": slow, "well.example": well}
		x := newAuth(t, o).Exchanger(auth.Wanted{Backend: "crm", Audience: "crm"})
		slow.SetDelay(time.Hour)
		for n := range auth.MaxAsking {
			ctx, who := of(t, slow, slow.Token(fmt.Sprint("caller", n), resource))
			go func() { _, _, _ = x.Prove(ctx, who, "call") }()
		}
		synctest.Wait()
		ctx, who := of(t, well, well.Token("alice", resource))
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, _, err := x.Prove(ctx, who, "call"); err != nil {
			t.Errorf("the caller of the issuer that answers: %v", err)
		}
		time.Sleep(time.Minute) // until the others have timed out
	})
}

// One caller with many tokens holds its share of the places at a slow issuer, and delays no other caller.
func TestOneCallersTokensDelayNoOther(t *testing.T) {
	i := issuer.New("https://slow.example")
	synctest.Test(t, func(t *testing.T) {
		o := remote(i)
		o.Issuers[0].Exchange = exchangeOf()
		o.Transport = direct{"slow.example": i}
		x := newAuth(t, o).Exchanger(auth.Wanted{Backend: "crm", Audience: "crm"})
		alices := i.Token("alice", resource)
		var held atomic.Int64
		i.ExchangeWith(func(r *http.Request) (int, string) {
			if r.PostFormValue("subject_token") != alices {
				held.Add(1)
				<-r.Context().Done()
			}
			return http.StatusOK, `{"access_token":"for-crm","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer","expires_in":60}`
		})
		for n := range 2 * auth.MaxAsking {
			ctx, who := of(t, i, i.Token("mallory", resource, map[string]any{"jti": fmt.Sprint(n)}))
			who.Subject = "mallory"
			go func() { _, _, _ = x.Prove(ctx, who, "call") }()
		}
		synctest.Wait()
		if n := held.Load(); n != auth.MaxAskingOfOne {
			t.Errorf("one caller has %d concurrent exchanges, want %d", n, auth.MaxAskingOfOne)
		}
		ctx, who := of(t, i, alices)
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, value, err := x.Prove(ctx, who, "call"); err != nil || value != "Bearer for-crm" {
			t.Errorf("the other caller: %q, %v", value, err)
		}
		time.Sleep(time.Minute) // until the others have timed out
	})
}

// Printing a value that contains a token does not show the token.
func TestTokensPrintAsNothing(t *testing.T) {
	in := mcp.Incoming{Token: mcp.NewToken("secret")}
	for _, text := range []string{fmt.Sprint(in), fmt.Sprintf("%+v %#v", in, in.Token), fmt.Sprint(in.Token), fmt.Sprintf("%v", mcp.WithToken(t.Context(), in.Token))} {
		if strings.Contains(text, "secret") {
			t.Error(text)
		}
	}
	if !slices.Equal([]string{in.Token.Reveal(), mcp.TokenOf(t.Context()).Reveal()}, []string{"secret", ""}) {
		t.Error("a token is another one")
	}
}

// Checking whether tokens can be exchanged needs no token.
func TestTryExchange(t *testing.T) {
	i := issuer.Serve(t)
	for name, c := range map[string]struct {
		change func(*auth.Issuer)
		want   string // empty means that they can be exchanged
	}{
		"as it should be": {func(*auth.Issuer) {}, ""},
		"by a URL": {func(o *auth.Issuer) {
			o.ReadKeys = func() ([]byte, error) { return i.Set(), nil }
			o.Exchange.URL = i.TokenURL()
		}, ""},
		"no secret": {func(o *auth.Issuer) {
			o.Exchange.ReadSecret = func() ([]byte, error) { return nil, errors.New("no such file") }
		}, "no such file"},
		"no metadata": {func(o *auth.Issuer) {
			o.URL, o.ReadKeys = i.URL+"/realms/x", func() ([]byte, error) { return i.Set(), nil }
		}, "its metadata cannot be read"},
	} {
		o := exchanging(i)
		c.change(&o.Issuers[0])
		tried := newAuth(t, o).Try(t.Context())
		if err := tried[0].Err; (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if n := i.Exchanges.Load(); n != 0 {
		t.Errorf("%d exchanges", n)
	}
}

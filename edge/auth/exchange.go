package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/singleflight"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Exchange configures the exchange of an issuer's tokens for tokens of backends (RFC 8693).
type Exchange struct {
	// URL is that of the token endpoint. Empty takes it from the issuer's metadata.
	URL string
	// Client and its secret authenticate the edge at the endpoint (RFC 6749, section 2.3.1). The
	// secret is read for each request, so it may change; surrounding white space is ignored.
	Client     string
	ReadSecret func() ([]byte, error)
}

// Wanted describes the token that a backend needs for a caller.
type Wanted struct {
	// Backend is the backend's name.
	Backend string
	// Audience and Resource are the token's target (RFC 8693, section 2.1). At least one is set.
	Audience, Resource string
	// Scopes are those to request. nil leaves them to the issuer.
	Scopes []string
}

const (
	// exchangedEntries bounds the cached tokens and refusals.
	exchangedEntries = 16 << 10
	// exchangedTTL is the time for which a token of unknown lifetime is cached, refusedTTL the time
	// for which a refusal is.
	exchangedTTL, refusedTTL = time.Minute, 10 * time.Second
	// forgetInterval is the shortest interval between two cached tokens for the same that are dropped
	// because the backend refused them.
	forgetInterval = 10 * time.Second
	// exchangeLogInterval is the shortest interval between two log lines about the exchanges for one backend.
	exchangeLogInterval = time.Minute
	// exchangeMargin is the time before its expiry at which a token is exchanged again. It is a
	// tenth of the lifetime if that is less.
	exchangeMargin = 10 * time.Second
)

// The parameters of RFC 8693, section 2.1 and 3.
const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeAccess    = "urn:ietf:params:oauth:token-type:access_token" // #nosec G101 -- a name
	typeJWT       = "urn:ietf:params:oauth:token-type:jwt"          // #nosec G101 -- a name
)

// exchanges has the exchanges for all backends. Exchanged tokens are only in memory. It is safe for
// concurrent use.
type exchanges struct {
	issuers map[string]*exchangeIssuer
	all     []*Exchanger
	log     *slog.Logger
	running singleflight.Group

	mu    sync.Mutex
	known *simplelru.LRU[digest, exchanged]
}

// exchanged is the result of an exchange: a token or a refusal. Without either, it is a token that
// was dropped.
type exchanged struct {
	token   string
	refused *mcp.Error
	until   time.Time
	// kept is until when the token stays, although the backend refuses it, because the previous one
	// was just dropped.
	kept time.Time
}

func newExchanges(log *slog.Logger) *exchanges {
	known, _ := simplelru.NewLRU[digest, exchanged](exchangedEntries, nil) // fails only for a size of 0
	return &exchanges{issuers: map[string]*exchangeIssuer{}, log: log, known: known}
}

// each calls fn with the number of exchanges of each backend, by outcome.
func (x *exchanges) each(fn func(backend string, outcome exchangeOutcome, n int64)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	sums := map[string]*[exchangeOutcomeCount]int64{} // a backend may have had several
	for _, one := range x.all {
		if sums[one.backend] == nil {
			sums[one.backend] = new([exchangeOutcomeCount]int64)
		}
		for outcome := range one.counts {
			sums[one.backend][outcome] += one.counts[outcome].Load()
		}
	}
	for backend, counts := range sums {
		for outcome, n := range counts {
			fn(backend, exchangeOutcome(outcome), n)
		}
	}
}

func (x *exchanges) get(d digest, now time.Time) (exchanged, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.known.Get(d)
	if ok && !now.Before(e.until) {
		x.known.Remove(d)
		return exchanged{}, false
	}
	return e, ok && (e.token != "" || e.refused != nil)
}

func (x *exchanges) put(d digest, e exchanged) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if before, ok := x.known.Peek(d); ok {
		e.kept = before.kept
	}
	x.known.Add(d, e)
}

// forget drops a token, at most once in forgetInterval.
func (x *exchanges) forget(d digest, token string, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e, ok := x.known.Peek(d); ok && e.token == token && !now.Before(e.kept) {
		until := now.Add(forgetInterval)
		x.known.Add(d, exchanged{until: until, kept: until})
	}
}

// exchangeOutcome is the outcome of an exchange, as named in metrics.
type exchangeOutcome int

const (
	exchangeOK exchangeOutcome = iota
	exchangeCached
	exchangeRefused
	exchangeUnavailable
	exchangeImpossible
	exchangeOutcomeCount
)

var exchangeOutcomes = [exchangeOutcomeCount]string{"ok", "cached", "refused", "unavailable", "impossible"}

// Exchanger gets the tokens of one backend for callers. It is safe for concurrent use.
type Exchanger struct {
	x       *exchanges
	backend string
	form    url.Values
	// key distinguishes the tokens for this backend from those for others.
	key []byte
	// breakers has one breaker for each issuer: an issuer that hangs for one backend may answer for
	// others. The map never changes.
	breakers map[*exchangeIssuer]*gobreaker.TwoStepCircuitBreaker[any]
	counts   [exchangeOutcomeCount]atomic.Int64

	// noted guards failing, the last logged error (empty after none or a recovery), and loggedAt,
	// the time of that log line.
	noted    sync.Mutex
	failing  string
	loggedAt time.Time
}

// Exchanger returns the Exchanger for the needs of a backend. Equal needs share one. At least one
// issuer must have an Exchange.
func (a *Authenticator) Exchanger(w Wanted) *Exchanger {
	form := url.Values{"grant_type": {grantExchange}, "subject_token_type": {typeAccess}, "requested_token_type": {typeAccess}}
	for name, value := range map[string]string{"audience": w.Audience, "resource": w.Resource, "scope": strings.Join(w.Scopes, " ")} {
		if value != "" {
			form.Set(name, value)
		}
	}
	key := []byte(w.Backend + "\x00" + form.Encode())
	a.exchanges.mu.Lock()
	defer a.exchanges.mu.Unlock()
	for _, x := range a.exchanges.all {
		if bytes.Equal(x.key, key) {
			return x
		}
	}
	x := &Exchanger{x: a.exchanges, backend: w.Backend, form: form, key: key}
	x.breakers = map[*exchangeIssuer]*gobreaker.TwoStepCircuitBreaker[any]{}
	for _, from := range a.exchanges.issuers {
		x.breakers[from] = newBreaker()
	}
	a.exchanges.all = append(a.exchanges.all, x)
	return x
}

// ForgetExchangers drops the Exchangers of removed backends, with their counts. One that is in use
// continues to work.
func (a *Authenticator) ForgetExchangers(gone func(backend string) bool) {
	if a.exchanges == nil { // No issuer has an Exchange.
		return
	}
	a.exchanges.mu.Lock()
	defer a.exchanges.mu.Unlock()
	a.exchanges.all = slices.DeleteFunc(a.exchanges.all, func(x *Exchanger) bool { return gone(x.backend) })
}

// Prove returns the metadata that identifies the caller in an RPC to the backend: a token for this
// backend from the issuer of the caller's own token. The caller's token is sent to that issuer
// alone. Callers that need the same share one exchange. The error is a *mcp.Error; it wraps
// mcp.ErrNoToken if the token of the call is not available any more.
func (x *Exchanger) Prove(ctx context.Context, who *mcp.Principal, _ string) (key, value string, _ error) {
	token := mcp.TokenOf(ctx)
	from := x.x.issuers[who.Issuer]
	if from == nil || token.IsZero() {
		x.counts[exchangeImpossible].Add(1)
		return "", "", x.impossible(who, from)
	}
	d := x.digest(token, who)
	e, known := x.x.get(d, time.Now())
	switch {
	case known && e.refused != nil:
		x.counts[exchangeRefused].Add(1)
		return "", "", e.refused
	case known:
		x.counts[exchangeCached].Add(1)
		return metadataToken, schemeBearer + " " + e.token, nil
	}
	done := x.x.running.DoChan(string(d[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
		defer cancel()
		return x.exchangeInTurn(ctx, from, token, who, d), nil
	})
	select {
	case r := <-done:
		e := r.Val.(exchanged)
		switch {
		case e.refused == nil:
			x.counts[exchangeOK].Add(1)
			return metadataToken, schemeBearer + " " + e.token, nil
		case e.refused.Kind == mcp.KindUnavailable:
			x.counts[exchangeUnavailable].Add(1)
		default:
			x.counts[exchangeRefused].Add(1)
		}
		return "", "", e.refused
	case <-ctx.Done():
		x.counts[exchangeUnavailable].Add(1)
		return "", "", &mcp.Error{Kind: mcp.KindTimeout, Message: fmt.Sprintf("the call ended before the issuer returned a token for the backend %q", x.backend), Err: ctx.Err()}
	}
}

// Refused drops a token from Prove that the backend refused, so that the next call gets another
// one.
func (x *Exchanger) Refused(ctx context.Context, who *mcp.Principal, value string) {
	if token := mcp.TokenOf(ctx); !token.IsZero() {
		x.x.forget(x.digest(token, who), strings.TrimPrefix(value, schemeBearer+" "), time.Now())
	}
}

// metadataToken is the key of the token's metadata.
const metadataToken = "authorization"

// digest identifies the needs, the token and the caller's current description. An issuer may
// describe an opaque token differently later.
func (x *Exchanger) digest(token mcp.Token, who *mcp.Principal) digest {
	sum := sha256.Sum256([]byte(token.Reveal()))
	rights := sha256.Sum256(who.AppendIdentity(nil, slices.Sorted(maps.Keys(who.Forwarded))))
	text := append(sum[:], rights[:]...)
	if len(who.Claims) > 0 {
		raw, _ := json.Marshal(who.Claims) // sorted; they are JSON
		claims := sha256.Sum256(raw)
		text = append(text, claims[:]...)
	}
	return sha256.Sum256(append(text, x.key...))
}

// exchangeInTurn exchanges a token at an issuer, after waiting for one of its slots, unless its breaker is open.
func (x *Exchanger) exchangeInTurn(ctx context.Context, from *exchangeIssuer, token mcp.Token, who *mcp.Principal, d digest) exchanged {
	b := x.breakers[from]
	if b.State() == gobreaker.StateOpen {
		return exchanged{refused: x.unavailable(probeAfter)}
	}
	leave, err := from.turns.enter(ctx, who.Key())
	if err != nil {
		return exchanged{refused: x.unavailable(0)}
	}
	defer leave()
	ended, err := b.Allow()
	if err != nil {
		return exchanged{refused: x.unavailable(probeAfter)}
	}
	began := time.Now()
	e := x.exchange(ctx, from, token, who.Until, d)
	if e.refused != nil && e.refused.Kind == mcp.KindUnavailable && time.Since(began) >= unansweredAfter {
		ended(e.refused)
	} else {
		ended(nil)
	}
	return e
}

// exchange asks an issuer and caches the result.
func (x *Exchanger) exchange(ctx context.Context, from *exchangeIssuer, token mcp.Token, until time.Time, d digest) exchanged {
	began := time.Now()
	answer, err := from.ask(ctx, x.form, token)
	x.note(from, err)
	var refused *exchangeError
	switch {
	case errors.As(err, &refused):
		e := exchanged{refused: x.refusal(refused), until: began.Add(refusedTTL)}
		x.x.put(d, e)
		return e
	case err != nil:
		return exchanged{refused: x.unavailable(0)}
	}
	e := exchanged{token: answer.Token, until: began.Add(exchangedTTL)}
	if life := time.Duration(min(max(float64(answer.ExpiresIn), 0), float64(maxSeconds)/2)) * time.Second; answer.ExpiresIn != 0 {
		e.until = began.Add(life - min(exchangeMargin, life/10))
	}
	if !until.IsZero() && until.Before(e.until) {
		e.until = until
	}
	x.x.put(d, e)
	return e
}

// note logs an exchange that fails differently from the last logged one, and the first that
// succeeds again, at most once in exchangeLogInterval: some callers may be refused, and others not.
func (x *Exchanger) note(from *exchangeIssuer, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	x.noted.Lock()
	now := time.Now()
	silent := text == x.failing || !x.loggedAt.IsZero() && now.Sub(x.loggedAt) < exchangeLogInterval
	if !silent {
		x.failing, x.loggedAt = text, now
	}
	x.noted.Unlock()
	switch {
	case silent:
	case err != nil:
		x.x.log.Warn("tokens cannot be exchanged for a backend, for some callers at least", "backend", x.backend, "issuer", from.issuer.o.URL, "error", err)
	default:
		x.x.log.Info("tokens are exchanged for a backend again", "backend", x.backend, "issuer", from.issuer.o.URL)
	}
}

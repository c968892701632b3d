package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/singleflight"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Exchange is how the tokens of an issuer are exchanged for those of backends (RFC 8693).
type Exchange struct {
	// URL of the token endpoint; empty: that of the issuer's metadata.
	URL string
	// Client and its secret are how the edge authenticates itself there (RFC 6749, section 2.3.1). The secret is read for
	// each request, so that it may change; space around it is no part of it.
	Client     string
	ReadSecret func() ([]byte, error)
}

// Wanted is the token that a backend wants for a caller.
type Wanted struct {
	// Backend is its name.
	Backend string
	// Audience and Resource are whom the token is for (RFC 8693, section 2.1), one of them at least; the other may be empty.
	Audience, Resource string
	// Scopes that it has; nil: as the issuer likes.
	Scopes []string
}

const (
	// exchangedEntries bounds the exchanged tokens that are remembered, and refusals with them.
	exchangedEntries = 16 << 10
	// exchangedTTL is for how long a token is remembered whose issuer does not say how long it is good, and refusedTTL for how
	// long a refusal is.
	exchangedTTL, refusedTTL = time.Minute, 10 * time.Second
	// forgetAgain is the least time between two tokens for the same that are forgotten because the backend does not accept them.
	forgetAgain = 10 * time.Second
	// noteAgain is the least time between two lines of the log about the exchanges for one backend.
	noteAgain = time.Minute
	// exchangeMargin is how long before its end a token is exchanged anew; a tenth of its life, if that is less.
	exchangeMargin = 10 * time.Second
	// maxExchanging bounds the exchanges that run at a time at one issuer; one more waits, as long as one may take.
	maxExchanging = 64
)

// The parameters of RFC 8693, section 2.1 and 3.
const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeAccess    = "urn:ietf:params:oauth:token-type:access_token" // #nosec G101 -- a name
	typeJWT       = "urn:ietf:params:oauth:token-type:jwt"          // #nosec G101 -- a name
)

// exchanges are those of all backends. Exchanged tokens are in memory alone. Safe for concurrent use.
type exchanges struct {
	issuers map[string]*exchangeIssuer
	all     []*Exchanger
	log     *slog.Logger
	running singleflight.Group

	mu    sync.Mutex
	known *simplelru.LRU[digest, exchanged]
}

// exchanged is what came of an exchange: a token, or a refusal. Without either it is a token that was forgotten.
type exchanged struct {
	token   string
	refused *mcp.Error
	until   time.Time
	// kept is until when the token stays, whatever the backend says of it: the one before was forgotten a moment ago.
	kept time.Time
}

func newExchanges(log *slog.Logger) *exchanges {
	known, _ := simplelru.NewLRU[digest, exchanged](exchangedEntries, nil) // its only error: no room
	return &exchanges{issuers: map[string]*exchangeIssuer{}, log: log, known: known}
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

// forget forgets a token, at most once in forgetAgain.
func (x *exchanges) forget(d digest, token string, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e, ok := x.known.Peek(d); ok && e.token == token && !now.Before(e.kept) {
		until := now.Add(forgetAgain)
		x.known.Add(d, exchanged{until: until, kept: until})
	}
}

// exchangeOutcome is how an exchange ended, as metrics name it.
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

// Exchanger gets the tokens of one backend for callers. Safe for concurrent use.
type Exchanger struct {
	x       *exchanges
	backend string
	form    url.Values
	// key tells what is wanted from what other backends want.
	key []byte
	// breakers are those of the issuers: one that hangs for a backend may well answer for others. None is added later.
	breakers map[*exchangeIssuer]*breaker
	counts   [exchangeOutcomeCount]atomic.Int64

	// noted guards failing, the error that was logged, empty: none, or that it is well again; and told, when that was.
	noted   sync.Mutex
	failing string
	told    time.Time
}

// Exchanger is for what a backend wants. Some issuer must have Exchange. Call it before Start.
func (a *Authenticator) Exchanger(w Wanted) *Exchanger {
	form := url.Values{"grant_type": {grantExchange}, "subject_token_type": {typeAccess}, "requested_token_type": {typeAccess}}
	for name, value := range map[string]string{"audience": w.Audience, "resource": w.Resource, "scope": strings.Join(w.Scopes, " ")} {
		if value != "" {
			form.Set(name, value)
		}
	}
	x := &Exchanger{x: a.exchanges, backend: w.Backend, form: form, key: []byte(w.Backend + "\x00" + form.Encode())}
	x.breakers = map[*exchangeIssuer]*breaker{}
	for _, from := range a.exchanges.issuers {
		x.breakers[from] = &breaker{}
	}
	a.exchanges.all = append(a.exchanges.all, x)
	return x
}

// Prove gives the metadata by which an RPC to the backend shows who is calling: a token that the issuer of the caller's own
// gave for this backend. The caller's own goes to that issuer, and to nobody else. Callers that ask for the same share one
// exchange. The error is a *mcp.Error; it wraps mcp.ErrNoToken where the token of a call is not known any more.
func (x *Exchanger) Prove(ctx context.Context, who *mcp.Principal, _ string) (key, value string, _ error) {
	token := mcp.TokenOf(ctx)
	from := x.x.issuers[who.Issuer]
	if from == nil || token.IsZero() {
		x.counts[exchangeImpossible].Add(1)
		return "", "", x.impossible(who, from)
	}
	d := x.digest(token)
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
		return x.inTurn(ctx, from, token, who.Until, d), nil
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
		return "", "", &mcp.Error{Kind: mcp.KindTimeout, Message: fmt.Sprintf("the call ended before its issuer gave a token for the backend %q", x.backend), Err: ctx.Err()}
	}
}

// Refused forgets a token that Prove gave and that the backend did not accept, so that the next call has another one.
func (x *Exchanger) Refused(ctx context.Context, _ *mcp.Principal, value string) {
	if token := mcp.TokenOf(ctx); !token.IsZero() {
		x.x.forget(x.digest(token), strings.TrimPrefix(value, schemeBearer+" "), time.Now())
	}
}

// metadataToken is the key of the metadata that the token comes in.
const metadataToken = "authorization"

// digest tells what is wanted with a token from all else that is.
func (x *Exchanger) digest(token mcp.Token) digest {
	sum := sha256.Sum256([]byte(token.Reveal()))
	return sha256.Sum256(append(sum[:], x.key...))
}

// impossible says why there is nothing to exchange.
func (x *Exchanger) impossible(who *mcp.Principal, from *exchangeIssuer) *mcp.Error {
	switch {
	case who.Anonymous():
		return &mcp.Error{
			Kind: mcp.KindUnauthenticated, Challenge: &mcp.Challenge{Anonymous: true},
			Message: fmt.Sprintf("the backend %q is called by a token of the caller's: call over HTTP with an access token, in the header Authorization: Bearer", x.backend),
		}
	case from == nil:
		return mcp.Errorf(mcp.KindForbidden, "the backend %q is called by a token of the caller's, and these credentials cannot be exchanged for one: "+
			"call with an access token of an issuer for which the edge exchanges tokens", x.backend)
	}
	return &mcp.Error{
		Kind: mcp.KindForbidden, Err: mcp.ErrNoToken,
		Message: fmt.Sprintf("the backend %q is called by a token of the caller's, which this server does not have: send the request again", x.backend),
	}
}

// away says that an issuer cannot be asked, and when to try again: not before retryMin.
func (x *Exchanger) away(again time.Duration) *mcp.Error {
	return &mcp.Error{
		Kind: mcp.KindUnavailable, RetryAfter: max(again, retryMin),
		Message: fmt.Sprintf("the issuer of the access token cannot be asked for one for the backend %q: try again later", x.backend),
	}
}

// inTurn asks an issuer once there is a place, unless that is known to hang.
func (x *Exchanger) inTurn(ctx context.Context, from *exchangeIssuer, token mcp.Token, until time.Time, d digest) exchanged {
	b := x.breakers[from]
	if wait := b.wait(time.Now()); wait > 0 {
		return exchanged{refused: x.away(wait)}
	}
	select {
	case from.places <- struct{}{}:
		defer func() { <-from.places }()
	case <-ctx.Done():
		return exchanged{refused: x.away(0)}
	}
	began := time.Now()
	probe, ok := b.begin(began)
	if !ok {
		return exchanged{refused: x.away(b.wait(began))}
	}
	e := x.exchange(ctx, from, token, until, d)
	b.end(probe, e.refused != nil && e.refused.Kind == mcp.KindUnavailable, began, time.Now())
	return e
}

// exchange asks an issuer, and remembers what it says.
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
		return exchanged{refused: x.away(0)}
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

// refusal is what a caller is told whose token its issuer does not exchange (RFC 6749, section 5.2; RFC 8693, section 2.2.2).
// Words of the issuer are not told: they may have the token in them.
func (x *Exchanger) refusal(e *exchangeError) *mcp.Error {
	switch e.code {
	case "invalid_grant", "invalid_token":
		return &mcp.Error{
			Kind: mcp.KindUnauthenticated, Challenge: &mcp.Challenge{Invalid: true}, Err: e,
			Message: "the access token is not good any more, as its issuer says: get a new one",
		}
	case "invalid_client", "unauthorized_client", "unsupported_grant_type", "":
		return &mcp.Error{
			Kind: mcp.KindInternal, Err: e,
			Message: fmt.Sprintf("this server gets no token for the backend %q: its operator has to see to that", x.backend),
		}
	}
	return &mcp.Error{
		Kind: mcp.KindForbidden, Err: e,
		Message: fmt.Sprintf("the issuer of the access token gives none for the backend %q (%s): ask its operator whether you may use it", x.backend, e.code),
	}
}

// note logs an exchange that fails in another way than the one that was logged before, and the first that is well again, at most
// once in noteAgain: some callers may be refused, and others not.
func (x *Exchanger) note(from *exchangeIssuer, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	x.noted.Lock()
	now := time.Now()
	silent := text == x.failing || !x.told.IsZero() && now.Sub(x.told) < noteAgain
	if !silent {
		x.failing, x.told = text, now
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

package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// Authenticator knows who is calling. Make it with New. Safe for concurrent use.
type Authenticator struct {
	issuers map[string]*issuer
	// order is that of the settings.
	order     []*issuer
	keys      *apiKeys      // nil: there are none
	opaque    *introspector // nil: opaque tokens are not accepted
	exchanges *exchanges    // nil: no token is exchanged
	cache     *cache
	optional  bool
	dpop      DPoP
	proofs    func() Proofs
	resource  *url.URL
	documents *documents // nil: there are none
	// passed is the metadata of the first issuer; nil: there is none.
	passed        *passedDocument
	endpointOf    func(path string) string
	addressOf     func(r *http.Request) netip.Addr
	initialScopes string
	// keep are the claims that principals have.
	keep    atomic.Pointer[keptClaims]
	refused counts
	watches watches
	work    sync.WaitGroup
}

var (
	_ web.Authenticator = (*Authenticator)(nil)
	_ web.Watcher       = (*Authenticator)(nil)
	_ web.Challenger    = (*Authenticator)(nil)
	_ http.Handler      = (*Authenticator)(nil)
)

// New makes an Authenticator, and reads the files. Nothing is fetched before Start.
func New(o Options) (*Authenticator, error) {
	o = o.withDefaults()
	a := &Authenticator{
		issuers: map[string]*issuer{}, cache: newCache(cacheEntries), optional: o.Optional,
		endpointOf: o.EndpointOf, addressOf: o.AddressOf, initialScopes: strings.Join(o.Metadata.Initial, " "),
		dpop: o.DPoP,
	}
	a.proofs = sync.OnceValue(func() Proofs {
		if o.Proofs != nil {
			if p := o.Proofs(); p != nil {
				return p
			}
		}
		return newProofs(maxProofs)
	})
	var err error
	if a.resource, err = url.Parse(o.Resource); err != nil {
		return nil, err
	}
	own := []string{o.Resource}
	for _, endpoint := range o.Endpoints {
		own = append(own, o.Resource+endpoint)
	}
	client := newClient(o.Transport)
	for _, one := range o.Issuers {
		one = one.withDefaults(own)
		s := &source{issuer: one.URL, jwks: one.JWKS, read: one.ReadKeys, client: client, log: o.Logger}
		if s.read != nil {
			set, err := s.readSet(context.Background())
			if err != nil {
				return nil, fmt.Errorf("auth.issuers: %s: jwks: %w", one.URL, err)
			}
			s.current.Store(&loadedKeys{set, time.Now()})
		}
		i := newIssuer(one, s, o.Claims)
		i.keep, i.log = &a.keep, o.Logger
		a.issuers[one.URL] = i
		a.order = append(a.order, i)
		if one.Exchange != nil {
			if a.exchanges == nil {
				a.exchanges = newExchanges(o.Logger)
			}
			a.exchanges.issuers[one.URL] = newExchangeIssuer(i, *one.Exchange, client)
		}
		if one.Introspection != nil {
			a.opaque = newIntrospector(i, *one.Introspection, client, o.Logger)
		}
	}
	if o.ReadAPIKeys != nil {
		if a.keys, err = newAPIKeys(o.ReadAPIKeys, o.Logger); err != nil {
			return nil, err
		}
		a.keys.changed = a.recheckKeys
	}
	if len(a.order) > 0 {
		a.passed = &passedDocument{issuer: a.order[0].o.URL, client: client, log: o.Logger}
	}
	if a.documents, err = newDocuments(o); err != nil {
		return nil, err
	}
	return a, a.observe(o.Telemetry)
}

// Start fetches the issuers' keys and keeps them and the files fresh until ctx ends. It does not wait for any. Call it
// once.
func (a *Authenticator) Start(ctx context.Context) {
	for _, i := range a.order {
		i.source.start(ctx, &a.work)
	}
	a.keys.start(ctx, &a.work)
	if a.passed != nil {
		a.passed.start(ctx)
	}
	if a.opaque != nil {
		a.work.Go(func() { a.recheckOpaque(ctx) })
	}
}

// Wait returns when all that Start began has ended.
func (a *Authenticator) Wait() { a.work.Wait() }

// errMissing says that there are no credentials.
var errMissing = &refusal{ReasonMissing, "this server wants to know who is calling: send an access token, in the header Authorization: Bearer"}

// errInQuery says it to who put them where they are not looked for.
var errInQuery = &refusal{ReasonMissing, "an access token was sent in the query, which is written down in many places: send it in the header Authorization: Bearer"}

// Authenticate implements web.Authenticator.
func (a *Authenticator) Authenticate(r *http.Request) (mcp.Principal, *web.Denial) {
	p, from, why := a.identify(r, a.dpop)
	if why != nil {
		return mcp.Principal{}, a.deny(from, why, a.initialScopes, a.metadataOf(a.endpointOf(r.URL.Path)))
	}
	return p, nil
}

// origin is what is known of credentials that are refused.
type origin struct {
	// issuer of the token; nil: it is not known.
	issuer *issuer
	// scheme is that of the header; empty: it has none that is read.
	scheme string
	mode   DPoP
}

// identify finds out who is calling, or why that is not accepted.
func (a *Authenticator) identify(r *http.Request, mode DPoP) (_ mcp.Principal, from origin, _ *refusal) {
	from.mode = mode
	c, why := readCredentials(r, mode)
	if why != nil {
		return mcp.Principal{}, from, why
	}
	if from.scheme = c.scheme; c.scheme == "" {
		switch {
		case inQuery(r):
			return mcp.Principal{}, from, errInQuery
		case a.optional && len(r.Header["Authorization"]) == 0:
			return mcp.Principal{}, from, nil
		}
		return mcp.Principal{}, from, errMissing
	}
	now, d := time.Now(), digest(sha256.Sum256([]byte(c.token)))
	v, ok := a.cache.get(d, now)
	if !ok || v.keep != a.keep.Load() {
		if v, from.issuer, why = a.verify(r.Context(), c.token, d, now, a.addressOf(r)); why != nil {
			return mcp.Principal{}, from, why
		}
	}
	if why := a.prove(r, c, v); why != nil {
		return mcp.Principal{}, from, why
	}
	return v.principal, from, nil
}

// errUnknown says that a token is none that could be looked at.
var errUnknown = &refusal{ReasonUnknown, "the access token is not known here: get one from an authorization server of this server's metadata"}

// errUnknownKey is errUnknown where there are API keys and no issuers.
var errUnknownKey = &refusal{ReasonUnknown, "the API key is not known here: get one from who operates this server"}

// unknown says that a token is none of those that are taken here.
func (a *Authenticator) unknown() *refusal {
	if len(a.order) == 0 {
		return errUnknownKey
	}
	return errUnknown
}

// verify finds out what a token stands for that is not remembered: an API key, a JWT, or else what
// only its issuer can read. A token of a form that an issuer need not be asked about is shown to none.
func (a *Authenticator) verify(ctx context.Context, token string, d digest, now time.Time, client netip.Addr) (verified, *issuer, *refusal) {
	if why := checkToken(token); why != nil {
		return verified{}, nil, why
	}
	if p, found, why := a.keys.find(d, now); found {
		if why == errUnknown {
			why = a.unknown()
		}
		return verified{principal: p, isKey: true}, nil, why
	}
	keep := a.keep.Load()
	v, from, why := verified{}, (*issuer)(nil), a.unknown()
	switch {
	case isJWT(token):
		v, from, why = a.verifyJWT(ctx, token)
	case !isOpaque(token):
	case a.opaque != nil:
		from = a.opaque.issuer
		v, why = a.opaque.ask(ctx, token, d, client)
	}
	if why != nil {
		return verified{}, from, why
	}
	v.keep = keep // if others are to be kept by now, it is verified again
	a.cache.put(d, v)
	return v, from, nil
}

// Tried is what came of reading the keys of an issuer.
type Tried struct {
	Issuer string
	// Keys is how many can be used.
	Keys int
	// Err is why they, a secret, or where tokens are exchanged, cannot be read; nil: they were.
	Err error
}

// Try reads the keys of every issuer, in the order of the options.
func (a *Authenticator) Try(ctx context.Context) []Tried {
	var out []Tried
	for _, i := range a.order {
		t := Tried{Issuer: i.o.URL}
		set, err := i.source.readSet(ctx)
		if t.Err = err; err == nil {
			t.Keys = len(set.keys)
		}
		if i.o.Introspection != nil && t.Err == nil {
			_, t.Err = i.o.Introspection.ReadSecret()
		}
		if i.o.Exchange != nil && t.Err == nil {
			t.Err = a.exchanges.issuers[i.o.URL].try(ctx)
		}
		out = append(out, t)
	}
	return out
}

// observe has telemetry read what is counted.
func (a *Authenticator) observe(t *telemetry.Telemetry) error {
	return errors.Join(
		t.Observe(telemetry.AuthRefused, func(emit telemetry.Emit) {
			for i := range a.refused {
				emit(float64(a.refused[i].Load()), telemetry.AttrRefusal.String(Reason(i).String())) // #nosec G115 -- an index of few
			}
		}),
		t.Observe(telemetry.AuthKeyFetches, func(emit telemetry.Emit) {
			for _, i := range a.order {
				if i.source.read == nil {
					emit(float64(i.source.fetched.Load()), telemetry.AttrIssuer.String(i.o.URL), telemetry.AttrOutcome.String("ok"))
					emit(float64(i.source.failed.Load()), telemetry.AttrIssuer.String(i.o.URL), telemetry.AttrOutcome.String("error"))
				}
			}
		}),
		t.Observe(telemetry.AuthQuestions, func(emit telemetry.Emit) {
			if n := a.opaque; n != nil {
				emit(float64(n.answered.Load()), telemetry.AttrIssuer.String(n.issuer.o.URL), telemetry.AttrOutcome.String("ok"))
				emit(float64(n.failed.Load()), telemetry.AttrIssuer.String(n.issuer.o.URL), telemetry.AttrOutcome.String("error"))
			}
		}),
		t.Observe(telemetry.IdentityExchanges, func(emit telemetry.Emit) {
			if a.exchanges == nil {
				return
			}
			for _, x := range a.exchanges.all {
				for outcome := range x.counts {
					emit(float64(x.counts[outcome].Load()), telemetry.AttrBackend.String(x.backend), telemetry.AttrOutcome.String(exchangeOutcomes[outcome]))
				}
			}
		}),
		t.Observe(telemetry.AuthStale, func(emit telemetry.Emit) {
			if k := a.keys; k != nil {
				emit(one(k.stale.Load()), telemetry.AttrAuthFile.String("api-keys"))
			}
			for _, i := range a.order {
				if i.source.read != nil {
					emit(one(i.source.stale()), telemetry.AttrAuthFile.String("jwks"), telemetry.AttrIssuer.String(i.o.URL))
				}
			}
		}),
		t.Observe(telemetry.AuthKeyAge, func(emit telemetry.Emit) {
			for _, i := range a.order {
				if age, ok := i.source.age(); ok {
					emit(age.Seconds(), telemetry.AttrIssuer.String(i.o.URL))
				}
			}
		}))
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

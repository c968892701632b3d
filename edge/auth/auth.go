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
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// Authenticator authenticates callers. Make it with New. It is safe for concurrent use.
type Authenticator struct {
	issuers map[string]*issuer
	// order has the issuers in the order of the settings.
	order     []*issuer
	keys      *apiKeys      // nil without API keys
	opaque    *introspector // nil refuses opaque tokens
	exchanges *exchanges    // nil if no token is exchanged
	cache     *cache
	optional  bool
	dpop      DPoP
	proofs    func() Proofs
	resource  *url.URL
	documents *documents // nil without documents
	// passed serves the metadata of the first issuer. It may be nil.
	passed        *passedDocument
	endpointOf    func(path string) string
	addressOf     func(r *http.Request) netip.Addr
	initialScopes string
	// keep are the claims that principals keep.
	keep atomic.Pointer[KeptClaims]
	// root are the audiences of the edge as a whole, if issuers configure no others.
	root    audiences
	sets    atomic.Pointer[setTable]
	options Options
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

// New makes an Authenticator and reads the files. It fetches nothing before Start.
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
		return once.NewMemory(maxProofs)
	})
	a.KeepClaims(KeptClaims{Forwarded: o.Claims})
	var err error
	if a.resource, err = url.Parse(o.Resource); err != nil {
		return nil, err
	}
	own := []string{o.Resource}
	for _, endpoint := range o.Endpoints {
		own = append(own, o.Resource+endpoint)
	}
	client := newClient(o.Transport)
	for at, one := range o.Issuers {
		one = one.withDefaults(own)
		s := &source{issuer: one.URL, jwks: one.JWKS, read: one.ReadKeys, client: client, log: o.Logger}
		if s.read != nil {
			set, err := s.readSet(context.Background())
			if err != nil {
				return nil, fmt.Errorf("auth.issuers[%d]: %s: jwks: %w", at, one.URL, err)
			}
			if err := set.exposure(); err != nil {
				return nil, fmt.Errorf("auth.issuers[%d]: %s: jwks: %w", at, one.URL, err)
			}
			s.current.Store(&loadedKeys{set, time.Now()})
		}
		i := newIssuer(one, s)
		i.keep, i.sets, i.log = &a.keep, &a.sets, o.Logger
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
	a.root, a.options = newAudiences(own), o
	a.sets.Store(&setTable{})
	return a, a.observe(o.Telemetry)
}

// Start fetches the issuers' keys, and keeps them and the files up to date until ctx ends. It does
// not wait for the first keys. Call it once.
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

// Wait waits until all goroutines of Start have ended.
func (a *Authenticator) Wait() { a.work.Wait() }

// The refusals of a request without credentials: with issuers, and with API keys alone.
var (
	errMissing    = &refusal{reason: ReasonMissing, text: "authentication is required: send an access token in the header Authorization: Bearer"}
	errMissingKey = &refusal{reason: ReasonMissing, text: "authentication is required: send an API key in the header Authorization: Bearer"}
)

// missing returns the refusal of a request without credentials.
func (a *Authenticator) missing() *refusal {
	if a.onlyKeys() {
		return errMissingKey
	}
	return errMissing
}

// onlyKeys reports whether API keys are the only credentials.
func (a *Authenticator) onlyKeys() bool { return a.keys != nil && len(a.order) == 0 }

// errInQuery is errMissing for a token in the query, where it is not read.
var errInQuery = &refusal{reason: ReasonMissing, text: "an access token was sent in the query, which many programs log: send it in the header Authorization: Bearer"}

// Authenticate implements web.Authenticator.
func (a *Authenticator) Authenticate(r *http.Request) (mcp.Principal, *web.Denial) {
	endpoint := a.endpointOf(r.URL.Path)
	p, from, why := a.identify(r, a.dpop, endpoint)
	if why != nil {
		return mcp.Principal{}, a.deny(from, why, a.scopesOf(endpoint), a.metadataOf(endpoint))
	}
	return p, nil
}

// origin describes refused credentials.
type origin struct {
	// issuer is the issuer of the token, or nil if unknown.
	issuer *issuer
	// key is the name of the API key. It is empty if no key is known.
	key string
	// scheme is the scheme of the header. Empty means that there is none, or an unsupported one.
	scheme string
	mode   DPoP
}

// identify returns the caller of an endpoint, or the refusal of its credentials. An endpoint that
// is not one of a set has the audience of the whole edge.
func (a *Authenticator) identify(r *http.Request, mode DPoP, endpoint string) (_ mcp.Principal, from origin, _ *refusal) {
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
		return mcp.Principal{}, from, a.missing()
	}
	now, d := time.Now(), digest(sha256.Sum256([]byte(c.token)))
	v, ok := a.cache.get(d, now)
	if !ok || v.keep != a.keep.Load() {
		v, from.issuer, why = a.verify(r.Context(), c.token, d, now, a.addressOf(r))
	}
	if v.isKey {
		from.key = v.principal.Subject
	}
	if why != nil {
		return mcp.Principal{}, from, why
	}
	if why := a.checkEndpoint(v, endpoint); why != nil {
		return mcp.Principal{}, from, why
	}
	if why := a.prove(r, c, v); why != nil {
		return mcp.Principal{}, from, why
	}
	return v.principal, from, nil
}

// The refusals of a token of no kind that can be verified here: with issuers, with API keys, and
// with both.
var (
	errUnknown    = &refusal{reason: ReasonUnknown, text: "the access token is unknown: get one from an authorization server of this server's metadata"}
	errUnknownKey = &refusal{reason: ReasonUnknown, text: "the API key is unknown: get one from the operator of this server"}
	errUnknownAny = &refusal{reason: ReasonUnknown, text: "the credentials are neither a known access token nor a known API key: " +
		"get a token from an authorization server of this server's metadata, or an API key from its operator"}
)

// unknown returns the refusal of an unknown token.
func (a *Authenticator) unknown() *refusal {
	switch {
	case a.keys == nil:
		return errUnknown
	case a.onlyKeys():
		return errUnknownKey
	}
	return errUnknownAny
}

// verify verifies a token that is not cached: an API key, a JWT, or else an opaque token, about
// which it asks the issuer. A token in a form that needs no question is shown to no issuer. An API
// key that is refused has its principal, too.
func (a *Authenticator) verify(ctx context.Context, token string, d digest, now time.Time, client netip.Addr) (verified, *issuer, *refusal) {
	if why := checkToken(token); why != nil {
		return verified{}, nil, why
	}
	if p, found, why := a.keys.find(d, now); found {
		if why == errUnknown {
			why = a.unknown()
		}
		return verified{principal: a.keep.Load().of(p), isKey: true}, nil, why
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
	v.keep = keep // if the settings change meanwhile, the token is verified again
	a.cache.put(d, v)
	return v, from, nil
}

// Tried is the result of reading the keys of an issuer.
type Tried struct {
	Issuer string
	// Keys is the number of usable keys, or -1 if they were not read.
	Keys int
	// Err is why the keys, a secret or the token endpoint for exchanges cannot be read, or nil.
	Err error
	// NoRegistration is true if the issuer's metadata was read and has no way in which clients get
	// an id by themselves.
	NoRegistration bool
}

// Try reads the keys of every issuer, in the order of the options.
func (a *Authenticator) Try(ctx context.Context) []Tried {
	var out []Tried
	for _, i := range a.order {
		t := Tried{Issuer: i.o.URL}
		set, err := i.source.readSet(ctx)
		if t.Err = err; err == nil {
			t.Keys, t.Err = len(set.keys), set.exposure()
		}
		if t.Err == nil {
			t.Err = i.trySecrets()
		}
		if i.o.Exchange != nil && t.Err == nil {
			_, t.Err = a.exchanges.issuers[i.o.URL].where(ctx)
		}
		if t.Err == nil {
			t.NoRegistration = i.source.noRegistration(ctx)
		}
		out = append(out, t)
	}
	return out
}

// TryFiles is Try without connections. It tries the files of issuers: keys, and the edge's secrets.
func (a *Authenticator) TryFiles() []Tried {
	var out []Tried
	for _, i := range a.order {
		if i.source.read == nil && i.o.Introspection == nil && i.o.Exchange == nil {
			continue
		}
		t := Tried{Issuer: i.o.URL, Keys: -1, Err: i.trySecrets()}
		if set := i.source.current.Load(); set != nil { // New has read the file.
			t.Keys = len(set.set.keys)
		}
		out = append(out, t)
	}
	return out
}

// trySecrets reads the files of the edge's secrets at the issuer.
func (i *issuer) trySecrets() error {
	if n := i.o.Introspection; n != nil {
		if _, err := n.ReadSecret(); err != nil {
			return fmt.Errorf("introspection.client-secret-file: %w", err)
		}
	}
	if x := i.o.Exchange; x != nil {
		if _, err := x.ReadSecret(); err != nil {
			return fmt.Errorf("exchange.client-secret-file: %w", err)
		}
	}
	return nil
}

// observe registers the counters with telemetry.
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
			a.exchanges.each(func(backend string, outcome exchangeOutcome, n int64) {
				emit(float64(n), telemetry.AttrBackend.String(backend), telemetry.AttrOutcome.String(exchangeOutcomes[outcome]))
			})
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

package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/sync/singleflight"
)

// Introspection configures the introspection of an issuer's opaque tokens (RFC 7662).
type Introspection struct {
	// URL of the endpoint.
	URL string
	// Client and its secret authenticate the edge at the endpoint (RFC 6749, section 2.3.1). The
	// secret is read for each request, so it may change; surrounding white space is ignored.
	Client     string
	ReadSecret func() ([]byte, error)
	// TTL is the time for which a response is cached, unless the token expires before. 0 means DefaultCacheTTL.
	TTL time.Duration
}

const (
	// inactiveEntries bounds the number of tokens that are cached as inactive, inactiveTTL the time.
	inactiveEntries = 16 << 10
	inactiveTTL     = 10 * time.Second
)

// introspector asks one issuer about opaque tokens. It is safe for concurrent use.
type introspector struct {
	issuer *issuer
	o      Introspection
	client *http.Client
	// inactive caches tokens that the issuer recently reported as inactive.
	inactive *cache
	asking   singleflight.Group
	// turns limits the introspections by the address of the request.
	turns *turns[netip.Addr]
	log   *slog.Logger
	// failing is true if the last introspection failed. That was logged.
	failing atomic.Bool
	// answered and failed count requests.
	answered, failed atomic.Int64
}

func newIntrospector(i *issuer, o Introspection, c *http.Client, log *slog.Logger) *introspector {
	if o.TTL <= 0 {
		o.TTL = DefaultCacheTTL
	}
	alone := *c
	// On a redirect 307 or 308, the client would send the token and the edge's credentials to
	// another server.
	alone.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &introspector{
		issuer: i, o: o, client: &alone, log: log, turns: newTurns[netip.Addr](),
		inactive: newCache(inactiveEntries),
	}
}

// errInactive means that the issuer reports a token as inactive.
var errInactive = &refusal{reason: ReasonUnknown, text: "the access token is unknown to its issuer, or no longer valid: get a new one"}

// ask returns the verified result for an opaque token from an address. Requests with the same token
// share one introspection.
func (n *introspector) ask(ctx context.Context, token string, d digest, client netip.Addr) (verified, *refusal) {
	if _, known := n.inactive.get(d, time.Now()); known {
		return verified{}, errInactive
	}
	done := n.asking.DoChan(string(d[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
		defer cancel()
		leave, err := n.turns.enter(ctx, network(client))
		if err != nil {
			n.failed.Add(1)
			return nil, err // a failure of the callers, not of the issuer
		}
		defer leave()
		a, err := n.answer(ctx, token)
		n.note(err)
		return a, err
	})
	select {
	case r := <-done:
		if r.Err != nil {
			return verified{}, &refusal{reason: ReasonUnavailable, text: "the access token's issuer cannot be reached: try again later"}
		}
		v, why := n.validate(r.Val.(answer))
		if why == errInactive {
			n.inactive.put(d, verified{until: time.Now().Add(inactiveTTL)})
		}
		return v, why
	case <-ctx.Done():
		return verified{}, &refusal{reason: ReasonUnavailable, text: "the request ended during the introspection of the access token"}
	}
}

// note counts an introspection, and logs the first that fails and the first that succeeds again.
func (n *introspector) note(err error) {
	switch {
	case err != nil:
		n.failed.Add(1)
		if !n.failing.Swap(true) {
			n.log.Warn("introspection of opaque tokens fails: requests with new ones get 503", "issuer", n.issuer.o.URL, "error", err)
		}
	default:
		n.answered.Add(1)
		if n.failing.Swap(false) {
			n.log.Info("introspection of opaque tokens works again", "issuer", n.issuer.o.URL)
		}
	}
}

// answer is an issuer's answer about a token: the claims and their JSON. Without them it exceeds
// maxAnswer.
type answer struct {
	claims jwt.MapClaims
	text   []byte
}

// answer asks the issuer.
func (n *introspector) answer(ctx context.Context, token string) (none answer, _ error) {
	secret, err := n.o.ReadSecret()
	if err != nil {
		return none, err
	}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.o.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return none, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	r.SetBasicAuth(url.QueryEscape(n.o.Client), url.QueryEscape(strings.TrimSpace(string(secret))))
	raw, err := do(n.client, r, maxAnswer)
	if large := (*tooLargeError)(nil); errors.As(err, &large) {
		return none, nil // concerns this token alone
	}
	if err != nil {
		return none, conceal(err, r, token)
	}
	claims := jwt.MapClaims{}
	if err := json.Unmarshal(raw, &claims); err != nil || !uniqueMembers(raw) {
		return none, fmt.Errorf("%s returned something other than a JSON object, or one with duplicate members", n.o.URL)
	}
	if _, ok := claims["active"].(bool); !ok {
		return none, errors.New("the answer does not say whether the token is active")
	}
	boundTimes(claims) // before the waiting callers get them
	return answer{claims, raw}, nil
}

// validate evaluates an issuer's answer about a token (RFC 7662, section 2.2).
func (n *introspector) validate(a answer) (v verified, _ *refusal) {
	claims := a.claims
	if claims == nil {
		return v, &refusal{reason: ReasonTooLarge, text: "the issuer's description of the access token has more than " + strconv.Itoa(maxAnswer) + " bytes: get one with fewer roles or claims"}
	}
	if active, _ := claims["active"].(bool); !active {
		return v, errInactive
	}
	i := n.issuer
	if name, said := claims["iss"]; said && name != i.o.URL {
		return v, &refusal{reason: ReasonIssuer, text: "the access token belongs to another issuer than the one that described it"}
	}
	if err := i.answers.Validate(claims); err != nil {
		return v, validity(err)
	}
	if r := checkKindClaim(claims, "token_type", answeredTypes); r != nil {
		return v, r
	}
	if r := checkKind(claims); r != nil {
		return v, r
	}
	audience, err := claims.GetAudience()
	own, accepted := i.accepts(audience)
	if err != nil || !accepted {
		return v, errAudience.because("aud", audience, i.audiences.list())
	}
	bound, why := boundTo(claims)
	if why != nil {
		return v, why
	}
	p, why := i.principal(claims, a.text)
	if why != nil {
		return v, why
	}
	until := time.Now().Add(n.o.TTL)
	if exp, _ := claims.GetExpirationTime(); exp != nil {
		p.Until = exp.Add(i.o.Skew)
		if p.Until.Before(until) {
			until = p.Until
		}
	}
	return verified{principal: p, until: until, boundTo: bound, audiences: own}, nil
}

// network returns the network of an address that one client has: for IPv6 the first of its /64.
func network(client netip.Addr) netip.Addr {
	if client.Is6() {
		if p, err := client.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return client
}

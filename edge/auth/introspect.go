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
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/sync/singleflight"
)

// Introspection is how an issuer is asked about its opaque tokens (RFC 7662).
type Introspection struct {
	// URL of the endpoint.
	URL string
	// Client and its secret are how the edge authenticates itself there (RFC 6749, section 2.3.1). The secret is read for
	// each request, so that it may change; space around it is no part of it.
	Client     string
	ReadSecret func() ([]byte, error)
	// TTL is for how long an answer is remembered, if the token does not end before; 0: cacheTTL.
	TTL time.Duration
}

const (
	// maxAsking bounds the introspections that run at a time, and maxAskingOfOne those for the requests of one address, so
	// that a few do not keep all others waiting; one more waits, as long as one may take.
	maxAsking, maxAskingOfOne = 64, 16
	// maxWaiting bounds the questions that are asked or wait, of all addresses, and maxWaitingOfOne those of one: each has its token,
	// and goes on when its request has ended. One more is refused at once.
	maxWaiting, maxWaitingOfOne = 8 << 10, 1 << 10
	// inactiveEntries bounds the tokens that are remembered as not active, and inactiveTTL is for how long they are.
	inactiveEntries = 16 << 10
	inactiveTTL     = 10 * time.Second
)

// introspector asks one issuer about opaque tokens. Safe for concurrent use.
type introspector struct {
	issuer *issuer
	o      Introspection
	client *http.Client
	// inactive are tokens that the issuer knew nothing of a moment ago.
	inactive *cache
	asking   singleflight.Group
	places   chan struct{}
	ofOne    shares
	log      *slog.Logger
	// failing: the last question had no answer, and the log says so.
	failing atomic.Bool
	// answered and failed count requests.
	answered, failed atomic.Int64
}

func newIntrospector(i *issuer, o Introspection, c *http.Client, log *slog.Logger) *introspector {
	if o.TTL <= 0 {
		o.TTL = cacheTTL
	}
	alone := *c
	// A redirect of 307 or 308 would have the client send the token, and the edge's own credentials, to somebody else.
	alone.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &introspector{
		issuer: i, o: o, client: &alone, log: log, places: make(chan struct{}, maxAsking),
		inactive: newCache(inactiveEntries),
	}
}

// errInactive says that an issuer does not vouch for a token.
var errInactive = &refusal{ReasonUnknown, "the access token is not known to its issuer, or not good any more: get a new one"}

// ask returns what an opaque token stands for that came from an address. Requests with the same token share one answer.
func (n *introspector) ask(ctx context.Context, token string, d digest, client netip.Addr) (verified, *refusal) {
	if _, known := n.inactive.get(d, time.Now()); known {
		return verified{}, errInactive
	}
	done := n.asking.DoChan(string(d[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
		defer cancel()
		leave, err := n.enter(ctx, client)
		if err != nil {
			n.failed.Add(1)
			return nil, err // of the callers, not of the issuer
		}
		defer leave()
		a, err := n.answer(ctx, token)
		n.note(err)
		return a, err
	})
	select {
	case r := <-done:
		if r.Err != nil {
			return verified{}, &refusal{ReasonUnavailable, "the access token's issuer cannot be asked about it now: try again later"}
		}
		v, why := n.judge(r.Val.(answer))
		if why == errInactive {
			n.inactive.put(d, verified{until: time.Now().Add(inactiveTTL)})
		}
		return v, why
	case <-ctx.Done():
		return verified{}, &refusal{ReasonUnavailable, "the request ended while the access token's issuer was asked about it"}
	}
}

// errWaiting says that too many questions wait.
var errWaiting = errors.New("too many questions about opaque tokens wait for their turn")

// enter waits for a place among the questions of an address, and among all, until leave gives them back.
func (n *introspector) enter(ctx context.Context, client netip.Addr) (leave func(), _ error) {
	own := n.ofOne.of(client)
	if own == nil {
		return nil, errWaiting
	}
	select {
	case own.places <- struct{}{}:
	case <-ctx.Done():
		n.ofOne.drop(client)
		return nil, ctx.Err()
	}
	release := func() {
		<-own.places
		n.ofOne.drop(client)
	}
	select {
	case n.places <- struct{}{}:
	case <-ctx.Done():
		release()
		return nil, ctx.Err()
	}
	return func() {
		<-n.places
		release()
	}, nil
}

// note counts a question, and logs the first that has no answer and the first that has one again.
func (n *introspector) note(err error) {
	switch {
	case err != nil:
		n.failed.Add(1)
		if !n.failing.Swap(true) {
			n.log.Warn("an issuer cannot be asked about opaque tokens: requests with new ones are answered 503", "issuer", n.issuer.o.URL, "error", err)
		}
	default:
		n.answered.Add(1)
		if n.failing.Swap(false) {
			n.log.Info("an issuer can be asked about opaque tokens again", "issuer", n.issuer.o.URL)
		}
	}
}

// answer is what an issuer says of a token: the members, and its JSON. Without them it is more than maxAnswer.
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
		return none, nil // of this token alone
	}
	if err != nil {
		return none, err
	}
	claims := jwt.MapClaims{}
	if err := json.Unmarshal(raw, &claims); err != nil || !uniqueMembers(raw) {
		return none, fmt.Errorf("%s answers what is no JSON object, or one with two members of one name", n.o.URL)
	}
	if _, ok := claims["active"].(bool); !ok {
		return none, errors.New("the answer does not say whether the token is active")
	}
	boundTimes(claims) // before all who wait have them
	return answer{claims, raw}, nil
}

// judge judges what the issuer says of a token (RFC 7662, section 2.2).
func (n *introspector) judge(a answer) (v verified, _ *refusal) {
	claims := a.claims
	if claims == nil {
		return v, &refusal{ReasonTooLarge, "the access token's issuer says more of it than " + strconv.Itoa(maxAnswer) + " bytes: get one with fewer roles or claims"}
	}
	if active, _ := claims["active"].(bool); !active {
		return v, errInactive
	}
	i := n.issuer
	if name, said := claims["iss"]; said && name != i.o.URL {
		return v, &refusal{ReasonIssuer, "the access token is of another issuer than the one that was asked about it"}
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
	if err != nil || !i.audiences.has(audience) {
		return v, errAudience
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
	return verified{principal: p, until: until, boundTo: bound}, nil
}

// shares are the places of single addresses, of which there are as many as have a question. The zero value is empty. Safe
// for concurrent use.
type shares struct {
	mu  sync.Mutex
	all map[netip.Addr]*share
	// users is how many all shares have.
	users int
}

// share is the places of an address.
type share struct {
	places chan struct{}
	// users is how many have the share and will drop it. Guarded by shares.mu.
	users int
}

// of is the share of an address, until the caller drops it. IPv6 addresses of one network of 64 bits, which is what a
// client has, share one. nil: as many have it as may, or there are as many in all.
func (s *shares) of(client netip.Addr) *share {
	client = network(client)
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.all[client]
	if s.users >= maxWaiting || own != nil && own.users >= maxWaitingOfOne {
		return nil
	}
	if own == nil {
		if s.all == nil {
			s.all = map[netip.Addr]*share{}
		}
		own = &share{places: make(chan struct{}, maxAskingOfOne)}
		s.all[client] = own
	}
	own.users++
	s.users++
	return own
}

func (s *shares) drop(client netip.Addr) {
	client = network(client)
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.all[client]
	s.users--
	if own.users--; own.users == 0 {
		delete(s.all, client)
	}
}

func network(client netip.Addr) netip.Addr {
	if client.Is6() {
		if p, err := client.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return client
}

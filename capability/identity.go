package capability

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// How identities are verified. None of it is a setting: the edge signs each for the call that it comes with.
const (
	// identityMetadata is the key of the metadata that one comes in, identityType its header typ.
	identityMetadata = "mcp-identity"
	identityType     = "mcp-identity+jwt"
	// identitySkew is by how much the clocks of the edge and of the service may differ.
	identitySkew = 30 * time.Second
	// keysRefresh is how often the keys are fetched, and keysAgain the least time between two fetches because of a key that is
	// not known, or because a fetch failed.
	keysRefresh = 5 * time.Minute
	keysAgain   = time.Second
	// keysKept is for how long keys are used that cannot be fetched again.
	keysKept = time.Hour
	// keysTimeout and keysBytes bound a fetch.
	keysTimeout = 5 * time.Second
	keysBytes   = 1 << 20
)

// RequireIdentity has work refused, with UNAUTHENTICATED, that comes without a signed identity of the edge's: calls of tools,
// reads, prompts and completions then are the edge's for certain, and Call.Principal is who it says, whatever the connection
// is. Lists and watches need none.
//
// jwksURL is where the edge tells its public keys: /.well-known/jwks.json on its admin address. Keys are fetched when they
// are first needed, then every five minutes while calls come, and when one is not known; those that there are serve on for an
// hour while the edge's admin address is away. Without any, work is UNAVAILABLE. audience is the backend's name in the edge's
// settings, which has identity: signed. It panics when one of them is empty.
func RequireIdentity(jwksURL, audience string) Option {
	if jwksURL == "" || audience == "" {
		panic("capability: RequireIdentity needs the URL of the edge's keys and the backend's name")
	}
	v := &identities{
		url: jwksURL, fetching: make(chan struct{}, 1),
		client: &http.Client{Timeout: keysTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // who redirects could give keys of its own
		}},
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{"EdDSA", "ES256", "ES384", "RS256"}), jwt.WithAudience(audience),
			jwt.WithExpirationRequired(), jwt.WithLeeway(identitySkew), jwt.WithStrictDecoding(),
		),
	}
	return func(s *Server) { s.identities = v }
}

// identities verifies who is calling. Safe for concurrent use.
type identities struct {
	url    string
	client *http.Client
	parser *jwt.Parser
	keys   atomic.Pointer[knownKeys]

	// tried is when the last fetch began; nil: none has.
	tried atomic.Pointer[time.Time]

	// fetching is held by whoever fetches. It guards failed, why the last fetch failed.
	fetching chan struct{}
	failed   error
}

// knownKeys are the keys as they were fetched once, by their ids.
type knownKeys struct {
	byID map[string]any
	at   time.Time
}

// identity is what is read of a signed identity.
type identity struct {
	jwt.RegisteredClaims
	SubjectID struct {
		Issuer string `json:"iss"`
	} `json:"sub_id"`
	SubjectIsClient bool     `json:"subject_is_client"`
	Transaction     string   `json:"txn"`
	Client          string   `json:"client_id"`
	Scope           string   `json:"scope"`
	Roles           []string `json:"roles"`
	Actor           struct {
		Sub string `json:"sub"`
	} `json:"act"`
	Claims map[string]json.RawMessage `json:"claims"`
}

// principal is the identity as the contract has it.
func (i *identity) principal() *Principal {
	p := &Principal{
		Subject: i.Subject, Issuer: i.SubjectID.Issuer, Scopes: strings.Fields(i.Scope), Roles: i.Roles,
		ClientId: i.Client, Actor: i.Actor.Sub, SubjectIsClient: i.SubjectIsClient,
	}
	for name, value := range i.Claims {
		if p.ClaimsJson == nil {
			p.ClaimsJson = make(map[string]string, len(i.Claims))
		}
		p.ClaimsJson[name] = string(value)
	}
	return p
}

// identified is the context of a request with the principal that was verified, if the server wants one. The error is a gRPC
// status.
func (s *Server) identified(ctx context.Context, rc *mcpedgev1.RequestContext) (*mcpedgev1.RequestContext, error) {
	if s.identities == nil {
		return rc, nil
	}
	who, err := s.identities.verify(ctx, rc.GetCallId())
	if err != nil {
		return nil, err
	}
	if rc == nil {
		rc = &mcpedgev1.RequestContext{}
	}
	rc.Principal = who // the request is this call's alone
	return rc, nil
}

// verify returns who makes a call. The error is a gRPC status.
func (v *identities) verify(ctx context.Context, call string) (*Principal, error) {
	sent := metadata.ValueFromIncomingContext(ctx, identityMetadata)
	if len(sent) != 1 {
		return nil, status.Errorf(codes.Unauthenticated,
			"the call has %d identities (metadata %s): have the edge sign one, with identity: signed of this backend", len(sent), identityMetadata)
	}
	var who identity
	_, err := v.parser.ParseWithClaims(sent[0], &who, func(t *jwt.Token) (any, error) {
		if typ, _ := t.Header["typ"].(string); !strings.EqualFold(typ, identityType) {
			return nil, fmt.Errorf("its type is %.40q, not %s", t.Header["typ"], identityType)
		}
		id, _ := t.Header["kid"].(string)
		return v.key(ctx, id)
	})
	var away *unavailable
	switch {
	case errors.As(err, &away):
		return nil, status.Error(codes.Unavailable, away.Error())
	case err != nil:
		return nil, status.Errorf(codes.Unauthenticated, "the identity of the call is not accepted: %v", err)
	case who.Transaction == "" || who.Transaction != call:
		return nil, status.Error(codes.Unauthenticated, "the identity is another call's: its txn is not the call_id")
	}
	return who.principal(), nil
}

// unavailable says that the keys cannot be read.
type unavailable struct{ cause error }

// Error implements error.
func (u *unavailable) Error() string {
	return "the keys of the edge, by which callers are known, cannot be read: " + u.cause.Error()
}

// key finds a key by its id. One that is not known is asked for; keys that are known serve on while they are fetched anew, unless
// nobody has tried that for long: they may be gone since.
func (v *identities) key(ctx context.Context, id string) (any, error) {
	known := v.keys.Load()
	if known != nil && time.Since(known.at) >= keysRefresh && time.Since(*v.tried.Load()) >= 2*keysRefresh {
		known, _ = v.fetch(ctx, known)
	}
	if known != nil && time.Since(known.at) < keysKept {
		if k := known.byID[id]; k != nil {
			if time.Since(known.at) >= keysRefresh {
				go func() { _, _ = v.fetch(context.WithoutCancel(ctx), known) }()
			}
			return k, nil
		}
	}
	fresh, err := v.fetch(ctx, known)
	if fresh == nil || time.Since(fresh.at) >= keysKept {
		return nil, &unavailable{err}
	}
	if k := fresh.byID[id]; k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("it is signed with the key %.60q, which is not among those of %s", id, v.url)
}

// fetch fetches the keys, unless that was tried a moment ago, or others are at hand than those before, and returns those that
// there are then; nil: none. The error says why they could not be fetched.
func (v *identities) fetch(ctx context.Context, before *knownKeys) (*knownKeys, error) {
	select {
	case v.fetching <- struct{}{}:
		defer func() { <-v.fetching }()
	case <-ctx.Done():
		return v.keys.Load(), ctx.Err()
	}
	now := v.keys.Load()
	if now != before {
		return now, nil
	}
	if tried := v.tried.Load(); tried != nil && time.Since(*tried) < keysAgain {
		return now, v.failed
	}
	v.tried.Store(new(time.Now()))
	// Whoever waits needs them, too: it does not end with the call.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTimeout)
	defer cancel()
	byID, err := v.read(ctx)
	if v.failed = err; err != nil {
		return now, err
	}
	now = &knownKeys{byID, time.Now()}
	v.keys.Store(now)
	return now, nil
}

// read reads the JWK Set (RFC 7517, section 5). A key that cannot be used is passed over.
func (v *identities) read(ctx context.Context) (map[string]any, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := v.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", v.url, resp.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, keysBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > keysBytes:
		return nil, fmt.Errorf("%s answers more than %d bytes", v.url, keysBytes)
	}
	var set jwkset.JWKSMarshal
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("%s has no JWK Set: %w", v.url, err)
	}
	byID := map[string]any{}
	for _, one := range set.Keys {
		one.X5C, one.X5U, one.X5T, one.X5TS256 = nil, "", "", "" // the set vouches for the key
		jwk, err := jwkset.NewJWKFromMarshal(one, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{SkipAll: true})
		if err == nil && one.KID != "" {
			byID[one.KID] = jwk.Key()
		}
	}
	if len(byID) == 0 {
		return nil, fmt.Errorf("%s has no key that can be used", v.url)
	}
	return byID, nil
}

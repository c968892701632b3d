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

// The constants of identity verification. They are not settings: the edge signs an identity for
// each call.
const (
	// identityMetadata is the metadata key of an identity; identityType is its header typ.
	identityMetadata = "mcp-identity"
	identityType     = "mcp-identity+jwt"
	// identitySkew is the allowed difference between the clocks of the edge and of the service.
	identitySkew = 30 * time.Second
	// keysRefresh is the interval between fetches of the keys. keysAgain is the minimum interval
	// between fetches caused by an unknown key or by a failed fetch.
	keysRefresh = 5 * time.Minute
	keysAgain   = time.Second
	// keysKept is how long keys are used after the last successful fetch.
	keysKept = time.Hour
	// keysTimeout and keysBytes limit a fetch.
	keysTimeout = 5 * time.Second
	keysBytes   = 1 << 20
)

// RequireIdentity rejects calls without an identity signed by the edge, with UNAUTHENTICATED. It
// applies to tool calls, reads, prompts and completions, whatever the connection is; Call.Principal
// is then the verified caller. Lists and watches need no identity.
//
// jwksURL is the URL of the edge's public keys: /.well-known/jwks.json on its admin address. Keys
// are fetched when first needed, every five minutes while calls arrive, and for an unknown key. If
// the admin address is unreachable, fetched keys are used for another hour. Without usable keys,
// calls fail with UNAVAILABLE.
//
// audience is the backend's name in the edge's settings, which must have identity: signed.
// RequireIdentity panics if an argument is empty.
func RequireIdentity(jwksURL, audience string) Option {
	if jwksURL == "" || audience == "" {
		panic("capability: RequireIdentity needs the URL of the edge's keys and the backend's name")
	}
	v := &identities{
		url: jwksURL, fetching: make(chan struct{}, 1),
		client: &http.Client{Timeout: keysTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a redirect could point to another party's keys
		}},
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{"EdDSA", "ES256", "ES384", "RS256"}), jwt.WithAudience(audience),
			jwt.WithExpirationRequired(), jwt.WithLeeway(identitySkew), jwt.WithStrictDecoding(),
		),
	}
	return func(s *Server) { s.identities = v }
}

// identities verifies callers. It is safe for concurrent use.
type identities struct {
	url    string
	client *http.Client
	parser *jwt.Parser
	keys   atomic.Pointer[knownKeys]

	// tried is the start of the last fetch; nil before the first.
	tried atomic.Pointer[time.Time]

	// fetching is a semaphore held during a fetch. It guards failed, the error of the last fetch.
	fetching chan struct{}
	failed   error
}

// knownKeys are the keys of one fetch, by id.
type knownKeys struct {
	byID map[string]any
	at   time.Time
}

// identity holds the claims of a signed identity.
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

// principal returns the identity as a message of the contract.
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

// identified returns the request context with the verified principal, or unchanged if the server
// requires no identity. The error is a gRPC status.
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
	rc.Principal = who // the request belongs to this call only
	return rc, nil
}

// verify returns the caller of a call. The error is a gRPC status.
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

// unavailable is the error if the keys cannot be fetched.
type unavailable struct{ cause error }

// Error implements error.
func (u *unavailable) Error() string {
	return "the edge's keys, which verify callers, cannot be fetched: " + u.cause.Error()
}

// key returns a key by its id, and fetches the keys if the id is unknown. If the keys are due for a
// refresh, known keys stay in use during the fetch. key waits for the fetch if the last attempt is
// older than twice keysRefresh.
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

// fetch fetches the keys and returns the current ones, or nil if there are none. It does not fetch
// if the last attempt is too recent, or if the keys already differ from before. The error is that
// of the last fetch.
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
	// Other calls wait for the same fetch, so it does not end with this call.
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

// read fetches and parses the JWK Set (RFC 7517, section 5). Unusable keys are skipped.
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
		return nil, fmt.Errorf("%s returned %s", v.url, resp.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, keysBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > keysBytes:
		return nil, fmt.Errorf("%s returned more than %d bytes", v.url, keysBytes)
	}
	var set jwkset.JWKSMarshal
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("%s has no JWK Set: %w", v.url, err)
	}
	byID := map[string]any{}
	for _, one := range set.Keys {
		one.X5C, one.X5U, one.X5T, one.X5TS256 = nil, "", "", "" // the key is trusted because of the set, not of a certificate
		jwk, err := jwkset.NewJWKFromMarshal(one, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{SkipAll: true})
		if err == nil && one.KID != "" {
			byID[one.KID] = jwk.Key()
		}
	}
	if len(byID) == 0 {
		return nil, fmt.Errorf("%s has no usable key", v.url)
	}
	return byID, nil
}

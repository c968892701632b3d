package auth

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// Options are the settings of an Authenticator.
type Options struct {
	// Resource is the edge's URL as clients see it, without the path of an endpoint, such as https://mcp.example.com.
	Resource string
	// Endpoints are the paths below Resource that have a metadata document each, such as /mcp; a challenge names that of
	// the request's endpoint, by EndpointOf.
	Endpoints []string
	// EndpointOf gives the endpoint of a request's path; nil: the path is an endpoint.
	EndpointOf func(path string) string
	// AddressOf gives the network address of a request's client, by which the questions about opaque tokens are bounded;
	// nil: that of the connection.
	AddressOf func(r *http.Request) netip.Addr
	// Issuers of access tokens. Their URLs differ.
	Issuers []Issuer
	// ReadAPIKeys reads the API keys anew; nil: there are none.
	ReadAPIKeys func() ([]APIKey, error)
	// Claims of tokens that principals have, beside those that say who they are: names, or paths with dots, as in
	// Issuer.Subject. nil: none.
	Claims []string
	// DPoP says whether tokens may, or must, be bound to a key.
	DPoP DPoP
	// Proofs has the proofs that were used, on all replicas; it is called when the first one comes. nil, or if it gives nil:
	// in memory.
	Proofs func() Proofs
	// Optional: callers without credentials are anonymous.
	Optional bool
	// Transport carries requests to issuers; nil: net/http's, by way of the proxies that the environment names.
	Transport http.RoundTripper
	// Metadata is what the documents say beside the resource and the issuers.
	Metadata Metadata
	// Telemetry is told of refused tokens and fetched keys; nil: nothing is.
	Telemetry *telemetry.Telemetry
	// Logger gets what operators should know; nil: slog.Default.
	Logger *slog.Logger
}

// Issuer is an authorization server whose tokens are accepted.
type Issuer struct {
	// URL is its identifier: the claim iss, and issuer in its metadata, are exactly this.
	URL string
	// JWKS is the URL of its keys; empty: ReadKeys or, if that is nil, discovered from URL.
	JWKS string
	// ReadKeys reads a JWK Set (RFC 7517) from a file; it is called again and again.
	ReadKeys func() ([]byte, error)
	// Audiences of which a token must have one; none: Options.Resource and its endpoints.
	Audiences []string
	// Algorithms that signatures may have (RFC 7518, section 3.1); none: DefaultAlgorithms.
	Algorithms []string
	// Skew is by how much clocks may differ; 0: none.
	Skew time.Duration
	// Subject, Scopes and Roles are claims: the name of one, or a path to it with dots between the names. The first
	// that is there is the subject, the first that is there has the scopes, and all have roles. None: DefaultSubject,
	// DefaultScopes and DefaultRoles. By DefaultSubject the token of a user needs sub, see userClaims.
	Subject, Scopes, Roles []string
	// subjectByDefault: Subject was none.
	subjectByDefault bool
	// Introspection is how it is asked about tokens that are no JWT; nil: it is not. At most one issuer has it, so that
	// a token is shown to none but the one that issued it.
	Introspection *Introspection
	// Exchange is how tokens of its are exchanged for those of backends; nil: they are not.
	Exchange *Exchange
}

// Metadata is a part of the protected-resource metadata (RFC 9728, section 2). Zero members are left out.
type Metadata struct {
	// Name of the resource for people.
	Name string
	// Scopes that clients may ask for, and Initial those that a challenge without a more specific need names.
	Scopes, Initial []string
	// Documentation is a URL.
	Documentation string
}

// The defaults of an Issuer.
var (
	DefaultAlgorithms = []string{"RS256", "PS256", "ES256", "ES384", "EdDSA"}
	DefaultSubject    = []string{"sub", "client_id", "azp"}
	DefaultScopes     = []string{"scope", "scp", "scopes"}
	DefaultRoles      = []string{"roles", "realm_access.roles"}
)

// The bounds. They are no settings: nothing that is in use comes near them.
const (
	// maxToken bounds a token, in bytes.
	maxToken = 16 << 10
	// maxSubject bounds a subject, in bytes.
	maxSubject = 1 << 10
	// maxClaim bounds the JSON of one of Options.Claims, in bytes.
	maxClaim = 4 << 10
	// maxDocument bounds what is read of an issuer: its metadata, its keys, an exchanged token; in bytes.
	maxDocument = 1 << 20
	// maxAnswer bounds what an issuer says of one opaque token, in bytes.
	maxAnswer = 64 << 10
	// maxKeys bounds the keys of one issuer, and maxTried those that a token is tried with that names none.
	maxKeys, maxTried = 256, 8
	// cacheEntries bounds the verified tokens that are remembered, and cacheTTL how long one is.
	cacheEntries = 16 << 10
	cacheTTL     = time.Minute
	// fetchTimeout bounds one request to an issuer.
	fetchTimeout = 5 * time.Second
	// askAgain is the least time between two fetches because of an unknown key.
	askAgain = 30 * time.Second
	// refreshKeys is how often keys are fetched, and refreshFiles how often files are read.
	refreshKeys  = 5 * time.Minute
	refreshFiles = 2 * time.Second
	// keepKeys is for how long keys are used that could not be fetched again.
	keepKeys = time.Hour
	// retryMin and retryMax are between two attempts to fetch keys that failed; the pause doubles.
	retryMin, retryMax = time.Second, 30 * time.Second
)

func (i Issuer) withDefaults(audiences []string) Issuer {
	or := func(list, def []string) []string {
		if len(list) == 0 {
			return def
		}
		return list
	}
	i.subjectByDefault = i.subjectByDefault || len(i.Subject) == 0
	i.Algorithms, i.Audiences = or(i.Algorithms, DefaultAlgorithms), or(i.Audiences, audiences)
	i.Subject, i.Scopes, i.Roles = or(i.Subject, DefaultSubject), or(i.Scopes, DefaultScopes), or(i.Roles, DefaultRoles)
	return i
}

func (o Options) withDefaults() Options {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.EndpointOf == nil {
		o.EndpointOf = func(path string) string { return path }
	}
	if o.AddressOf == nil {
		o.AddressOf = web.Proxies(nil).Address
	}
	return o
}

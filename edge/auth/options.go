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

// Options configure an Authenticator.
type Options struct {
	// Resource is the edge's URL as clients see it, without the path of an endpoint, such as
	// https://mcp.example.com.
	Resource string
	// Endpoints are the paths below Resource that have a metadata document each, such as /mcp. A
	// challenge names the document of the request's endpoint, which EndpointOf returns.
	Endpoints []string
	// EndpointOf returns the endpoint of a request's path. nil means that the path is the endpoint.
	EndpointOf func(path string) string
	// AddressOf returns the network address of a request's client, by which introspections are
	// limited. nil uses that of the connection.
	AddressOf func(r *http.Request) netip.Addr
	// Issuers are the issuers of access tokens. Their URLs must differ.
	Issuers []Issuer
	// ReadAPIKeys rereads the API keys. nil disables API keys.
	ReadAPIKeys func() ([]APIKey, error)
	// Claims are the claims of tokens that principals have, beside those of their identity: names,
	// or paths with dots, as in Issuer.Subject, until KeepClaims. nil means none.
	Claims []string
	// DPoP says whether tokens may, or must, be bound to a key.
	DPoP DPoP
	// Proofs returns the store of used proofs of all replicas; it is called for the first proof. If
	// Proofs or its result is nil, they are kept in memory.
	Proofs func() Proofs
	// Optional accepts callers without credentials as anonymous.
	Optional bool
	// Transport carries requests to issuers. nil uses net/http's, with the proxies that the
	// environment names.
	Transport http.RoundTripper
	// Metadata is the content of the documents beside the resource and the issuers.
	Metadata Metadata
	// Telemetry counts refused tokens and fetched keys. It may be nil.
	Telemetry *telemetry.Telemetry
	// Logger logs what operators need. nil uses slog.Default.
	Logger *slog.Logger
}

// Issuer is an authorization server whose tokens are accepted.
type Issuer struct {
	// URL is its identifier: the claim iss, and issuer in its metadata, must equal it.
	URL string
	// JWKS is the URL of its keys. Empty uses ReadKeys or, if that is nil, discovery from URL.
	JWKS string
	// ReadKeys reads a JWK Set (RFC 7517) from a file. It is called repeatedly.
	ReadKeys func() ([]byte, error)
	// Audiences are the accepted audiences; a token must have one. Empty means Options.Resource and
	// its endpoints and, for the endpoints of sets, what SetSets states.
	Audiences []string
	// audiencesByDefault is true if Audiences was empty.
	audiencesByDefault bool
	// Algorithms are the accepted signature algorithms (RFC 7518, section 3.1). Empty means
	// DefaultAlgorithms.
	Algorithms []string
	// Skew is the tolerated difference of clocks. 0 means none.
	Skew time.Duration
	// Subject, Scopes and Roles are claims: a name, or a path with dots between the names. The
	// first subject claim that exists is the subject, the first scope claim has the scopes, and all
	// role claims have roles. Empty means DefaultSubject, DefaultScopes and DefaultRoles. With
	// DefaultSubject the token of a user needs sub, see userClaims.
	Subject, Scopes, Roles []string
	// subjectByDefault is true if Subject was empty.
	subjectByDefault bool
	// Introspection configures the introspection of tokens that are not JWTs. nil disables it. At
	// most one issuer may have it, so that a token is only sent to its own issuer.
	Introspection *Introspection
	// Exchange configures the exchange of its tokens for tokens of backends. nil disables it.
	Exchange *Exchange
}

// Metadata is a part of the protected-resource metadata (RFC 9728, section 2). Zero fields are
// omitted.
type Metadata struct {
	// Name is the resource's name for people.
	Name string
	// Scopes are those that clients may request; Initial are those that a challenge names if the
	// request needs none in particular.
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

// DefaultCacheTTL is the default of Introspection.TTL, and how long an issuer's verified token is cached at most.
const DefaultCacheTTL = time.Minute

// Bounds that are not settings: they are far above normal use.
const (
	// maxToken bounds a token, in bytes.
	maxToken = 16 << 10
	// maxSubject bounds a subject, in bytes.
	maxSubject = 1 << 10
	// maxClaim bounds the JSON of one of Options.Claims, in bytes.
	maxClaim = 4 << 10
	// maxDocument bounds a document from an issuer (its metadata, its keys, an exchanged token), in
	// bytes.
	maxDocument = 1 << 20
	// maxAnswer bounds an issuer's answer about one opaque token, in bytes.
	maxAnswer = 64 << 10
	// maxKeys bounds the keys of one issuer, maxTried the keys that are tried for a token that
	// names none.
	maxKeys, maxTried = 256, 8
	// cacheEntries bounds the number of cached tokens.
	cacheEntries = 16 << 10
	// fetchTimeout bounds one request to an issuer.
	fetchTimeout = 5 * time.Second
	// refetchInterval is the shortest interval between two fetches because of an unknown key.
	refetchInterval = 30 * time.Second
	// refreshKeys is the interval at which keys are fetched, refreshFiles that at which files are
	// read.
	refreshKeys  = 5 * time.Minute
	refreshFiles = 2 * time.Second
	// keepKeys is the time for which keys are used that could not be fetched again.
	keepKeys = time.Hour
	// retryMin and retryMax are the first and the longest pause after a failed fetch of keys; the
	// pause doubles.
	retryMin, retryMax = time.Second, 30 * time.Second
)

func (i Issuer) withDefaults(audiences []string) Issuer {
	or := func(list, def []string) []string {
		if len(list) == 0 {
			return def
		}
		return list
	}
	i.audiencesByDefault = i.audiencesByDefault || len(i.Audiences) == 0
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

package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Auth configures which callers are authenticated: by access tokens of the issuers, or by API keys.
type Auth struct {
	// Issuers are authorization servers.
	Issuers []Issuer `yaml:"issuers"`
	// APIKeys is a file of API keys, see ParseAPIKeys; it is watched. Empty disables API keys.
	APIKeys string `yaml:"api-keys" names:"file"`
	// DPoP selects whether tokens may or must be bound to a key: DPoPAccept or DPoPRequire. Empty
	// and DPoPOff refuse bound tokens.
	DPoP string `yaml:"dpop"`
	// Optional admits callers without credentials as the anonymous principal. Invalid credentials
	// are refused.
	Optional bool `yaml:"optional"`
	// Metadata is published to clients in addition to the issuers.
	Metadata AuthMetadata `yaml:"metadata"`
}

// The values of Auth.DPoP.
const (
	DPoPOff     = "off"
	DPoPAccept  = "accept"
	DPoPRequire = "require"
)

// Issuer is an authorization server.
type Issuer struct {
	// Issuer is its identifier, a URL, exactly as in the claim iss of its tokens.
	Issuer string `yaml:"issuer"`
	// JWKS is the URL of its keys, or a file, which is watched; empty reads the URL from its
	// metadata.
	JWKS string `yaml:"jwks" names:"file"`
	// Audiences are the accepted audiences; a token must have one of them. Empty means PublicURL,
	// its /mcp and its /sse.
	Audiences Names `yaml:"audiences"`
	// Algorithms are those accepted in signatures; empty means RS256, PS256, ES256, ES384 and
	// EdDSA.
	Algorithms Names `yaml:"algorithms"`
	// Skew is the accepted difference of clocks; nil means DefaultSkew.
	Skew *time.Duration `yaml:"skew"`
	// Claims names the claims for subject, scopes and roles.
	Claims Claims `yaml:"claims"`
	// Introspection configures the verification of opaque tokens; nil refuses them.
	Introspection *Introspection `yaml:"introspection"`
	// Exchange configures the token exchange for backends with IdentityExchange; nil disables it.
	Exchange *IssuerExchange `yaml:"exchange"`
}

// IssuerExchange is a token exchange endpoint (RFC 8693).
type IssuerExchange struct {
	// URL of the token endpoint; empty reads it from the issuer's metadata.
	URL string `yaml:"url"`
	// ClientID and ClientSecretFile are the edge's own credentials at the endpoint. The file is
	// read for each request.
	ClientID         string `yaml:"client-id"`
	ClientSecretFile string `yaml:"client-secret-file" names:"file"`
}

// Introspection is a token introspection endpoint (RFC 7662).
type Introspection struct {
	URL string `yaml:"url"`
	// ClientID and ClientSecretFile are the edge's own credentials at the endpoint. The file is
	// read for each request.
	ClientID         string `yaml:"client-id"`
	ClientSecretFile string `yaml:"client-secret-file" names:"file"`
	// TTL is the time for which a response is cached. 0 means 60 s.
	TTL time.Duration `yaml:"ttl"`
}

// Claims are names of claims, or paths with dots.
type Claims struct {
	// Subject lists names of claims. The first claim that is present is used. Empty means sub or,
	// for tokens without a user, client_id, azp.
	Subject Names `yaml:"subject"`
	// Scopes lists names of claims. The first claim that is present is used. Empty means scope, scp,
	// scopes.
	Scopes Names `yaml:"scopes"`
	// Roles names claims, which are merged; empty means roles, realm_access.roles. Groups are roles
	// only if named here: in many directories users create groups of their own.
	Roles Names `yaml:"roles"`
}

// AuthMetadata is a part of the protected-resource metadata (RFC 9728).
type AuthMetadata struct {
	// ScopesSupported are the scopes that clients may request.
	ScopesSupported Names `yaml:"scopes-supported"`
	// InitialScopes are the scopes that a client without a token is asked to request.
	InitialScopes Names `yaml:"initial-scopes"`
	// Documentation is the URL of a page.
	Documentation string `yaml:"documentation"`
}

// DefaultSkew is the accepted difference between an issuer's clock and the edge's.
const DefaultSkew = 60 * time.Second

// algorithms are the supported signature algorithms. "none" and those with a shared secret are not
// among them.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// PublicURLOrListen returns PublicURL without a slash at its end. If that is empty and Listen is a
// port of loopback, it returns the URL of Listen. Empty means that the URL is unknown.
func (c *Config) PublicURLOrListen() string {
	if c.Listen.PublicURL != "" {
		return strings.TrimRight(c.Listen.PublicURL, "/")
	}
	loopback, err := isLoopback(c.Listen.Address)
	if _, port, _ := net.SplitHostPort(c.Listen.Address); err != nil || !loopback || port == "0" || port == "" {
		return ""
	}
	if c.Listen.TLS.Cert != "" {
		return "https://" + c.Listen.Address
	}
	return "http://" + c.Listen.Address
}

// validateAuth checks listen.public-url and auth.
func (c *Config) validateAuth() (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if why := notURL(c.Listen.PublicURL); c.Listen.PublicURL != "" && why != "" {
		wrong("listen.public-url: %q %s: write it as clients do, such as https://mcp.example.com, without the path of an endpoint", c.Listen.PublicURL, why)
	}
	if admin := c.Admin.Auth; admin != nil {
		errs = append(errs, admin.validate(c)...)
	}
	a := c.Auth
	if a == nil {
		return errs
	}
	if len(a.Issuers) == 0 && a.APIKeys == "" {
		wrong("auth: there are neither issuers nor api-keys, so no caller could authenticate: add some, or take auth out")
	}
	if c.PublicURLOrListen() == "" {
		wrong("listen.public-url: it is missing, and needed with auth unless listen.address is a port of 127.0.0.1: it is the audience of tokens, and where clients find the issuers")
	}
	switch a.DPoP {
	case "", DPoPOff, DPoPAccept, DPoPRequire:
	default:
		wrong("auth.dpop: %q: use off, accept or require", a.DPoP)
	}
	names, opaque := map[string]bool{}, 0
	for i := range a.Issuers {
		one := &a.Issuers[i]
		if one.Introspection != nil {
			if opaque++; opaque == 2 {
				wrong("auth.issuers[%d]: another issuer has introspection, too: leave it with one, since an opaque token does not name its issuer and must not be sent to another", i)
			}
		}
		if names[one.Issuer] {
			wrong("auth.issuers[%d]: issuer %q is there twice: put what both have into one", i, one.Issuer)
		}
		names[one.Issuer] = true
		for _, err := range one.validate() {
			wrong("auth.issuers[%d]: %w", i, err)
		}
	}
	for _, list := range []Names{a.Metadata.ScopesSupported, a.Metadata.InitialScopes} {
		for _, scope := range list {
			if why := mcp.NotScope(scope); why != "" {
				wrong("auth.metadata: scope %q %s", scope, why)
			}
		}
	}
	if d := a.Metadata.Documentation; d != "" && notURL(d) != "" {
		wrong("auth.metadata.documentation: %q %s: give the URL of a page", d, notURL(d))
	}
	return errs
}

func (i *Issuer) validate() (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if why := notURL(i.Issuer); why != "" {
		wrong("issuer: %q %s: give the URL that its tokens have in the claim iss", i.Issuer, why)
	}
	if IsURL(i.JWKS) && notURL(i.JWKS) != "" {
		wrong("%s: jwks: %q %s: give the URL of a JWK Set, or a file", i.Issuer, i.JWKS, notURL(i.JWKS))
	}
	for _, name := range i.Algorithms {
		if !slices.Contains(algorithms, name) {
			wrong("%s: algorithms: %q is not accepted: use some of %s", i.Issuer, name, strings.Join(algorithms, ", "))
		}
	}
	if i.Skew != nil && *i.Skew > maxSkew {
		wrong("%s: skew: %s: give 0 to %s", i.Issuer, *i.Skew, maxSkew)
	}
	if n := i.Introspection; n != nil {
		if why := notURL(n.URL); why != "" {
			wrong("%s: introspection.url: %q %s: give the URL of its endpoint of RFC 7662", i.Issuer, n.URL, why)
		}
		if n.ClientID == "" || n.ClientSecretFile == "" {
			wrong("%s: introspection: client-id and client-secret-file are needed: the edge has to say who asks", i.Issuer)
		}
		if n.TTL > time.Hour {
			wrong("%s: introspection.ttl: %s: give at most 1h, or leave it out for 60s: a token that is revoked is good for so long", i.Issuer, n.TTL)
		}
	}
	if x := i.Exchange; x != nil {
		if x.URL != "" && notURL(x.URL) != "" {
			wrong("%s: exchange.url: %q %s: give the URL of its token endpoint, or leave it out: its metadata names it", i.Issuer, x.URL, notURL(x.URL))
		}
		if x.ClientID == "" || x.ClientSecretFile == "" {
			wrong("%s: exchange: client-id and client-secret-file are needed: the edge has to say who exchanges", i.Issuer)
		}
	}
	for _, name := range slices.Concat(i.Audiences, i.Claims.Subject, i.Claims.Scopes, i.Claims.Roles) {
		if name == "" {
			wrong("%s: an entry of audiences or claims is empty: give it a name, or take it out", i.Issuer)
		}
	}
	return errs
}

// maxSkew bounds Skew: an expired token remains valid for that long.
const maxSkew = 10 * time.Minute

// SkewOrDefault returns Skew, or DefaultSkew if it is nil.
func (i *Issuer) SkewOrDefault() time.Duration {
	if i.Skew == nil {
		return DefaultSkew
	}
	return *i.Skew
}

// IsURL reports whether a text is a URL, not the name of a file.
func IsURL(s string) bool {
	return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}

// notURL returns why a text is not the URL of a server, or an empty string if it is.
func notURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || !IsURL(s) || u.Hostname() == "":
		return "is not an http or https URL"
	case u.User != nil || u.RawQuery != "" || strings.ContainsAny(s, "#?") || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "has a user, a query, a fragment or a space, which such a URL must not have"
	}
	return largePort(u.Port())
}

package config

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Auth says who may call: whoever has an access token of one of the issuers, or one of the API keys.
type Auth struct {
	// Issuers are authorization servers.
	Issuers []Issuer `yaml:"issuers"`
	// APIKeys is a file with the keys of machines, see ParseAPIKeys; it is watched. Empty: there are none.
	APIKeys string `yaml:"api-keys" names:"file"`
	// DPoP says whether tokens may, or must, be bound to a key: DPoPAccept or DPoPRequire; empty or DPoPOff: bound ones are
	// refused.
	DPoP string `yaml:"dpop"`
	// Optional lets callers without credentials in as the anonymous one. Wrong credentials are refused.
	Optional bool `yaml:"optional"`
	// Metadata is what clients are told beside the issuers.
	Metadata AuthMetadata `yaml:"metadata"`
}

// What DPoP may be.
const (
	DPoPOff     = "off"
	DPoPAccept  = "accept"
	DPoPRequire = "require"
)

// Issuer is an authorization server.
type Issuer struct {
	// Issuer is its identifier, a URL, exactly as its tokens have it.
	Issuer string `yaml:"issuer"`
	// JWKS is the URL of its keys, or a file, which is watched; empty: its metadata names them.
	JWKS string `yaml:"jwks" names:"file"`
	// Audiences of which a token must have one; empty: PublicURL, its /mcp and its /sse.
	Audiences Names `yaml:"audiences"`
	// Algorithms that signatures may have; empty: RS256, PS256, ES256, ES384 and EdDSA.
	Algorithms Names `yaml:"algorithms"`
	// Skew is by how much clocks may differ; nil: DefaultSkew.
	Skew *time.Duration `yaml:"skew"`
	// Claims say where a token has what.
	Claims Claims `yaml:"claims"`
	// Introspection is how it is asked about opaque tokens; nil: they are refused.
	Introspection *Introspection `yaml:"introspection"`
	// Exchange is how its tokens are exchanged for those of backends with IdentityExchange; nil: they are not.
	Exchange *IssuerExchange `yaml:"exchange"`
}

// IssuerExchange is an endpoint of RFC 8693.
type IssuerExchange struct {
	// URL of the token endpoint; empty: the issuer's metadata names it.
	URL string `yaml:"url"`
	// ClientID and ClientSecretFile are the edge's own credentials there. The file is read for each request.
	ClientID         string `yaml:"client-id"`
	ClientSecretFile string `yaml:"client-secret-file" names:"file"`
}

// Introspection is an endpoint of RFC 7662.
type Introspection struct {
	URL string `yaml:"url"`
	// ClientID and ClientSecretFile are the edge's own credentials there. The file is read for each request.
	ClientID         string `yaml:"client-id"`
	ClientSecretFile string `yaml:"client-secret-file" names:"file"`
	// TTL is for how long an answer is remembered; 0: 60 s.
	TTL time.Duration `yaml:"ttl"`
}

// Claims are names of claims, or paths with dots.
type Claims struct {
	// Subject: the first that is there; empty: sub or, for tokens that are no user's, client_id, azp.
	Subject Names `yaml:"subject"`
	// Scopes: the first that is there; empty: scope, scp, scopes.
	Scopes Names `yaml:"scopes"`
	// Roles: all of them; empty: roles, realm_access.roles. Groups are roles only where this says so: in many directories users make
	// groups of their own.
	Roles Names `yaml:"roles"`
}

// AuthMetadata is a part of the protected-resource metadata (RFC 9728).
type AuthMetadata struct {
	// ScopesSupported are scopes that clients may ask for.
	ScopesSupported Names `yaml:"scopes-supported"`
	// InitialScopes are those that a client without a token is told to ask for.
	InitialScopes Names `yaml:"initial-scopes"`
	// Documentation is a URL.
	Documentation string `yaml:"documentation"`
}

// AdminAuth says who may use the admin address.
type AdminAuth struct {
	// Scope that the credentials must have; it may be empty without Config.Auth.
	Scope string `yaml:"scope"`
	// ClientCert lets in who has a certificate of AdminTLS.ClientCA, which stands for Scope, beside who has other credentials.
	ClientCert bool `yaml:"client-cert"`
	// Open is what needs no credentials: OpenProbes, OpenMetrics and OpenDev; nil: the first.
	Open Names `yaml:"open"`
}

// What of the admin address may be open to everybody.
const (
	// OpenProbes are /healthz and /readyz.
	OpenProbes = "probes"
	// OpenMetrics is /metrics.
	OpenMetrics = "metrics"
	// OpenDev is /dev, the page of the setting dev, and POST /v1/traces beside it.
	OpenDev = "dev"
)

// Opens says whether something of the admin address needs no credentials.
func (c *Config) Opens(what string) bool {
	switch {
	case c.AdminAuth == nil:
		return true
	case c.AdminAuth.Open == nil:
		return what == OpenProbes
	}
	return slices.Contains(c.AdminAuth.Open, what)
}

// DefaultSkew is by how much an issuer's clock and the edge's may differ.
const DefaultSkew = 60 * time.Second

// Algorithms are those of signatures that can be verified: none and those with a shared secret are not among them.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// PublicURLOrListen is PublicURL or, if that is empty and Listen is a port of loopback, the URL of that, without a
// slash at the end. Empty: it is not known.
func (c *Config) PublicURLOrListen() string {
	if c.PublicURL != "" {
		return strings.TrimRight(c.PublicURL, "/")
	}
	loopback, err := isLoopback(c.Listen)
	if _, port, _ := net.SplitHostPort(c.Listen); err != nil || !loopback || port == "0" || port == "" {
		return ""
	}
	if c.TLS.Cert != "" {
		return "https://" + c.Listen
	}
	return "http://" + c.Listen
}

// validateAuth checks public-url and auth.
func (c *Config) validateAuth() (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if why := notURL(c.PublicURL); c.PublicURL != "" && why != "" {
		wrong("public-url: %q %s: write it as clients do, such as https://mcp.example.com, without the path of an endpoint", c.PublicURL, why)
	}
	if admin := c.AdminAuth; admin != nil {
		errs = append(errs, admin.validate(c)...)
	}
	a := c.Auth
	if a == nil {
		return errs
	}
	if len(a.Issuers) == 0 && a.APIKeys == "" {
		wrong("auth: there are neither issuers nor api-keys, so nobody could call: add some, or take auth out")
	}
	if c.PublicURLOrListen() == "" {
		wrong("public-url: it is missing, and needed with auth unless listen is a port of 127.0.0.1: it is the audience of tokens, and where clients find the issuers")
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
				wrong("auth.issuers[%d]: another issuer has introspection, too: leave it with one, since an opaque token does not say whose it is and must be shown to nobody else", i)
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

func (a *AdminAuth) validate(c *Config) (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Auth == nil && !a.ClientCert {
		wrong("admin-auth: there is no auth, so nobody has credentials: say there who may call, set client-cert, or take admin-auth out")
	}
	if why := mcp.NotScope(a.Scope); why != "" && (c.Auth != nil || a.Scope != "") {
		wrong("admin-auth.scope: %q %s", a.Scope, why)
	}
	for _, what := range a.Open {
		if !slices.Contains([]string{OpenProbes, OpenMetrics, OpenDev}, what) {
			wrong("admin-auth.open: %q: use some of probes, metrics and dev", what)
		}
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
	if i.Skew != nil && (*i.Skew < 0 || *i.Skew > maxSkew) {
		wrong("%s: skew: %s: give 0 to %s", i.Issuer, *i.Skew, maxSkew)
	}
	if n := i.Introspection; n != nil {
		if why := notURL(n.URL); why != "" {
			wrong("%s: introspection.url: %q %s: give the URL of its endpoint of RFC 7662", i.Issuer, n.URL, why)
		}
		if n.ClientID == "" || n.ClientSecretFile == "" {
			wrong("%s: introspection: client-id and client-secret-file are needed: the edge has to say who asks", i.Issuer)
		}
		if n.TTL < 0 || n.TTL > time.Hour {
			wrong("%s: introspection.ttl: %s: give at most 1h, or 0 for 60s: a token that is revoked is good for so long", i.Issuer, n.TTL)
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

// maxSkew is the most by which clocks may differ: an expired token is good for so long.
const maxSkew = 10 * time.Minute

// SkewOrDefault is Skew or, without one, DefaultSkew.
func (i *Issuer) SkewOrDefault() time.Duration {
	if i.Skew == nil {
		return DefaultSkew
	}
	return *i.Skew
}

// IsURL tells a URL from the name of a file.
func IsURL(s string) bool {
	return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}

// notURL says why something is no URL of a server or of what is on it; empty: it is.
func notURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || !IsURL(s) || u.Hostname() == "":
		return "is no http or https URL"
	case u.User != nil || u.RawQuery != "" || strings.ContainsAny(s, "#?") || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "has a user, a query, a fragment or a space, which such a URL must not have"
	}
	return largePort(u.Port())
}

// APIKey is one key of the file api-keys.
type APIKey struct {
	// Name of the machine, unique: the subject of its principal.
	Name string `yaml:"name"`
	// SHA256 of the key, in hexadecimal digits.
	SHA256 string `yaml:"sha256"`
	Scopes Names  `yaml:"scopes"`
	Roles  Names  `yaml:"roles"`
	// Expires is when it ceases to be good, in the form of RFC 3339; zero: never.
	Expires time.Time `yaml:"expires"`
}

// Sum is the decoded SHA256. ParseAPIKeys has checked it.
func (k *APIKey) Sum() (sum [32]byte) {
	_, _ = hex.Decode(sum[:], []byte(k.SHA256))
	return sum
}

const maxKeyName = 256

// entryHint says which key of an entry may be meant by one that it does not have; empty: the error is about something else.
func entryHint(err error) string {
	var unknown *yaml.UnknownFieldError
	if !errors.As(err, &unknown) || unknown.GetToken() == nil {
		return ""
	}
	entry := section{fields: reflect.TypeFor[APIKey]()}
	keys := entry.keys()
	if meant := Nearest(asKey(unknown.GetToken().Value), keys); meant != "" {
		return meant + " may be meant"
	}
	last := len(keys) - 1
	return fmt.Sprintf("an entry has %s and %s", strings.Join(keys[:last], ", "), keys[last])
}

// ParseAPIKeys reads the file api-keys: a list, in YAML, of which an unknown member is an error, and so is nothing at all,
// which is what a file has while it is written. The keys themselves are not in it, nor in an error. A name may have several keys, with the
// same scopes and roles, so that a key and its successor are good at the same time.
func ParseAPIKeys(raw []byte) ([]APIKey, error) {
	var keys []APIKey
	if err := yaml.UnmarshalWithOptions(raw, &keys, yaml.Strict(), yaml.CustomUnmarshaler(parseTime)); err != nil {
		if wrong := wrongTimes(raw, err); wrong != nil {
			return nil, wrong
		}
		told := inYAML(strings.TrimRight(yaml.FormatError(err, false, false), "\n"))
		if hint := cmp.Or(entryHint(err), quotesMissing(raw, err, false)); hint != "" {
			told += ": " + hint
		}
		return nil, errors.New(told)
	}
	if keys == nil {
		return nil, errors.New("it has no list: write [] for no keys")
	}
	var errs []error
	first, sums := map[string]int{}, map[string]string{}
	for i, k := range keys {
		if len(k.Name) > maxKeyName || !mcp.IsName(k.Name) {
			errs = append(errs, fmt.Errorf("entry %d: name %.80q: give it 1 to %d bytes of characters that show, none of which is a control, "+
				"and no space at its ends", i+1, k.Name, maxKeyName))
		}
		if one, there := first[k.Name]; !there {
			first[k.Name] = i
		} else if before := &keys[one]; !slices.Equal(before.Scopes, k.Scopes) || !slices.Equal(before.Roles, k.Roles) {
			errs = append(errs, fmt.Errorf("entry %d: %.80q has other scopes or roles than in entry %d: keys of one name are of one caller, so give both the same, "+
				"or the key of another caller another name", i+1, k.Name, one+1))
		}
		for _, scope := range k.Scopes {
			if why := mcp.NotScope(scope); why != "" {
				errs = append(errs, fmt.Errorf("entry %d, %.80q: scopes: %.80q %s", i+1, k.Name, scope, why))
			}
		}
		if sum, err := hex.DecodeString(k.SHA256); err != nil || len(sum) != 32 {
			errs = append(errs, fmt.Errorf("entry %d, %.80q: sha256 is not 64 hexadecimal digits: make it with: printf %%s \"$KEY\" | sha256sum", i+1, k.Name))
			continue
		}
		sum := strings.ToLower(k.SHA256)
		if other, taken := sums[sum]; taken {
			errs = append(errs, fmt.Errorf("entry %d, %.80q: it is the key of %.80q, too: make one for each", i+1, k.Name, cmp.Or(other, "another")))
		}
		sums[sum] = k.Name
	}
	return keys, errors.Join(errs...)
}

package config

import (
	"fmt"
	"regexp"
	"slices"
	"time"
)

// The kinds of backends.
const (
	// KindContract implements the contract, mcpedge.v1.
	KindContract = "contract"
	// KindReflect is any gRPC service; its methods become tools.
	KindReflect = "reflect"
)

// How backends are shown who is calling.
const (
	// IdentityPrincipal is the contract's Principal alone.
	IdentityPrincipal = "principal"
	// IdentitySigned is a JWT of the edge's beside it, see Config.IdentityKey.
	IdentitySigned = "signed"
	// IdentityExchange is an access token of its own for the caller, see Issuer.Exchange.
	IdentityExchange = "exchange"
)

// BackendExchange is the token that a backend gets for a caller.
type BackendExchange struct {
	// Audience that it is asked for with; empty: the backend's name, unless there is a Resource.
	Audience string `yaml:"audience"`
	// Resource is the same as a URL, for issuers that want that (RFC 8693, section 2.1); empty: none.
	Resource string `yaml:"resource"`
	// Scopes that it is asked for with; empty: as the issuer likes.
	Scopes Names `yaml:"scopes"`
}

// Backend is one gRPC service behind the edge.
type Backend struct {
	// Name identifies it to operators; letters, digits, "-" and "_".
	Name string `yaml:"name"`
	// Target is any gRPC target.
	Target string `yaml:"target" also:"url,address,addr,endpoint,host"`
	// Kind is KindContract, also when empty, or KindReflect.
	Kind string `yaml:"kind"`
	// Schemas is the form in which the schemas of its tools' arguments are shown; empty: Config.Schemas.
	Schemas string `yaml:"schemas"`
	// DescriptorSet is a file with the serialized descriptors of a service of KindReflect; empty: it is
	// asked by server reflection.
	DescriptorSet string `yaml:"descriptor-set" names:"file"`
	// Include and Exclude select the methods of a service of KindReflect that become tools: patterns of
	// "package.Service/Method" in which * is any text. No Include: all.
	Include []string `yaml:"include"`
	Exclude []string `yaml:"exclude"`
	// MaxStreamMessages bounds the messages of one stream of a service of KindReflect; 0: 1,000.
	MaxStreamMessages int `yaml:"max-stream-messages"`
	// Claims of the access token that the backend is told beside subject, issuer, client, actor, scopes and roles: names, or
	// paths with dots; empty: none.
	Claims Names `yaml:"claims"`
	// Identity is how it is shown who is calling: IdentityPrincipal, also when empty, IdentitySigned or
	// IdentityExchange.
	Identity string `yaml:"identity"`
	// Exchange says which token it gets with IdentityExchange; nil: one for the audience Name.
	Exchange *BackendExchange `yaml:"exchange"`
	// Metadata are keys of gRPC metadata that calls of it have, lower case, with their values; empty: none. Values that do not depend on
	// the caller are sent with everything, health checks and reflection too.
	Metadata map[string]MetadataValue `yaml:"metadata"`
	// ForwardHeaders are headers of clients' HTTP requests that calls have as metadata; empty: none. A round that is run without its request, as
	// later ones of a task, has none.
	ForwardHeaders Names `yaml:"forward-headers"`
	// Extensions are ids of protocol extensions that clients are told of when the backend declares them, beside those that the
	// edge knows to pass whole: each adds no methods, notifications or results to the protocol; empty: none.
	Extensions Names `yaml:"extensions"`
	// Prefix is put before its tools' and prompts' names: at most 63 letters, digits, "_", ".", "-" and "/";
	// empty: none. No other backend has a name that begins with it.
	Prefix string `yaml:"prefix"`
	// URIs are prefixes of URIs that no other backend has, each with a scheme; empty: the URIs of the backend are its own only as
	// far as no backend before it has them.
	URIs Names `yaml:"uris"`
	// TLS to the backend; nil: plaintext.
	TLS *TLS `yaml:"tls"`
	// Timeout bounds one round of a call; 0: 60 s.
	Timeout time.Duration `yaml:"timeout"`
	// MaxConcurrent bounds its calls in flight; 0: 1,024.
	MaxConcurrent int `yaml:"max-concurrent"`
	// MaxMessage bounds one message from it; 0: 16 MiB.
	MaxMessage Bytes `yaml:"max-message"`
	// Refresh is how often its lists are read without a change event; 0: 60 s.
	Refresh time.Duration `yaml:"refresh"`
	// Resolve is how often DNS is asked for the addresses of the name in Target; 0: 10 s.
	Resolve time.Duration `yaml:"resolve"`
	// Outliers says when an address of Target gets no calls for a while; nil: never.
	Outliers *Outliers `yaml:"outlier-detection"`
	// Health says what the standard health service of each address is asked; nil: about all of it.
	Health *Health `yaml:"health"`
	// StaleAfter is how long the lists of an unreachable backend are served; 0: 5 min.
	StaleAfter time.Duration `yaml:"stale-after"`
	// OwnLists is how long a request waits for lists that are the caller's own; 0: 2 s.
	OwnLists time.Duration `yaml:"own-lists"`
}

// Health is about the standard health service, grpc.health.v1.Health, of a backend's addresses.
type Health struct {
	// Service is the name that is asked about, or HealthOff; empty: all of an address. An address that does not know
	// a service that is named here is unhealthy.
	Service string `yaml:"service"`
}

// HealthOff is the Service of a Health that is not asked.
const HealthOff = "off"

// TLS towards a backend. All paths are PEM files.
type TLS struct {
	// CA verifies the backend; empty: the system's roots.
	CA string `yaml:"ca" names:"file"`
	// Cert and Key are the edge's own, for mutual TLS; both or none.
	Cert string `yaml:"cert" names:"file"`
	Key  string `yaml:"key" names:"file"`
	// ServerName overrides the name in the backend's certificate; empty: the target's host.
	ServerName string `yaml:"server-name"`
}

var backendName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

var methodPattern = regexp.MustCompile(`^/?[A-Za-z0-9_.*]+(/[A-Za-z0-9_*]+)?$`)

// minResolve is the least time between two questions to DNS.
const minResolve = time.Second

// maxClaims bounds the claims that one backend is told.
const maxClaims = 32

// validateKind checks what only services of one kind have.
func (b *Backend) validateKind(i int) (errs []error) {
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("backends[%d] %s: "+format, append([]any{i, b.Name}, args...)...))
	}
	switch b.Kind {
	case KindReflect:
		if len(b.Claims) > 0 && b.Identity != IdentitySigned {
			wrong("claims: a service of kind: reflect does not know the contract's Principal, and has no identity: signed: tell it in metadata: {x-NAME: {from: principal.claims.NAME}}, and take them out")
		}
	case "", KindContract:
		if b.DescriptorSet != "" || len(b.Include)+len(b.Exclude) > 0 || b.MaxStreamMessages != 0 {
			wrong("descriptor-set, include, exclude and max-stream-messages are for kind: reflect: set it, or take them out")
		}
	default:
		wrong("kind: %q: use contract or reflect", b.Kind)
	}
	if b.Schemas != "" && !slices.Contains(forms, b.Schemas) {
		wrong("schemas: %q: use auto, portable or full", b.Schemas)
	}
	for at, name := range b.Claims {
		if name == "" || slices.Contains(b.Claims[:at], name) {
			wrong("claims: %q is empty, or there twice: name each claim once", name)
		}
	}
	if len(b.Claims) > maxClaims {
		wrong("claims: there are %d: name at most %d", len(b.Claims), maxClaims)
	}
	for _, p := range slices.Concat(b.Include, b.Exclude) {
		if !methodPattern.MatchString(p) {
			wrong("%q is no pattern of methods: write package.Service/Method, with * for any text", p)
		}
	}
	if b.MaxStreamMessages < 0 {
		wrong("max-stream-messages: %d: give a number above 0, or 0 for 1000", b.MaxStreamMessages)
	}
	return errs
}

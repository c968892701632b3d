package config

import (
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

// How a backend learns the caller's identity.
const (
	// IdentityPrincipal sends the contract's Principal alone.
	IdentityPrincipal = "principal"
	// IdentitySigned adds a JWT signed by the edge, see Server.SigningKey.
	IdentitySigned = "signed"
	// IdentityExchange adds an access token of the caller for this backend, see Issuer.Exchange.
	IdentityExchange = "exchange"
)

// BackendExchange configures the access tokens requested for a backend.
type BackendExchange struct {
	// Audience of the token; empty means the backend's name, unless Resource is set.
	Audience string `yaml:"audience"`
	// Resource is the audience as a URL, for issuers that require one (RFC 8693, section 2.1);
	// empty sends none.
	Resource string `yaml:"resource"`
	// Scopes to request; empty leaves them to the issuer.
	Scopes Names `yaml:"scopes"`
}

// Backend is one gRPC service behind the edge.
type Backend struct {
	// Name identifies it to operators; letters, digits, "-" and "_". In Kubernetes.Backends it is a
	// pattern of namespace/service, with * for any text without a slash.
	Name string `yaml:"name"`
	// Target is any gRPC target. Discovered backends have none here.
	Target string `yaml:"target" also:"url,address,addr,endpoint,host"`
	// Kind is KindContract or KindReflect; empty means KindContract.
	Kind string `yaml:"kind"`
	// Schemas is the form of its tools' input schemas; empty means Lists.Schemas.
	Schemas string `yaml:"schemas"`
	// DescriptorSet is a file with the serialized descriptors of a service of KindReflect; empty
	// uses server reflection.
	DescriptorSet string `yaml:"descriptor-set" names:"file"`
	// Include and Exclude select the methods of a service of KindReflect that become tools:
	// patterns of "package.Service/Method" in which * is any text. An empty Include means all.
	Include Names `yaml:"include"`
	Exclude Names `yaml:"exclude"`
	// Claims of the access token that are sent to the backend in addition to subject, issuer,
	// client, actor, scopes and roles: names, or paths with dots; empty sends none.
	Claims Names `yaml:"claims"`
	// Identity selects how the backend gets the caller's identity: IdentityPrincipal, IdentitySigned
	// or IdentityExchange. Empty means IdentityPrincipal.
	Identity string `yaml:"identity"`
	// Exchange configures the token of IdentityExchange; nil requests one for the audience Name.
	Exchange *BackendExchange `yaml:"exchange"`
	// Metadata is gRPC metadata, by lower-case key, that is added to calls of the backend; empty
	// adds none. Values that do not depend on the caller are added to every RPC, health checks and
	// reflection included.
	Metadata map[string]MetadataValue `yaml:"metadata"`
	// ForwardHeaders are headers of clients' HTTP requests that become metadata of the call; empty
	// forwards none. A round that runs without the request, such as a later one of a task, has
	// none.
	ForwardHeaders Names `yaml:"forward-headers"`
	// Extensions are ids of protocol extensions that are announced to clients if the backend
	// declares them, in addition to those that the edge implements. Such an extension adds no
	// methods, notifications or results to the protocol. Empty adds none.
	Extensions Names `yaml:"extensions"`
	// Prefix is prepended to the names of its tools and prompts: at most 63 letters, digits, "_",
	// ".", "-" and "/"; empty adds none. Names with this prefix are reserved for the backend.
	Prefix string `yaml:"prefix"`
	// URIs are prefixes of URIs, each with a scheme, that are reserved for the backend; empty: a
	// URI belongs to the first backend that lists it.
	URIs Names `yaml:"uris"`
	// TLS to the backend; nil: plaintext.
	TLS *TLS `yaml:"tls"`
	// Timeout bounds one round of a call; 0: 60 s.
	Timeout time.Duration `yaml:"timeout"`
	// MaxConcurrent bounds its calls in flight; 0: 1,024.
	MaxConcurrent int `yaml:"max-concurrent"`
	// MaxMessage bounds one message from it; 0: 16 MiB.
	MaxMessage Bytes `yaml:"max-message"`
	// Refresh is the interval at which the lists are read without a change event. 0 means 60 s.
	Refresh time.Duration `yaml:"refresh"`
	// Outliers ejects addresses of Target whose calls fail; nil disables it.
	Outliers *Outliers `yaml:"outlier-detection"`
	// Health configures the health check of each address; nil checks the server as a whole.
	Health *Health `yaml:"health"`
	// StaleAfter is the time for which the last lists of an unreachable backend are served. 0 means
	// 5 min.
	StaleAfter time.Duration `yaml:"stale-after"`
	// OwnLists bounds the wait of a request for the lists that are read for its caller. 0 means 2 s.
	OwnLists time.Duration `yaml:"own-lists"`
}

// Health configures checks by the standard health service, grpc.health.v1.Health.
type Health struct {
	// Service is the name to check; empty checks the server as a whole, HealthOff disables checks.
	// An address that does not know a named service is unhealthy.
	Service string `yaml:"service"`
}

// HealthOff as Service disables health checks.
const HealthOff = "off"

// TLS towards a backend. All paths are PEM files.
type TLS struct {
	// CA verifies the backend; empty: the system's roots.
	CA string `yaml:"ca" names:"file"`
	// Cert and Key are the edge's own, for mutual TLS. Set both or neither.
	Cert string `yaml:"cert" names:"file"`
	Key  string `yaml:"key" names:"file"`
	// ServerName overrides the name in the backend's certificate; empty: the target's host.
	ServerName string `yaml:"server-name"`
}

var backendName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

var methodPattern = regexp.MustCompile(`^/?[A-Za-z0-9_.*]+(/[A-Za-z0-9_*]+)?$`)

// maxClaims bounds the claims that are sent to one backend.
const maxClaims = 32

// validateKind calls wrong for each mistake in the settings that belong to services of one kind.
func (b *Backend) validateKind(wrong wrongs) {
	switch b.Kind {
	case KindReflect:
		if len(b.Claims) > 0 && b.Identity != IdentitySigned {
			wrong("claims: a service of kind: reflect does not know the contract's Principal, and has no identity: signed: send them in metadata: {x-NAME: {from: principal.claims.NAME}}, and take them out")
		}
	case "", KindContract:
		if b.DescriptorSet != "" || len(b.Include)+len(b.Exclude) > 0 {
			wrong("descriptor-set, include and exclude are for kind: reflect: set it, or take them out")
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
			wrong("%q is not a pattern of methods: write package.Service/Method, with * for any text", p)
		}
	}
}

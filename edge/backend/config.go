package backend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver"
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Defaults for the zero values of a Config.
const (
	DefaultTimeout         = 60 * time.Second
	DefaultMaxConcurrent   = 1024
	DefaultMaxMessageBytes = 16 << 20
	DefaultRefresh         = 60 * time.Second
	DefaultResolve         = 10 * time.Second
	DefaultStaleAfter      = 5 * time.Minute
	DefaultOwnLists        = 2 * time.Second
)

// Bounds that no setting changes.
const (
	// MaxPages, MaxEntries and MaxListBytes bound one list of one backend, all its pages together.
	// A list that exceeds one of them is rejected as a whole, and the previous list remains.
	MaxPages     = 1_000
	MaxEntries   = 10_000
	MaxListBytes = 64 << 20
	// MaxOwnListBytes bounds a caller's own list, as MaxListBytes does other lists. maxOwnBytes
	// bounds all callers' own lists that are cached for one backend.
	MaxOwnListBytes = 8 << 20
	maxOwnBytes     = 32 << 20
	// MaxTemplateVariables bounds the resource templates of one backend and their variables
	// together, and thereby the cost of matching a URI. Templates above the bound are left out.
	MaxTemplateVariables = 1_000
	// MaxWatches bounds the resource watches of one backend, each one upstream stream.
	MaxWatches = 10_000
	// MaxPrincipals bounds the catalogs kept for single principals, per backend.
	MaxPrincipals = 1_000
	// MaxProblems bounds the reports kept per list.
	MaxProblems = 20
)

// Config is one backend.
type Config struct {
	// Name identifies the backend in logs, errors and metrics. Required, unique in a pool.
	Name string
	// Revision identifies the settings among those with the same name: a backend that is given again
	// with its revision stays as it is, and one with another is replaced.
	Revision string
	// Target is any gRPC target ("dns:///tools:50051", "unix:/run/tools.sock", "localhost:50051").
	// Required.
	Target string
	// Prefix is put before the backend's tool and prompt names; empty adds none. Unless the backend
	// was discovered, names that begin with it are reserved for it.
	Prefix string
	// URIs are prefixes of URIs that are reserved for the backend, even for a discovered one. Empty
	// reserves none: the backend serves URIs that no other backend reserves.
	URIs []string
	// Credentials of the transport; nil means plaintext.
	Credentials credentials.TransportCredentials
	// Timeout of one call, and of one list with all its pages; 0 means DefaultTimeout.
	Timeout time.Duration
	// MaxConcurrent bounds the calls that Acquire admits at a time; 0 means DefaultMaxConcurrent.
	MaxConcurrent int
	// MaxMessageBytes bounds one received message; 0 means DefaultMaxMessageBytes.
	MaxMessageBytes int
	// Refresh is the interval of listing the backend without a reported change, and the time for
	// which a principal's own lists are cached; 0 means DefaultRefresh.
	Refresh time.Duration
	// StaleAfter is the time for which the last lists of an unreachable backend are served. 0 means
	// DefaultStaleAfter.
	StaleAfter time.Duration
	// OwnLists bounds the wait of a request for the caller's own lists. Reading them continues for
	// up to Timeout. 0 means DefaultOwnLists.
	OwnLists time.Duration
	// Resolver resolves targets of its scheme; nil means gRPC's own. It may be an Explainer.
	Resolver resolver.Builder
	// Resolve is the interval of DNS queries for the addresses of the target's name, if it is a
	// name; at least 1 s. 0 means DefaultResolve.
	Resolve time.Duration
	// Outliers says when an address of the target is ejected for a while; nil disables the
	// detection.
	Outliers *Outliers
	// Health is the service that is queried at the standard health service of each address; empty
	// queries the health of the whole address. HealthOff disables it. An address that has no health
	// service counts as healthy; one that does not know a service named here does not.
	Health string
	// Claims are the names, in mcp.Principal.Claims, of the callers' claims that the backend
	// receives in the contract's Principal beside subject, issuer, client, actor, scopes and roles;
	// nil means none.
	Claims []string
	// Identity proves the caller to the backend, beside the contract's Principal; nil disables it.
	Identity Identity
	// Caller are keys of metadata whose values depend on the caller; nil means none.
	Caller []CallerMetadata
	// Fixed is the metadata of everything that is sent to the target, including health checks; nil
	// means none.
	Fixed credentials.PerRPCCredentials
	// Headers are the canonical names of the headers of clients' HTTP requests that calls forward
	// as metadata; nil means none. See package dispatch.
	Headers []string
	// Extensions are ids of protocol extensions that the backend declares and that are announced to
	// clients, beside those the edge knows: they add no methods, notifications or results; nil
	// means none. See Backend.Carries.
	Extensions []string
	// FullSchemas sends the schemas of tools' arguments to clients unchanged, see
	// Backend.FullSchemas. Package check lints the schemas that clients receive.
	FullSchemas bool
	// Review returns the entries to serve of the valid entries of one list, which are tools,
	// prompts, resources or templates: some of them, or copies with other texts. An error means that
	// the list cannot be read. nil serves all.
	Review func(ctx context.Context, entries []proto.Message) ([]proto.Message, error)
	// Adapt makes the Adapter for a target that does not implement the contract; the adapter sends
	// the RPCs of calls through calls. nil means that the target implements the contract. Adapt
	// must not connect.
	Adapt func(target *grpc.ClientConn, calls grpc.ClientConnInterface) Adapter
}

// Identity proves the caller to a backend. It must be safe for concurrent use.
type Identity interface {
	// Prove returns the metadata, a key and a value, of an RPC that is made for a caller. call is
	// the id of the call to which the RPC belongs; empty for a list or a watch. It may send a
	// request to another server, and returns before ctx ends. The error is a *mcp.Error.
	Prove(ctx context.Context, who *mcp.Principal, call string) (key, value string, err error)
}

// AskedIdentity is an Identity that sends a request to another server, which may take long: Prove
// is called before the call takes one of the backend's places.
type AskedIdentity interface {
	Identity
	// Refused reports that the backend rejected the value that Prove returned for a caller
	// (UNAUTHENTICATED). ctx is that of the same request.
	Refused(ctx context.Context, who *mcp.Principal, value string)
}

// Explainer is a Resolver that knows the reason for which a target has no address. It must be safe
// for concurrent use.
type Explainer interface {
	// Unresolved returns the reason, for operators; nil if the target has an address.
	Unresolved(target string) error
}

// Tracing observes calls. It must be safe for concurrent use.
type Tracing interface {
	// Conn returns the connection through which lists and calls use c.
	Conn(c grpc.ClientConnInterface) grpc.ClientConnInterface
}

// Options are common to all backends of a pool. The zero value is usable.
type Options struct {
	// Logger logs the backends' states; nil means slog.Default().
	Logger *slog.Logger
	// Tracing makes calls part of traces; nil disables it.
	Tracing Tracing

	// tune replaces timings and bounds in tests; nil means defaultTuning.
	tune *tuning
}

// tuning holds the timings and bounds that tests replace.
type tuning struct {
	// retryMin and retryMax bound the jittered wait before a failed list, feed or watch is tried
	// again.
	retryMin, retryMax time.Duration
	// dialMin and dialMax do the same for connections.
	dialMin, dialMax time.Duration
	// connect bounds one attempt to connect.
	connect time.Duration
	// describe bounds Describe, unless the backend's timeout is shorter.
	describe time.Duration
	// settle bounds the wait of the first list for the feeds' `started`.
	settle time.Duration
	// gap is the least time between two lists that a feed triggers, gapMax the longest to which it
	// grows.
	gap, gapMax time.Duration
	// lingering is the least time for which a removed backend stays: clients that have its lists
	// may be about to call it.
	lingering time.Duration
	// watches and principals replace MaxWatches and MaxPrincipals.
	watches, principals int
}

var defaultTuning = tuning{
	retryMin: 200 * time.Millisecond, retryMax: 30 * time.Second,
	dialMin: 200 * time.Millisecond, dialMax: 5 * time.Second, connect: 5 * time.Second,
	describe: 10 * time.Second, settle: 3 * time.Second,
	gap: 100 * time.Millisecond, gapMax: 20 * time.Second, lingering: 5 * time.Second,
	watches: MaxWatches, principals: MaxPrincipals,
}

// withDefaults replaces zero values by defaults. The error names a value that is out of bounds.
func (c Config) withDefaults() (Config, error) {
	if c.Name == "" {
		return c, errors.New("a backend has no name: give every backend one")
	}
	if c.Target == "" {
		return c, fmt.Errorf("backend %q has no target: give it a gRPC target such as localhost:50051", c.Name)
	}
	var errs []error
	errs = append(errs,
		orDefault(c.Name, "timeout", &c.Timeout, DefaultTimeout),
		orDefault(c.Name, "max concurrent calls", &c.MaxConcurrent, DefaultMaxConcurrent),
		orDefault(c.Name, "max message bytes", &c.MaxMessageBytes, DefaultMaxMessageBytes),
		orDefault(c.Name, "refresh", &c.Refresh, DefaultRefresh),
		orDefault(c.Name, "resolve", &c.Resolve, DefaultResolve),
		orDefault(c.Name, "stale-after", &c.StaleAfter, DefaultStaleAfter),
		orDefault(c.Name, "own-lists", &c.OwnLists, DefaultOwnLists))
	return c, errors.Join(errs...)
}

func orDefault[T int | time.Duration](name, setting string, v *T, def T) error {
	if *v < 0 {
		return fmt.Errorf("backend %q: %s is %v: it must be positive, or 0 for %v", name, setting, *v, def)
	}
	if *v == 0 {
		*v = def
	}
	return nil
}

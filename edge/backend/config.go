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

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// What a Config's zero values stand for.
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
	// A list that crosses one of them is refused as a whole, and the list before it stays.
	MaxPages     = 1_000
	MaxEntries   = 10_000
	MaxListBytes = 64 << 20
	// MaxOwnListBytes bounds a list that a caller has for itself, as MaxListBytes does others, and maxOwnBytes those of all callers that are
	// kept of one backend.
	MaxOwnListBytes = 8 << 20
	maxOwnBytes     = 32 << 20
	// MaxTemplateVariables bounds the resource templates of one backend and their variables together, which bounds what it takes
	// to match a URI. Templates beyond it are left out.
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
	// Target is any gRPC target ("dns:///tools:50051", "unix:/run/tools.sock", "localhost:50051").
	// Required.
	Target string
	// Prefix is put before the backend's tool and prompt names; empty: none. Unless the backend was discovered, names that
	// begin with it are its own.
	Prefix string
	// URIs are prefixes of URIs that are the backend's own; empty: none are, and it has those that no other owns.
	URIs []string
	// Credentials of the transport; nil: plaintext.
	Credentials credentials.TransportCredentials
	// Timeout of one call, and of one list with all its pages; 0: DefaultTimeout.
	Timeout time.Duration
	// MaxConcurrent bounds the calls that Acquire admits at a time; 0: DefaultMaxConcurrent.
	MaxConcurrent int
	// MaxMessageBytes bounds one received message; 0: DefaultMaxMessageBytes.
	MaxMessageBytes int
	// Refresh is how often the backend is listed without being told to, and how long a principal's
	// own lists are kept; 0: DefaultRefresh.
	Refresh time.Duration
	// StaleAfter is how long the last lists of an unreachable backend are served; 0: DefaultStaleAfter.
	StaleAfter time.Duration
	// OwnLists is how long a request waits for lists that are the caller's own, which are read on for Timeout; 0: DefaultOwnLists.
	OwnLists time.Duration
	// Resolver finds the addresses of a target of its scheme; nil: gRPC's own. It may be an Explainer.
	Resolver resolver.Builder
	// Resolve is how often DNS is asked for the addresses of the target's name, if it is one, 1 s or more; 0:
	// DefaultResolve.
	Resolve time.Duration
	// Outliers says when an address of the target gets no calls for a while; nil: never.
	Outliers *Outliers
	// Health is the service that the standard health service of each address is asked about; empty: all of the address.
	// HealthOff: none is asked. An address that has no health service counts as healthy; one that does not know a service
	// that is named here does not.
	Health string
	// Claims of callers that the backend is told in the contract's Principal beside subject, issuer, client, actor, scopes and roles, by their names in
	// mcp.Principal.Claims; nil: none.
	Claims []string
	// Identity proves to the backend who is calling, beside the contract's Principal; nil: nothing does.
	Identity Identity
	// Caller are keys of metadata whose values come from the caller; nil: none.
	Caller []CallerMetadata
	// Fixed is the metadata of everything that is sent to the target, health checks too; nil: none.
	Fixed credentials.PerRPCCredentials
	// Headers of clients' HTTP requests that calls have as metadata, by their canonical names; nil: none. See package dispatch.
	Headers []string
	// Extensions are ids of protocol extensions that the backend declares and that clients are told of, beside those the edge
	// knows: they add no methods, notifications or results; nil: none. See Backend.Carries.
	Extensions []string
	// FullSchemas: clients are shown the schemas of tools' arguments as they are, see Backend.FullSchemas. Package check lints what
	// clients are shown.
	FullSchemas bool
	// Adapt makes what speaks the contract for a target that does not, and does the work of calls through calls; nil: the target
	// speaks it. It must not connect anything yet.
	Adapt func(target *grpc.ClientConn, calls grpc.ClientConnInterface) Adapter
}

// Identity proves to a backend who is calling. Safe for concurrent use.
type Identity interface {
	// Prove gives the metadata, a key and a value, of an RPC that is made for a caller. call is the id of the call that it is
	// part of; empty for a list or a watch. It may ask somebody, no longer than ctx lives. The error is a *mcp.Error.
	Prove(ctx context.Context, who *mcp.Principal, call string) (key, value string, err error)
}

// AskedIdentity is an Identity that asks somebody else, who may take long: it is asked before a call has a place of the backend's.
type AskedIdentity interface {
	Identity
	// Refused tells that the backend did not accept the value that Prove had given for a caller (UNAUTHENTICATED). ctx is of the
	// same request.
	Refused(ctx context.Context, who *mcp.Principal, value string)
}

// Explainer is a Resolver that knows why a target has no address. Safe for concurrent use.
type Explainer interface {
	// Unresolved says why, for operators; nil: it has one.
	Unresolved(target string) error
}

// Tracing watches calls. Safe for concurrent use.
type Tracing interface {
	// Conn is the connection for lists and calls that c is to be used through.
	Conn(c grpc.ClientConnInterface) grpc.ClientConnInterface
}

// Options are common to all backends of a pool. The zero value is usable.
type Options struct {
	// Logger; nil: slog.Default().
	Logger *slog.Logger
	// Tracing makes calls part of traces; nil: none is.
	Tracing Tracing

	// tune replaces timings and bounds in tests; nil: defaultTuning.
	tune *tuning
}

// tuning is what tests shorten.
type tuning struct {
	// retryMin and retryMax bound the jittered wait before a failed list, feed or watch is tried again.
	retryMin, retryMax time.Duration
	// dialMin and dialMax do the same for connections.
	dialMin, dialMax time.Duration
	// connect bounds one attempt to connect.
	connect time.Duration
	// describe bounds Describe, unless the backend's timeout is shorter.
	describe time.Duration
	// settle is how long the first list waits for the feeds' `started`.
	settle time.Duration
	// gap is the least time between two lists that a feed asked for, gapMax the longest that it grows to.
	gap, gapMax time.Duration
	// lingering is how long a backend stays that was taken out, at least: who has seen its lists before may be about to call it.
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

// withDefaults fills the zero values in, or says which value is out of bounds.
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

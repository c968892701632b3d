package hook

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/mcpedge/mcpedge/edge/policy"
)

// Point is a stage of a call at which hooks are consulted.
type Point byte

// The points.
const (
	// Request is before a request reaches its backend.
	Request Point = iota
	// Answer is before the client's answers to questions reach the backend.
	Answer
	// Result is after the backend has returned, before the result is stored or sent.
	Result
	// List is after the lists of a backend were read, before callers see them.
	List
	points
)

// String returns the point as settings and metrics name it.
func (p Point) String() string { return [...]string{"request", "answer", "result", "list"}[p] }

// PointOf returns the point with a name. It returns false if there is none.
func PointOf(name string) (Point, bool) {
	for p := range points {
		if p.String() == name {
			return p, true
		}
	}
	return 0, false
}

// Options of a Hook.
type Options struct {
	// Name identifies the hook to operators and clients.
	Name string
	// Target is the gRPC target of the server.
	Target string
	// Credentials are those of the connection. nil means plaintext.
	Credentials credentials.TransportCredentials
	// On lists the points at which the hook is consulted.
	On []Point
	// Match selects the requests about which the hook is consulted. nil selects all.
	Match *policy.TargetCondition
	// Timeout bounds an RPC, including the time to connect. 0 or less means DefaultTimeout.
	Timeout time.Duration
	// Open passes messages that the hook failed to check. If it is false, they are denied.
	Open bool
	// Concurrency bounds the RPCs without a response. Further ones fail at once, except for lists,
	// which wait. 0 or less means DefaultConcurrency.
	Concurrency int
	// Audit ignores the hook's verdicts and only records them.
	Audit bool
	// Claims are the names of the caller's claims that the hook gets.
	Claims []string
	// Tracing adds the connection's RPCs to traces. nil disables tracing.
	Tracing func(grpc.ClientConnInterface) grpc.ClientConnInterface
	// Observe records each decision, with the names of the point and the outcome and the duration of
	// the RPC, which is negative if none was made. nil records nothing.
	Observe func(ctx context.Context, hook, on, outcome string, took time.Duration)
	// Logger logs the beginning and the end of a failure. nil uses slog.Default().
	Logger *slog.Logger
	// Pause is how long the breaker stays open; 0 or less means DefaultPause.
	Pause time.Duration
}

const (
	// DefaultTimeout is the default of Options.Timeout.
	DefaultTimeout = 2 * time.Second
	// DefaultConcurrency is the default of Options.Concurrency.
	DefaultConcurrency = 64
	// DefaultPause is the default of Options.Pause.
	DefaultPause = 5 * time.Second
	// MaxReason bounds the reason of a denial, in characters.
	MaxReason = 200
	// maxFailures is the number of consecutive failures that opens the breaker.
	maxFailures = 5
	// responseMargin is the number of bytes by which a response may exceed twice the size of the checked
	// message.
	responseMargin = 64 << 10
)

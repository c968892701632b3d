package hook

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/mcpedge/mcpedge/edge/policy"
)

// Point is a place in the way of a call at which hooks are asked.
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

// PointOf returns the point of a name.
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
	// Name identifies it to operators and clients.
	Name string
	// Target is any gRPC target.
	Target string
	// Credentials of the connection; nil means plaintext.
	Credentials credentials.TransportCredentials
	// On are the points at which it is asked.
	On []Point
	// Match selects the requests about which it is asked; nil selects all.
	Match *policy.TargetCondition
	// Timeout bounds a question, including the time to connect; 0 or less means DefaultTimeout.
	Timeout time.Duration
	// Open passes what the hook fails to check. Otherwise it is denied.
	Open bool
	// Concurrency bounds the questions that wait for an answer; 0 or less means DefaultConcurrency. Further ones fail at once;
	// those about lists wait.
	Concurrency int
	// Audit asks the hook and ignores its verdicts, which are recorded only.
	Audit bool
	// Claims are the names of the claims of the caller that the hook gets.
	Claims []string
	// Tracing adds the connection to traces; nil disables tracing.
	Tracing func(grpc.ClientConnInterface) grpc.ClientConnInterface
	// Observe records each decision, with the names of the point and the outcome, and how long the hook took, or a negative duration if
	// it was not asked. nil records nothing.
	Observe func(ctx context.Context, hook, on, outcome string, took time.Duration)
	// Logger logs when the server begins to fail, and when it recovers; nil uses slog.Default().
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
	// spare is how much larger than twice the checked message a response may be, in bytes.
	spare = 64 << 10
)

package stateful

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/era/stateful/run"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Options are the settings of an Era. Zero members mean the defaults.
type Options struct {
	// StreamAfter is how long a call may run before its exchange becomes a stream; 0: 1 s.
	StreamAfter time.Duration
	// KeepAlive is the pause after which an idle stream is kept alive; 0: 15 s.
	KeepAlive time.Duration
	// SessionStale is how long a held copy of a session serves while the state cannot be reached;
	// 0: 30 s.
	SessionStale time.Duration
	// MaxRounds bounds the rounds of one call that ask the client; 0: mcp.DefaultRounds.
	MaxRounds int
	// CallLifetime bounds a call's whole life, the time its user takes to answer included; 0: mcp.DefaultCallLifetime.
	CallLifetime time.Duration
	// RetryHint is what clients are told to wait before they come back to a stream that was closed
	// early; 0: 1 s.
	RetryHint time.Duration
	// MaxCallsPerSession bounds the calls of one session that run at the same time on this replica;
	// 0: 256.
	MaxCallsPerSession int
	// Heartbeat is the pause between two signs of life, two revalidations of sessions in use, and two
	// sweeps for lost calls. Keep it below a third of state.Limits.Lease; 0: 1 s.
	Heartbeat time.Duration
	// SessionTTL is that of state.Limits: held sessions are revalidated at least twice in it; 0: 1 h.
	SessionTTL time.Duration
	// MaxSessionsPerAddress bounds the sessions that anonymous callers of one address begin at once; they are regained
	// over SessionTTL; 0: 50,000.
	MaxSessionsPerAddress int
	// MaxAttempts is how many replicas may be lost, without having left, while they run one round of a call. Until
	// then it is run again, if it may be; 0: mcp.DefaultAttempts.
	MaxAttempts int
	// MaxTakeovers bounds the lost calls that are taken over at the same time; 0: mcp.DefaultTakeovers.
	MaxTakeovers int
	// Memory is charged with what calls hold that outlive their exchange; nil: nothing is counted.
	Memory *budget.Budget
	// ChargeCopies charges the copies of sessions that are held here as well: the store keeps them elsewhere.
	ChargeCopies bool
	// Challenges says whether requests may be answered by asking for other credentials; nil: they may not.
	Challenges func() bool
	// Telemetry observes what goes on; nil: nothing does.
	Telemetry *telemetry.Telemetry
	// Logger for what no client is told; nil: slog.Default.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	orDefault(&o.StreamAfter, time.Second)
	orDefault(&o.KeepAlive, 15*time.Second)
	orDefault(&o.SessionStale, 30*time.Second)
	orDefault(&o.MaxRounds, mcp.DefaultRounds)
	orDefault(&o.CallLifetime, mcp.DefaultCallLifetime)
	orDefault(&o.RetryHint, time.Second)
	orDefault(&o.MaxCallsPerSession, 256)
	orDefault(&o.Heartbeat, time.Second)
	orDefault(&o.SessionTTL, time.Hour)
	orDefault(&o.MaxSessionsPerAddress, 50_000)
	orDefault(&o.MaxAttempts, mcp.DefaultAttempts)
	orDefault(&o.MaxTakeovers, mcp.DefaultTakeovers)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func orDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

const (
	// stateTimeout bounds one operation on the store.
	stateTimeout = 2 * time.Second
	// holdFor is how long an unused copy of a session is kept.
	holdFor = time.Minute
	// minRetry is the least pause before a round that a backend asked to be repeated.
	minRetry = 100 * time.Millisecond
	// watchTimeout bounds how long a backend may take to begin or refuse a watch.
	watchTimeout = 10 * time.Second
	// maxSessionID bounds a session id that is looked up.
	maxSessionID = 128
)

// Counters count, since the Era was made, what somebody who operates it wants to know. Read them at
// any time.
type Counters struct {
	run.Counters
	// SessionsCreated and SessionsEnded (by DELETE) on this replica.
	SessionsCreated, SessionsEnded atomic.Int64
	// Calls that were begun.
	Calls atomic.Int64
	// AnswersUnknown and AnswersDuplicate were accepted and ignored.
	AnswersUnknown, AnswersDuplicate atomic.Int64
	// StreamsResumed: streams that a client came back to.
	StreamsResumed atomic.Int64
	// Standalone are the streams open now that are no call's.
	Standalone atomic.Int64
	// Expired: standalone streams that ended with their caller's credentials.
	Expired atomic.Int64
}

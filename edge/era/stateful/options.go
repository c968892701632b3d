package stateful

import (
	"cmp"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Options configure an Era. The zero value of a field selects its default.
type Options struct {
	// StreamAfter is the time for which a call runs before its exchange becomes a stream. 0 means 1
	// s.
	StreamAfter time.Duration
	// KeepAlive is the pause after which an idle stream is kept alive. 0 means 15 s.
	KeepAlive time.Duration
	// SessionStale is the time for which a held copy of a session is used while the store is
	// unavailable. 0 means 30 s.
	SessionStale time.Duration
	// MaxRounds bounds the rounds of one call that ask the client. 0 means mcp.DefaultRounds.
	MaxRounds int
	// CallLifetime bounds the whole life of a call, including the time its user takes to answer. 0
	// means mcp.DefaultCallLifetime.
	CallLifetime time.Duration
	// MaxCallsPerSession bounds the calls of one session that run concurrently on this replica. 0
	// means 256.
	MaxCallsPerSession int
	// Heartbeat is the interval of heartbeats, of the revalidation of sessions in use, and of the
	// search for lost calls. Keep it below a third of state.Limits.Lease. 0 means 1 s.
	Heartbeat time.Duration
	// SessionTTL is that of state.Limits. Held sessions are revalidated at least twice in it. 0
	// means 1 h.
	SessionTTL time.Duration
	// MaxSessionsPerAddress bounds the sessions that anonymous callers of one address begin at
	// once. It refills over SessionTTL. 0 means 50,000.
	MaxSessionsPerAddress int
	// MaxAttempts bounds the replicas that are lost, without a drain, while they run one round of a
	// call. Until then a repeatable round runs again. 0 means mcp.DefaultAttempts.
	MaxAttempts int
	// MaxTakeovers bounds the concurrent takeovers of lost calls. 0 means mcp.DefaultTakeovers.
	MaxTakeovers int
	// Optional means that a session gets its record at the first use of its id, if its client sends
	// the id with each message. If it is false, initialize creates the record.
	Optional bool
	// Ended records ended sessions as long as their ids could create them, for Optional. nil keeps
	// them in memory.
	Ended Ended
	// Memory is charged for the memory of calls beyond that of their exchange. nil disables the
	// charge.
	Memory *budget.Budget
	// ChargeCopies also charges the copies of sessions held here. It is set if the store keeps the
	// originals elsewhere.
	ChargeCopies bool
	// Challenges reports whether requests may be answered with a challenge for other credentials.
	// nil means that they may not.
	Challenges func() bool
	// Telemetry observes the Era. nil disables it.
	Telemetry *telemetry.Telemetry
	// Logger logs events that clients are not sent. nil uses slog.Default.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.KeepAlive = cmp.Or(o.KeepAlive, 15*time.Second)
	o.SessionStale = cmp.Or(o.SessionStale, 30*time.Second)
	o.CallLifetime = cmp.Or(o.CallLifetime, mcp.DefaultCallLifetime)
	o.MaxCallsPerSession = cmp.Or(o.MaxCallsPerSession, 256)
	o.Heartbeat = cmp.Or(o.Heartbeat, time.Second)
	o.SessionTTL = cmp.Or(o.SessionTTL, time.Hour)
	o.MaxSessionsPerAddress = cmp.Or(o.MaxSessionsPerAddress, 50_000)
	o.MaxAttempts = cmp.Or(o.MaxAttempts, mcp.DefaultAttempts)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Ended == nil && o.Optional {
		o.Ended = once.NewMemory(maxEnded)
	}
	return o
}

const (
	// retryHint is the delay after which clients should resume a stream that was closed early.
	retryHint = time.Second
	// holdFor is the time for which an unused copy of a session is kept.
	holdFor = time.Minute
	// watchTimeout bounds the time in which a backend must begin or refuse a watch.
	watchTimeout = 10 * time.Second
	// maxSessionID bounds the length of the session ids that are looked up.
	maxSessionID = 128
)

// Counters count events since the Era was made, for operators. They may be read at any time.
type Counters struct {
	runtime.Counters
	// SessionsCreated and SessionsEnded (by DELETE) count those on this replica.
	SessionsCreated, SessionsEnded atomic.Int64
	// Calls counts the started calls.
	Calls atomic.Int64
	// AnswersUnknown and AnswersDuplicate count answers that were accepted and ignored.
	AnswersUnknown, AnswersDuplicate atomic.Int64
	// StreamsResumed counts the streams that clients resumed.
	StreamsResumed atomic.Int64
	// Standalone is the number of open standalone streams.
	Standalone atomic.Int64
	// Expired counts the standalone streams that ended because their caller's credentials expired.
	Expired atomic.Int64
}

package runtime

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	crand "crypto/rand"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Options configure a Replica.
type Options struct {
	// Call configures the machines. It must not be nil.
	Call *call.Config
	// Resume makes the Runner of a claimed call. After an error the call is left to the sweepers.
	// It must not be nil.
	Resume func(o *medium.Owned, why Reason) (*Claimed, error)
	// Begin stores a write that begins the records of a Runner's exchange, or of its call; it may
	// be called again with the same write, but not after Done. If all its calls fail, they may have
	// stored the record nevertheless: the Runner erases it when it is done. nil commits the write,
	// and the Replica ends such records.
	Begin func(ctx context.Context, c Runner, w *medium.Write) error
	// IdleBetweenRounds is true if a call with a record does not keep InFlight.WaitBusy waiting between its
	// rounds, because another replica continues it, once the store has acknowledged the end of the last
	// one (call.Call.Unsettled). Its Runner decides that for its rounds.
	IdleBetweenRounds bool
	// Number returns a copy of a reply whose questions have new ids. It must not be nil if calls
	// ask.
	Number func(asks *call.Reply) *call.Reply
	// Event and Returning are the hooks of the store, which are called once New has returned. Event
	// must not be nil if the store has events. Returning, which may be nil, is called before the
	// Replica's own work.
	Event     func(state.SessionEvent)
	Returning func()
	// Counters to use. nil uses new ones.
	Counters *Counters
	// Work counts running work. nil uses a new InFlight. Callers of the Replica's methods must have
	// entered it, except for Start, Close and methods that only read.
	Work *InFlight
	// StreamAfter is the time for which an exchange waits for its body before it becomes a stream. 0
	// means 1 s.
	StreamAfter time.Duration
	// MaxRounds bounds the rounds in which a call may ask its client. 0 means mcp.DefaultRounds.
	MaxRounds int
	// Lifetime bounds a call whose record has no deadline. 0 means mcp.DefaultCallLifetime.
	Lifetime time.Duration
	// Heartbeat is the interval of heartbeats and of the search for lost calls. 0 means 1 s.
	Heartbeat time.Duration
	// KeepAlive is the time for which a stream may be idle before a keep-alive is written. 0 means
	// 15 s.
	KeepAlive time.Duration
	// RetryHint is the delay after which a client should resume a stream. 0 sends no hint.
	RetryHint time.Duration
	// Takeovers bounds the concurrent takeovers of lost calls. 0 means mcp.DefaultTakeovers.
	Takeovers int
	// Telemetry counts the reached bounds. nil disables it.
	Telemetry *telemetry.Telemetry
	// Log is the logger. nil uses slog.Default.
	Log *slog.Logger
	// Store names the store in log lines about its failures, as there may be several. Empty omits
	// it.
	Store string
	// Now is the clock. It must advance with the process's timers. nil uses time.Now.
	Now func() time.Time
	// Random draws the random bits of epochs, which need not be secret. nil uses math/rand/v2.
	Random func() uint32
	// About returns the log attributes, keys and values in turn, that identify a call. nil uses its
	// id as "call".
	About func(*medium.Record) []any
	// Name draws the name of a stream: random, at least 80 bits, without a dot. nil uses
	// crypto/rand.
	Name func() string
}

func (o Options) withDefaults() Options {
	o.StreamAfter, o.KeepAlive = cmp.Or(o.StreamAfter, time.Second), cmp.Or(o.KeepAlive, 15*time.Second)
	o.Lifetime, o.Heartbeat = cmp.Or(o.Lifetime, mcp.DefaultCallLifetime), cmp.Or(o.Heartbeat, time.Second)
	o.MaxRounds, o.Takeovers = cmp.Or(o.MaxRounds, mcp.DefaultRounds), cmp.Or(o.Takeovers, mcp.DefaultTakeovers)
	o.Counters, o.Work, o.Log = cmp.Or(o.Counters, new(Counters)), cmp.Or(o.Work, new(InFlight)), cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Uint32
	}
	if o.Name == nil {
		o.Name = func() string { return crand.Text()[:16] }
	}
	if o.About == nil {
		o.About = func(r *medium.Record) []any { return []any{"call", r.ID} }
	}
	return o
}

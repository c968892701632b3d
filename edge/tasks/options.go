package tasks

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Options are the settings of Tasks. Zero members mean the defaults.
type Options struct {
	// Grace is how long a call runs that may become a task until it does; 0: 2 s.
	Grace time.Duration
	// Lifetime ends the work of a task, the time its user takes to answer included; 0: mcp.DefaultTaskLifetime.
	Lifetime time.Duration
	// TTL is how long a task can be read after it has ended, as the medium keeps it; 0: 1 h.
	TTL time.Duration
	// Poll is how often clients should ask for a new task, where its tool does not say; 0: 1 s. They are told to ask less often as it
	// gets older, down to every 5 Poll.
	Poll time.Duration
	// Polls bounds how often in a second a caller may ask this replica for one task, and list its tasks: so often in the long run, and
	// twice as often at once; 0: 10.
	Polls int
	// PageSize bounds a page of tasks/list, as does maxPage; 0: that alone.
	PageSize int
	// MaxRunning bounds the tasks that began at once and run on this replica, MaxRunningPerPrincipal those of one principal; more wait their
	// turn, in turns among principals. 0: 1,024 and 100. Tasks that are gone on with, after an answer or a takeover, do not wait.
	MaxRunning, MaxRunningPerPrincipal int
	// MaxRounds, MaxAttempts, MaxTakeovers, Heartbeat: as in package stateful.
	MaxRounds, MaxAttempts, MaxTakeovers int
	Heartbeat                            time.Duration
	// Replica is this one's name, which the logs of the tasks say that it runs; empty: it has none.
	Replica string
	// Recent is how many of the tasks that this replica makes, runs or is asked about are remembered for Tasks.Recent; 0: none.
	Recent int
	// Memory is charged with what tasks hold that run here; nil: nothing is counted.
	Memory *budget.Budget
	// Challenges says whether tasks/result may be answered by asking for other credentials; nil: it may not.
	Challenges func() bool
	// Telemetry observes what goes on; nil: nothing does.
	Telemetry *telemetry.Telemetry
	// Logger for what no client is told; nil: slog.Default.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Grace, o.Lifetime, o.TTL = cmp.Or(o.Grace, 2*time.Second), cmp.Or(o.Lifetime, mcp.DefaultTaskLifetime), cmp.Or(o.TTL, time.Hour)
	o.Poll, o.Heartbeat = cmp.Or(o.Poll, time.Second), cmp.Or(o.Heartbeat, time.Second)
	o.Polls = cmp.Or(o.Polls, 10)
	o.PageSize = min(cmp.Or(o.PageSize, maxPage), maxPage)
	o.MaxRunning, o.MaxRunningPerPrincipal = cmp.Or(o.MaxRunning, 1024), cmp.Or(o.MaxRunningPerPrincipal, 100)
	o.MaxRounds, o.MaxAttempts = cmp.Or(o.MaxRounds, mcp.DefaultRounds), cmp.Or(o.MaxAttempts, mcp.DefaultAttempts)
	o.MaxTakeovers = cmp.Or(o.MaxTakeovers, mcp.DefaultTakeovers)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}

const (
	// storeTimeout bounds one operation on the store.
	storeTimeout = 2 * time.Second
	// minRetry is the least pause before a round that a backend asked to be repeated.
	minRetry = 100 * time.Millisecond
	// slowest is how many times Poll the interval grows to.
	slowest = 5
	// maxAway is how often in a row a backend may be away in a round that it said may be run again; the pauses between double from 2 awayPause
	// to longestAway.
	maxAway, awayPause, longestAway = 10, 250 * time.Millisecond, 30 * time.Second
	// maxID bounds the ids that are looked up.
	maxID = 64
	// maxTTL bounds how long a client may have a task kept from its creation on.
	maxTTL = 7 * 24 * time.Hour
	// stream is the name of a task's stream in its session, requestID the id that its call is claimed by.
	stream, requestID = "t", "0"
	// copies of larger params are made: the record's, the log's, the call's own, and the backend's message; smallParams are part of what the request
	// is charged with.
	copies, smallParams = 4, 8 << 10
)

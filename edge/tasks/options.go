package tasks

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Options are the settings of Tasks. Zero values select the defaults.
type Options struct {
	// Grace is the time for which a call runs before it becomes a task. 0 means 2 s.
	Grace time.Duration
	// Lifetime bounds the work of a task, including the time its user takes to answer; 0 means
	// mcp.DefaultTaskLifetime.
	Lifetime time.Duration
	// TTL is the time for which a task can be read after its end, as the medium keeps it. 0 means 1
	// h.
	TTL time.Duration
	// Poll is the poll interval for clients of a new task, unless its tool sets one; 0 means 1 s.
	// The interval grows with the task's age, up to 5 Poll.
	Poll time.Duration
	// Polls bounds the polls of one task, and the lists, per second and caller on this replica: the
	// long-term rate, with bursts of twice that; 0 means 10.
	Polls int
	// PageSize bounds a page of tasks/list, as does maxPage; 0 means maxPage alone.
	PageSize int
	// MaxRunning bounds the tasks that began at once and run on this replica,
	// MaxRunningPerPrincipal those of one principal. Other tasks are queued, and principals are
	// served in turns. 0 means 1,024 and 100. Tasks that continue after an answer or a takeover are
	// not queued.
	MaxRunning, MaxRunningPerPrincipal int
	// MaxRounds, MaxAttempts, Heartbeat: as in package stateful.
	MaxRounds, MaxAttempts int
	Heartbeat              time.Duration
	// Replica is the name of this replica in the logs of the tasks that it runs; may be empty.
	Replica string
	// Recent is the number of tasks that Tasks.Recent keeps, among those that this replica creates,
	// runs or gets requests for. 0 disables it.
	Recent int
	// ServerInfo returns the description of the edge in a set, for results in revisions without
	// sessions. nil returns an empty object.
	ServerInfo func(rules *revision.Rules, set string) json.RawMessage
	// Memory is charged with the memory of the tasks that run here; nil disables the charge.
	Memory *budget.Budget
	// Challenges reports whether tasks/result may be answered with a challenge for other
	// credentials; nil means that it may not.
	Challenges func() bool
	// Approvable returns the digests of the approvals, among those that a call waits for, that a
	// principal may give. The error, a *mcp.Error, is the reason for which it may give none. nil
	// permits no approvals.
	Approvable func(who *mcp.Principal, a *mcp.Approval) ([][]byte, error)
	// Telemetry observes the tasks; nil disables it.
	Telemetry *telemetry.Telemetry
	// Logger logs errors that clients do not get. nil means slog.Default.
	Logger *slog.Logger
	// Random draws the random bits of epochs, which need not be secret. nil uses math/rand/v2.
	Random func() uint32
	// Text draws the random part of a task's id, of the key of a question for an approval, and the
	// token of an answer: at least 128 bits, as letters and digits. nil uses crypto/rand.
	Text func() string
}

func (o Options) withDefaults() Options {
	o.Grace, o.Lifetime, o.TTL = cmp.Or(o.Grace, 2*time.Second), cmp.Or(o.Lifetime, mcp.DefaultTaskLifetime), cmp.Or(o.TTL, time.Hour)
	o.Poll, o.Polls = cmp.Or(o.Poll, time.Second), cmp.Or(o.Polls, 10)
	o.PageSize = min(cmp.Or(o.PageSize, maxPage), maxPage)
	o.MaxRunning, o.MaxRunningPerPrincipal = cmp.Or(o.MaxRunning, 1024), cmp.Or(o.MaxRunningPerPrincipal, 100)
	o.MaxAttempts = cmp.Or(o.MaxAttempts, mcp.DefaultAttempts)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Text == nil {
		o.Text = rand.Text
	}
	if o.ServerInfo == nil {
		o.ServerInfo = func(*revision.Rules, string) json.RawMessage { return json.RawMessage("{}") }
	}
	return o
}

const (
	// maxPollFactor bounds the poll interval, as a multiple of Poll.
	maxPollFactor = 5
	// maxAway bounds the consecutive times that a backend may be unavailable in a round that it
	// marked as repeatable. The pauses in between double from 2 awayPause to longestAway.
	maxAway, awayPause, longestAway = 10, 250 * time.Millisecond, 30 * time.Second
	// maxID bounds the length of the ids that are looked up.
	maxID = 64
	// maxTTL bounds the lifetime, from its creation, that a client may request for a task.
	maxTTL = 7 * 24 * time.Hour
	// stream is the name of a task's stream in its session; requestID is the id by which its call
	// is claimed.
	stream, requestID = "t", "0"
	// copies is the number of copies of larger params: in the record, the log, the call and the
	// backend's message.
	copies = 4
)

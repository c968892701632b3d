package config

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Advanced has bounds that large deployments and tests change.
type Advanced struct {
	ArgumentValues      int `yaml:"argument-values" usage:"most values in the arguments of one call: objects, arrays and their contents"`
	CallsPerSession     int `yaml:"calls-per-session" usage:"most calls of one session at a time"`
	ListensPerPrincipal int `yaml:"listens-per-principal" usage:"most open subscriptions/listen of one principal"`
	// NameBytes bounds the names of one backend that are kept while it is unreachable.
	NameBytes                Bytes `yaml:"name-bytes" usage:"most bytes of the names remembered of one backend, which stay reserved for it while it is unreachable"`
	PageBytes                Bytes `yaml:"page-bytes" usage:"most bytes of the entries on one page of a list; a larger entry has a page to itself"`
	RunningTasksPerPrincipal int   `yaml:"running-tasks-per-principal" usage:"most tasks of one principal that run on one replica; more wait for their turn"`
	// SessionsPerAddress bounds the sessions that anonymous callers of one address begin at once;
	// the budget refills over Sessions.TTL. 0: half of Clients.Sessions, at least 100, since the
	// end of a session returns nothing to the budget.
	SessionsPerAddress int           `yaml:"sessions-per-address" usage:"most sessions that anonymous callers of one address begin at once, regained over sessions.ttl; 0: half of clients.sessions, 100 at least"`
	StartWait          time.Duration `yaml:"start-wait" usage:"longest time that a backend's first lists delay the start; later ones follow as changes"`
	StreamBytes        Bytes         `yaml:"stream-bytes" usage:"most bytes in one stream's log"`
	TaskPolls          int           `yaml:"task-polls" usage:"how often in a second a caller may poll one task on one replica; twice as often at once"`
}

func defaultAdvanced() Advanced {
	return Advanced{
		ArgumentValues: 50_000, CallsPerSession: 256, ListensPerPrincipal: 20_000, NameBytes: 1 << 20, PageBytes: 1 << 20,
		RunningTasksPerPrincipal: 100, StartWait: 2 * time.Second, StreamBytes: 4 << 20, TaskPolls: 10,
	}
}

// Bounds that are not settings: normal use is far below them.
const (
	// Batch is the largest number of messages in a batch.
	Batch = 64
	// Headers is the largest size of a request header.
	Headers Bytes = 64 << 10
	// HTTP2Streams is the largest number of concurrent streams of an HTTP/2 connection.
	HTTP2Streams = 1000
	// ListenBytes bounds the URIs of a principal's open subscriptions/listen.
	ListenBytes Bytes = 64 << 20
	// StreamsPerSession is the largest number of unfinished streams of a session.
	StreamsPerSession = 256
	// StreamEvents is the largest number of events in the log of a stream.
	StreamEvents = 1024
	// Attempts is the number of replica failures after which a repeatable call is not run again, but
	// fails.
	Attempts = mcp.DefaultAttempts
	// SessionStale is the time for which a session is served while the state cannot be reached.
	SessionStale = 30 * time.Second
	// TaskPoll is the interval at which clients should poll a task. It grows with the task's age, up to
	// five times.
	TaskPoll = time.Second
)

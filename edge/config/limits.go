package config

import (
	"math"
	"time"
)

// Limits bound resources. Exceeding one gives the client a clear error.
type Limits struct {
	Body                 Bytes         `yaml:"body"`
	Batch                int           `yaml:"batch"`
	Headers              Bytes         `yaml:"headers"`
	ReadTimeout          time.Duration `yaml:"read-timeout"`
	WriteTimeout         time.Duration `yaml:"write-timeout"`
	KeepAlive            time.Duration `yaml:"keep-alive"`
	StreamAfter          time.Duration `yaml:"stream-after"`
	SessionTTL           time.Duration `yaml:"session-ttl"`
	SessionStale         time.Duration `yaml:"session-stale"`
	SessionsPerPrincipal int           `yaml:"sessions-per-principal"`
	StreamsPerSession    int           `yaml:"streams-per-session"`
	CallsPerSession      int           `yaml:"calls-per-session"`
	SessionBytes         Bytes         `yaml:"session-bytes"`
	PrincipalBytes       Bytes         `yaml:"principal-bytes"`
	ListensPerPrincipal  int           `yaml:"listens-per-principal"`
	ListenBytes          Bytes         `yaml:"listen-bytes"`
	Subscriptions        int           `yaml:"subscriptions"`
	LogTTL               time.Duration `yaml:"log-ttl"`
	LogEvents            int           `yaml:"log-events"`
	LogBytes             Bytes         `yaml:"log-bytes"`
	ResultBytes          Bytes         `yaml:"result-bytes"`
	Rounds               int           `yaml:"rounds"`
	CallLifetime         time.Duration `yaml:"call-lifetime"`
	Attempts             int           `yaml:"attempts"`
	TaskGrace            time.Duration `yaml:"task-grace"`
	TaskTTL              time.Duration `yaml:"task-ttl"`
	TaskLifetime         time.Duration `yaml:"task-lifetime"`
	TaskPoll             time.Duration `yaml:"task-poll"`
	TaskPolls            int           `yaml:"task-polls"`
	TasksPerPrincipal    int           `yaml:"tasks-per-principal"`
	// TaskReplicas is how many Redis replicas must have a task before the client receives its id, and
	// a confirmation or approval that is used before its call runs; 0: none.
	TaskReplicas int `yaml:"task-replicas"`
	// RunningTasks and RunningTasksPerPrincipal bound the tasks that run on one replica.
	RunningTasks             int   `yaml:"running-tasks"`
	RunningTasksPerPrincipal int   `yaml:"running-tasks-per-principal"`
	PageSize                 int   `yaml:"page-size"`
	PageBytes                Bytes `yaml:"page-bytes"`
	ArgumentValues           int   `yaml:"argument-values"`
	// NameBytes bounds the names of one backend that are kept while it is unreachable.
	NameBytes    Bytes         `yaml:"name-bytes"`
	Lease        time.Duration `yaml:"lease"`
	HTTP2Streams int           `yaml:"http2-streams"`
	// ConnectionAge is the age from which on a connection is closed after its next response; 0
	// means no limit.
	ConnectionAge time.Duration `yaml:"connection-age"`
	// Connections bounds those of Listen; 0: 0.8 of the file descriptors of the process.
	Connections int `yaml:"connections"`
	// ConnectionsPerAddress bounds those of one address; 0: half of Connections.
	ConnectionsPerAddress int `yaml:"connections-per-address"`
	// SessionsPerAddress bounds the sessions that anonymous callers of one address begin at once;
	// the budget refills over SessionTTL. 0: half of SessionsPerPrincipal, at least 100, since the
	// end of a session returns nothing to the budget.
	SessionsPerAddress int           `yaml:"sessions-per-address"`
	StartWait          time.Duration `yaml:"start-wait"`
}

// maxTaskTTL bounds how long finished tasks are kept.
const maxTaskTTL = 7 * 24 * time.Hour

// minLease allows for three renewals within a lease.
const minLease = 500 * time.Millisecond

const (
	// leastMemory is the need of an edge with a few backends: itself, and as much again for callers
	// and garbage.
	leastMemory = 64 << 20
	// bodiesInMemory is the least ratio of memory to the largest body. Half of the memory is for
	// callers, and a call with a body of that size needs four times its size: a larger buffer to
	// read it and two copies of its params.
	bodiesInMemory = 8
)

// LeastMemory returns the least Memory that suffices for these limits.
func (c *Config) LeastMemory() Bytes {
	return max(leastMemory, bodiesInMemory*min(c.Limits.Body, math.MaxInt64/bodiesInMemory))
}

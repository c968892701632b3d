package config

import (
	"math"
	"time"
)

// Limits are the bounds. Crossing one gives the client a clear error.
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
	// TaskReplicas is how many replicas of Redis have to have a task before its client is told of it; 0: none.
	TaskReplicas int `yaml:"task-replicas"`
	// RunningTasks and RunningTasksPerPrincipal bound those that run on one replica.
	RunningTasks             int   `yaml:"running-tasks"`
	RunningTasksPerPrincipal int   `yaml:"running-tasks-per-principal"`
	PageSize                 int   `yaml:"page-size"`
	PageBytes                Bytes `yaml:"page-bytes"`
	ArgumentValues           int   `yaml:"argument-values"`
	// NameBytes bounds what is remembered of the names of one backend, for while it is away.
	NameBytes    Bytes         `yaml:"name-bytes"`
	Lease        time.Duration `yaml:"lease"`
	HTTP2Streams int           `yaml:"http2-streams"`
	// ConnectionAge is how old a connection may be when it gets an answer, an older one is closed with it; 0: any.
	ConnectionAge time.Duration `yaml:"connection-age"`
	// Connections to Listen; 0: 0.8 of the files that the process may have open.
	Connections int `yaml:"connections"`
	// ConnectionsPerAddress bounds those of one address; 0: half of Connections.
	ConnectionsPerAddress int `yaml:"connections-per-address"`
	// SessionsPerAddress bounds those that anonymous callers of one address begin at once; they are regained over
	// SessionTTL. 0: half of SessionsPerPrincipal, 100 at least, since a session that has ended does not count as one less.
	SessionsPerAddress int           `yaml:"sessions-per-address"`
	StartWait          time.Duration `yaml:"start-wait"`
}

// maxTaskTTL bounds how long tasks are kept that have ended.
const maxTaskTTL = 7 * 24 * time.Hour

// minLease leaves room for three signs of life within a lease.
const minLease = 500 * time.Millisecond

const (
	// leastMemory is what an edge of a few backends takes for itself, and as much for callers and garbage.
	leastMemory = 64 << 20
	// bodiesInMemory is how many times the largest body the memory must have: half of it is for callers, and a call
	// with such a body takes four, with a larger buffer to read it into and two copies of its params.
	bodiesInMemory = 8
)

// LeastMemory is the least Memory with which an edge with these limits serves its clients.
func (c *Config) LeastMemory() Bytes {
	return max(leastMemory, bodiesInMemory*min(c.Limits.Body, math.MaxInt64/bodiesInMemory))
}

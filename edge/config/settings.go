package config

import (
	"flag"
	"time"
)

// setting is one scalar setting: its flag, the variable that it sets, and its description.
type setting struct {
	name  string
	value any // *string, *bool, *int, *Bytes, *time.Duration
	usage string
}

func (s setting) register(fs *flag.FlagSet) {
	switch v := s.value.(type) {
	case *string:
		fs.StringVar(v, s.name, *v, s.usage)
	case *bool:
		fs.BoolVar(v, s.name, *v, s.usage)
	case *int:
		fs.IntVar(v, s.name, *v, s.usage)
	case *time.Duration:
		fs.Var(duration{v}, s.name, s.usage)
	case *Bytes:
		fs.Var(v, s.name, s.usage)
	}
}

func (c *Config) admin() setting {
	return setting{"admin", &c.Admin, "address of /healthz, /readyz, /metrics and the REST API"}
}

// listeners returns the settings of listeners and their protection.
func (c *Config) listeners() []setting {
	return append([]setting{
		{"listen", &c.Listen, "address of the MCP endpoint, served at /mcp"},
		c.admin(),
		{"public-url", &c.PublicURL, "URL of the edge as clients see it, such as https://mcp.example.com; its host is accepted in Host; needed with auth beyond loopback"},
		{"allow-anonymous", &c.AllowAnonymous, "listen beyond loopback without authentication"},
		{"allow-remote-admin", &c.AllowRemoteAdmin, "serve the admin address beyond loopback without authentication"},
		{"sessions", &c.Sessions, "required, or optional: a request of a revision with sessions that names none is served by itself, see clients.md"},
		{"sse", &c.SSE, "serve HTTP+SSE, the oldest revision's transport, at /sse and /message"},
		{"dev", &c.Dev, "show the last calls, with arguments and results, on the admin address at /dev; always on in the demo"},
		{"pprof", &c.Pprof, "serve the Go runtime's profiles on the admin address, at /debug/pprof/"},
	}, c.tls()...)
}

// tls are the settings of the listeners' TLS.
func (c *Config) tls() []setting {
	return append(c.TLS.settings("tls", "MCP"), c.AdminTLS.settings("admin-tls", "admin")...)
}

func (c *Config) settings() []setting {
	return append([]setting{
		{"demo", &c.Demo, "serve the bundled demo services, beside backends if there are any"},
		{"server-name", &c.Server.Name, "the name clients see"},
		{"server-title", &c.Server.Title, "the title clients see"},
		{"schemas", &c.Schemas, "form of the arguments' schemas in tools/list: full, as backends write them, portable, which all clients and model interfaces take, or auto: full, but portable for kind: reflect"},
		{"redis", &c.Redis, "URL of the Redis that replicas share their state in; none: in memory, for one replica"},
		{"redis-prefix", &c.RedisPrefix, "begins every key in Redis; replicas with the same one belong together"},
		{"replica", &c.Replica, "name of this replica in logs, in Redis and, for {replica}, in audit.file; none: the host's"},
		{"identity-key", &c.IdentityKey, "PEM file with the private key that signs who is calling, for backends with identity: signed; replicas share it"},
		{"log-level", &c.Log.Level, "debug, info, warn or error"},
		{"log-format", &c.Log.Format, "text or json"},
		{"trace-content", &c.TraceContent, "put arguments and results of tool calls into spans, though they may be sensitive"},
		{"memory", &c.Memory, "memory that the process may take, half of it held by callers; 0: GOMEMLIMIT, else 0.8 of the container's limit, else half of the machine's"},
		{"drain-delay", &c.DrainDelay, "after SIGTERM, keep serving unready for so long; 0: not at all"},
		{"grace", &c.Grace, "then wait so long for what runs; 0: not at all"},
	}, c.Limits.settings()...)
}

func (l *Limits) settings() []setting {
	return []setting{
		{"body", &l.Body, "largest request body"},
		{"batch", &l.Batch, "most messages in one batch"},
		{"headers", &l.Headers, "largest request header"},
		{"read-timeout", &l.ReadTimeout, "longest reading of a request, from its first byte to its last"},
		{"write-timeout", &l.WriteTimeout, "longest write to a client before it is disconnected"},
		{"keep-alive", &l.KeepAlive, "longest silence of an open stream"},
		{"stream-after", &l.StreamAfter, "a call that runs longer gets a stream, in every revision"},
		{"session-ttl", &l.SessionTTL, "an unused session lives so long"},
		{"session-stale", &l.SessionStale, "a session is served so long while the state is down"},
		{"sessions-per-principal", &l.SessionsPerPrincipal, "most sessions of one principal, or of all anonymous callers"},
		{"sessions-per-address", &l.SessionsPerAddress, "most sessions that anonymous callers of one address begin at once, regained over session-ttl; 0: half of sessions-per-principal, 100 at least"},
		{"streams-per-session", &l.StreamsPerSession, "most unfinished streams of one session"},
		{"calls-per-session", &l.CallsPerSession, "most calls of one session at a time"},
		{"session-bytes", &l.SessionBytes, "most bytes of one session: client info, subscriptions, calls and stream logs"},
		{"principal-bytes", &l.PrincipalBytes, "most bytes of a principal's sessions and tasks together, or of those of the anonymous callers of one address"},
		{"listen-bytes", &l.ListenBytes, "most bytes of the URIs of one principal's open subscriptions/listen"},
		{"listens-per-principal", &l.ListensPerPrincipal, "most open subscriptions/listen of one principal"},
		{"subscriptions", &l.Subscriptions, "most resources one session or listen subscribes to"},
		{"log-ttl", &l.LogTTL, "a finished stream can be replayed for so long"},
		{"log-events", &l.LogEvents, "most events in one stream's log"},
		{"log-bytes", &l.LogBytes, "most bytes in one stream's log"},
		{"result-bytes", &l.ResultBytes, "largest result in a stream's log"},
		{"rounds", &l.Rounds, "most rounds of questions of one call"},
		{"call-lifetime", &l.CallLifetime, "longest life of a call, waiting for its user included"},
		{"attempts", &l.Attempts, "replicas that may be lost while they run a call that is safe to run again"},
		{"task-grace", &l.TaskGrace, "a call that may become a task does when it has run for so long"},
		{"task-ttl", &l.TaskTTL, "a task can be read for so long after it has ended; at most 168h"},
		{"task-lifetime", &l.TaskLifetime, "longest life of a task's work, waiting for its user included"},
		{"task-poll", &l.TaskPoll, "how often clients should ask for a task; less often as it gets older, down to a fifth"},
		{"task-polls", &l.TaskPolls, "how often in a second a caller may ask one replica for one task, twice as often at once"},
		{"tasks-per-principal", &l.TasksPerPrincipal, "most tasks of one principal, or of all anonymous callers, those that ended and can be read included"},
		{"task-replicas", &l.TaskReplicas, "Redis replicas that must have a task before the client receives its id, and a used confirmation before its call runs; it takes --redis"},
		{"running-tasks", &l.RunningTasks, "most tasks that run on one replica; more wait for their turn"},
		{"running-tasks-per-principal", &l.RunningTasksPerPrincipal, "most tasks of one principal that run on one replica; more wait for their turn"},
		{"page-size", &l.PageSize, "most entries on one page of a list"},
		{"page-bytes", &l.PageBytes, "most bytes of the entries on one page of a list; a larger entry has a page to itself"},
		{"argument-values", &l.ArgumentValues, "most values in the arguments of one call: objects, arrays and what is in them"},
		{"name-bytes", &l.NameBytes, "most bytes of the names remembered of one backend, which are its own while it is away"},
		{"lease", &l.Lease, "a replica that is silent for longer has lost its calls to the others"},
		{"http2-streams", &l.HTTP2Streams, "most concurrent streams on one HTTP/2 connection"},
		{"connection-age", &l.ConnectionAge, "a connection as old is closed with its next answer, so that its client connects again, to another replica perhaps; 0: none is"},
		{"connections", &l.Connections, "most connections; 0: 0.8 of the limit of open files"},
		{"connections-per-address", &l.ConnectionsPerAddress, "most connections of one address; 0: half of connections"},
		{"start-wait", &l.StartWait, "at start, a backend's first lists may hold up the others for so long; later ones follow as changes"},
	}
}

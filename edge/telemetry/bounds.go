package telemetry

import "sync/atomic"

// Bound is a setting that bounds a resource.
type Bound uint8

// The bounds whose crossing is counted.
const (
	BoundBody Bound = iota
	BoundBatch
	BoundWriteTimeout
	BoundSessions
	BoundCalls
	BoundStreams
	BoundListens
	BoundSubscriptions
	BoundRounds
	BoundLifetime
	BoundResult
	BoundConcurrent
	BoundArguments
	BoundSessionBytes
	BoundPrincipalBytes
	BoundListenBytes
	BoundReadTimeout
	BoundConnections
	BoundAddress
	BoundAddressSessions
	BoundTasks
	BoundPolls
	// BoundToolResult is max-result in the setting catalog.
	BoundToolResult
	// BoundFiles is the process's limit of open files, which is not a setting of the edge.
	BoundFiles
	boundCount
)

// boundNames has the setting of each bound. A bound that is a constant has the name that docs/limits.md gives it.
var boundNames = [boundCount]string{
	"listen.body", "batch", "listen.write-timeout", "clients.sessions", "advanced.calls-per-session", "streams-per-session",
	"advanced.listens-per-principal", "clients.subscriptions", "calls.rounds", "calls.lifetime", "streams.result-bytes", "max-concurrent",
	"advanced.argument-values",
	"sessions.bytes", "clients.bytes", "listen-bytes",
	"listen.read-timeout", "listen.connections", "clients.connections", "advanced.sessions-per-address", "clients.tasks", "advanced.task-polls",
	"catalog.max-result", "files",
}

// String returns the key of the setting, without "backends" for that of a backend.
func (b Bound) String() string { return boundNames[b] }

type bounds [boundCount]atomic.Int64

// Hit counts that a bound was reached.
func (t *Telemetry) Hit(b Bound) {
	if t != nil {
		t.bounds[b].Add(1)
	}
}

func (b *bounds) observe(emit Emit) {
	for i := range b {
		emit(float64(b[i].Load()), AttrBound.String(boundNames[i]))
	}
}

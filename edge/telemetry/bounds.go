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

var boundNames = [boundCount]string{
	"body", "batch", "write-timeout", "sessions-per-principal", "calls-per-session", "streams-per-session",
	"listens-per-principal", "subscriptions", "rounds", "call-lifetime", "result-bytes", "max-concurrent",
	"argument-values",
	"session-bytes", "principal-bytes", "listen-bytes",
	"read-timeout", "connections", "connections-per-address", "sessions-per-address", "tasks-per-principal", "task-polls", "max-result", "files",
}

// String returns the setting's name.
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

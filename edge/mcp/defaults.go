package mcp

import "time"

// What bounds a call or a task that no setting bounds.
const (
	// DefaultRounds is how many rounds of a call ask the client.
	DefaultRounds = 10
	// DefaultAttempts is how many replicas may be lost while they run one round.
	DefaultAttempts = 5
	// DefaultTakeovers is how many lost calls, and how many lost tasks, a replica takes over at a time.
	DefaultTakeovers = 8
	// DefaultCallLifetime and DefaultTaskLifetime are the longest lives, the time that users take to answer included.
	DefaultCallLifetime = 10 * time.Minute
	DefaultTaskLifetime = 24 * time.Hour
)

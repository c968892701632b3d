package mcp

import "time"

// Bounds of calls and tasks if no setting overrides them.
const (
	// DefaultRounds is the number of rounds in which a call may ask the client.
	DefaultRounds = 10
	// DefaultAttempts is the number of replica failures after which a round is not run again.
	DefaultAttempts = 5
	// DefaultTakeovers is the number of concurrent takeovers of lost calls, and of lost tasks, by a
	// replica.
	DefaultTakeovers = 8
	// DefaultCallLifetime and DefaultTaskLifetime are the longest lifetimes, including the time
	// that users take to answer.
	DefaultCallLifetime = 10 * time.Minute
	DefaultTaskLifetime = 24 * time.Hour
)

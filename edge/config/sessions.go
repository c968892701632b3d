package config

import "time"

// Sessions configures the sessions of the stateful revisions.
type Sessions struct {
	// Required is true if requests of the revisions with sessions must name a session over
	// Streamable HTTP. If it is false, a request without a session is served by itself, and a
	// session has no record until its id is used.
	Required bool          `yaml:"required" usage:"false: a request of a revision with sessions that names none is served by itself, see clients.md"`
	TTL      time.Duration `yaml:"ttl" usage:"lifetime of an unused session"`
	Bytes    Bytes         `yaml:"bytes" usage:"most bytes of one session: client info, subscriptions, calls and stream logs"`
}

func defaultSessions() Sessions { return Sessions{Required: true, TTL: time.Hour, Bytes: 32 << 20} }

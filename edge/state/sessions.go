package state

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Session is the record of a legacy session. A loaded Session is a copy that is never written again:
// it may be shared and read without a lock.
type Session struct {
	// ID is random, 128 bits or more, visible ASCII. It authenticates nobody.
	ID string
	// Version is the negotiated revision.
	Version string
	// Principal owns the session; the token is never kept.
	Principal mcp.Principal
	// ClientInfo and Capabilities as sent at initialize; owned.
	ClientInfo, Capabilities json.RawMessage
	// LogLevel set by the client; LogNone: not set.
	LogLevel mcp.LogLevel
	// Initialized: notifications/initialized was seen.
	Initialized bool
	// Subscriptions are resource URIs, in the order they were made.
	Subscriptions []string
	// Digest is what the client last saw of the lists.
	Digest mcp.Digest
	// Attachment counts the standalone streams that were attached: the newest one wins.
	Attachment uint64
	// Serial rises with every change of the record.
	Serial uint64
}

// Patch is one atomic change of a session. Zero members change nothing.
type Patch struct {
	Initialized bool
	LogLevel    *mcp.LogLevel
	Subscribe   string
	Unsubscribe string
	Digest      *mcp.Digest
	// Attach claims the standalone stream: Attachment rises by one.
	Attach bool
}

// Sessions keeps session records. Safe for concurrent use.
type Sessions interface {
	// Create stores a new session; ErrLimit when its principal has too many.
	Create(ctx context.Context, s *Session) error
	// Load reads a session and registers this replica as one of its holders (see Bus); ErrNotFound.
	Load(ctx context.Context, id string) (*Session, error)
	// Update applies a patch and returns the record after it; ErrNotFound; ErrLimit for a
	// subscription too many.
	Update(ctx context.Context, id string, p Patch) (*Session, error)
	// Touch revalidates copies in use: it extends their expiry and returns the serials of those that
	// still exist; an id that is missing in the answer is gone.
	Touch(ctx context.Context, ids []string) (map[string]uint64, error)
	// Delete erases the session, its streams and its calls, whoever runs them. Erasing what is not
	// there is ErrNotFound.
	Delete(ctx context.Context, id string) error
}

// Limits bounds what a medium keeps. Zero members mean the defaults of DefaultLimits.
type Limits struct {
	// SessionTTL is how long an unused session lives.
	SessionTTL time.Duration
	// LogTTL is how long a finished stream can be replayed.
	LogTTL time.Duration
	// LogEvents and LogBytes bound one stream's log; beyond them the oldest progress and log messages
	// are dropped, never requests and responses.
	LogEvents, LogBytes int
	// ResultBytes bounds one request or response in a log.
	ResultBytes int
	// SessionsPerPrincipal bounds the sessions of one principal (of all anonymous callers together).
	SessionsPerPrincipal int
	// StreamsPerSession bounds the unfinished streams of one session.
	StreamsPerSession int
	// Subscriptions bounds the resource subscriptions of one session.
	Subscriptions int
	// Lease is how long a replica may be silent before its calls are taken over.
	Lease time.Duration
}

// DefaultLimits are the documented defaults.
func DefaultLimits() Limits {
	return Limits{
		SessionTTL: time.Hour, LogTTL: 5 * time.Minute,
		LogEvents: 1024, LogBytes: 4 << 20, ResultBytes: 16 << 20,
		SessionsPerPrincipal: 100_000, StreamsPerSession: 256, Subscriptions: 1024,
		Lease: 3 * time.Second,
	}
}

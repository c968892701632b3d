package state

import (
	"cmp"
	"encoding/json"
	"net/netip"
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
	// Principal owns the session; the token is never kept. Its Until is that of the credentials which last the longest,
	// of all that it came with; what else it says is of those that came last.
	Principal mcp.Principal
	// Address is where it was created from; invalid: not known. It is no part of the record: a medium that is shared
	// does not keep it.
	Address netip.Addr
	// ClientInfo and Capabilities as sent at initialize; owned.
	ClientInfo, Capabilities json.RawMessage
	// LogLevel set by the client; LogNone: not set.
	LogLevel mcp.LogLevel
	// Initialized: notifications/initialized was seen.
	Initialized bool
	// Subscriptions are resource URIs, in the order they were made.
	Subscriptions []string
	// Tasks are the ids of those that were made in the session and whose end its client was not told, the oldest first.
	Tasks []string
	// Digest is what the client last saw of the lists.
	Digest mcp.Digest
	// Attachment counts the standalone streams that were attached: the newest one wins.
	Attachment uint64
	// AttachedBy is the Token of the patch that made the newest attachment.
	AttachedBy string
	// Created is when; zero: not known.
	Created time.Time
	// Keep is until when a medium keeps the session and its streams at least, used or not; zero: as its Limits say.
	Keep time.Time
	// Serial rises with every change of the record.
	Serial uint64
}

// Patch is one atomic change of a session: all of it or, after an error, nothing. Zero members change
// nothing, and neither does what is so already: Serial then stays.
type Patch struct {
	// From is the record as the caller knows it; nil: it knows none. While it is in force a medium need not
	// read the record to change it.
	From        *Session
	Initialized bool
	LogLevel    *mcp.LogLevel
	Subscribe   string
	Unsubscribe string
	// TaskMade begins to be among the tasks, of which the oldest go beyond MaxTasks; TaskOver is so no more.
	TaskMade, TaskOver string
	Digest             *mcp.Digest
	// Attach claims the standalone stream: Attachment rises by one, unless the newest attachment has
	// the Token. So with a random Token, chosen once for all repetitions, a patch that is applied again
	// attaches nothing more.
	Attach bool
	Token  string
	// Until, if it is later, becomes that of the principal; nil: it stays.
	Until *time.Time
	// Principal becomes the session's, but for an Until that is earlier: the same caller, by other credentials. nil: it stays.
	Principal *mcp.Principal
}

// MaxTasks bounds the tasks in the record of a session.
const MaxTasks = 64

// Limits bounds what a medium keeps. Zero members mean the defaults of DefaultLimits.
type Limits struct {
	// SessionTTL is how long a session lives after its last use (any method of a medium but Read, Notify, Beat, List
	// and those with use false); a medium may keep it a sixteenth longer, or a second if that is more, and at most a quarter. It does not end while one of its calls is not done or a replica that lives follows one
	// of its streams.
	SessionTTL time.Duration
	// LogTTL is how long a finished stream can be replayed, as far as its session lives.
	LogTTL time.Duration
	// LogEvents and LogBytes bound one stream's log; beyond them the oldest progress and log messages
	// are dropped, never requests and responses.
	LogEvents, LogBytes int
	// ResultBytes bounds one entry of a log that may not be dropped, and a call's state.
	ResultBytes int
	// SessionsPerPrincipal bounds the sessions of one principal (of all anonymous callers together).
	SessionsPerPrincipal int
	// StreamsPerSession bounds the unfinished streams of one session, and as many finished ones are
	// kept for replay: the oldest go first.
	StreamsPerSession int
	// SessionBytes bounds what one session keeps: its record (Session.Bytes), its calls that are not done
	// (Call.Bytes), the state and the answers of those that wait, and the logs of its streams. Finished
	// streams make room, then progress and log messages; a subscription, call, question or answer that
	// still finds none is refused with a RoomError.
	SessionBytes int
	// PrincipalBytes bounds what the sessions of one principal, or of all anonymous callers of one address (mcp.CountedAddress), count for
	// SessionBytes together, with those of all media that share accounts. A session, subscription, call, question, answer or response that finds no
	// room is refused with a PrincipalRoomError; an end of up to 4 KiB is not. Progress and log messages are not refused either: the stream that grows
	// drops its oldest ones. What a medium lends to a session beside what the session needs, at most an eighth or 1 KiB, counts too. Below 0: no bound.
	PrincipalBytes int
	// Subscriptions bounds the resource subscriptions of one session.
	Subscriptions int
	// Lease is how long a replica may be silent before its calls are taken over.
	Lease time.Duration
}

// OrDefaults is l with the defaults in the place of zeros.
func (l Limits) OrDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		SessionTTL: cmp.Or(l.SessionTTL, d.SessionTTL), LogTTL: cmp.Or(l.LogTTL, d.LogTTL),
		LogEvents: cmp.Or(l.LogEvents, d.LogEvents), LogBytes: cmp.Or(l.LogBytes, d.LogBytes),
		ResultBytes:          cmp.Or(l.ResultBytes, d.ResultBytes),
		SessionsPerPrincipal: cmp.Or(l.SessionsPerPrincipal, d.SessionsPerPrincipal),
		StreamsPerSession:    cmp.Or(l.StreamsPerSession, d.StreamsPerSession),
		SessionBytes:         cmp.Or(l.SessionBytes, d.SessionBytes),
		PrincipalBytes:       cmp.Or(l.PrincipalBytes, d.PrincipalBytes),
		Subscriptions:        cmp.Or(l.Subscriptions, d.Subscriptions),
		Lease:                cmp.Or(l.Lease, d.Lease),
	}
}

// ClaimLife is how long a claim lasts under which nothing is written: by then its claimer is lost, or
// never had the claim's reply.
func (l Limits) ClaimLife() time.Duration { return 3 * l.Lease }

// DefaultLimits are the documented defaults.
func DefaultLimits() Limits {
	return Limits{
		SessionTTL: time.Hour, LogTTL: 5 * time.Minute,
		LogEvents: 1024, LogBytes: 4 << 20, ResultBytes: 16 << 20,
		SessionsPerPrincipal: 100_000, StreamsPerSession: 256, SessionBytes: 32 << 20, PrincipalBytes: 256 << 20, Subscriptions: 1024,
		Lease: 3 * time.Second,
	}
}

package state

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Session is the record of a legacy session. A loaded Session is an immutable copy: it may be
// shared and read without a lock.
type Session struct {
	// ID is random, at least 128 bits, visible ASCII. It does not authenticate its bearer.
	ID string
	// Version is the negotiated revision.
	Version string
	// Set is the set of the endpoint at which the session was created, and at which alone it exists.
	// Empty means the root.
	Set string
	// Principal owns the session; the token is never stored. Its Until is the latest of all
	// credentials that the session came with; its other fields are those of the last credentials.
	Principal mcp.Principal
	// Address is the address that the session was created from; invalid means unknown. It is not
	// part of the record: a shared medium does not store it.
	Address netip.Addr
	// ClientInfo and Capabilities are as sent at initialize; owned.
	ClientInfo, Capabilities json.RawMessage
	// LogLevel is the level set by the client. LogNone means not set.
	LogLevel mcp.LogLevel
	// Initialized is true if notifications/initialized has arrived.
	Initialized bool
	// Subscriptions are resource URIs in the order of subscription.
	Subscriptions []string
	// Tasks are the ids of the tasks that were made in the session and whose end its client was not
	// sent, the oldest first.
	Tasks []string
	// Digest is the digest of the lists that the client last saw.
	Digest mcp.Digest
	// Attachment counts the standalone streams that were attached. The newest one wins.
	Attachment uint64
	// AttachedBy is the Token of the patch that made the newest attachment.
	AttachedBy string
	// Created is when the session was created. Zero means unknown.
	Created time.Time
	// Keep is until when a medium keeps the session and its streams at least, used or not. Zero
	// leaves it to Limits.
	Keep time.Time
	// Serial rises with every change of the record.
	Serial uint64
}

// Patch is one atomic change of a session: all of it is applied or, after an error, nothing. Zero
// fields change nothing. If nothing changes, Serial stays.
type Patch struct {
	// From is the record as the caller knows it, or nil. While it is current, a medium need not
	// read the record to change it.
	From        *Session
	Initialized bool
	LogLevel    *mcp.LogLevel
	Subscribe   string
	Unsubscribe string
	// TaskMade is added to the tasks; the oldest beyond MaxTasks are removed. TaskOver is removed.
	TaskMade, TaskOver string
	Digest             *mcp.Digest
	// Attach claims the standalone stream: Attachment rises by one, unless the newest attachment
	// has the Token. With a random Token, chosen once for all repetitions, a repeated patch
	// attaches nothing more.
	Attach bool
	Token  string
	// Until replaces that of the principal if it is later. nil keeps it.
	Until *time.Time
	// Principal, the same caller with other credentials, replaces the session's; an earlier Until
	// does not. nil keeps it.
	Principal *mcp.Principal
}

// MaxTasks bounds the tasks in the record of a session.
const MaxTasks = 64

// Limits bounds what a medium stores. Zero fields mean the values of DefaultLimits.
type Limits struct {
	// SessionTTL is the lifetime of a session after its last use. All methods of a medium use the
	// session, except Read, Notify, Beat, List and those with use false. A medium may keep the
	// session longer by a sixteenth, or by a second if that is more, and at most by a quarter. A
	// session does not end while one of its calls is not done, or while a live replica follows one
	// of its streams.
	SessionTTL time.Duration
	// LogTTL is the time for which a finished stream can be replayed, within the lifetime of its
	// session.
	LogTTL time.Duration
	// LogEvents and LogBytes bound the log of one stream. Beyond them the oldest progress and log
	// messages are dropped, never requests and responses.
	LogEvents, LogBytes int
	// ResultBytes bounds one log entry that may not be dropped, and the state of a call.
	ResultBytes int
	// SessionsPerPrincipal bounds the sessions of one principal. All anonymous callers count as
	// one.
	SessionsPerPrincipal int
	// StreamsPerSession bounds the unfinished streams of one session. As many finished streams are
	// kept for replay; the oldest are dropped first.
	StreamsPerSession int
	// SessionBytes bounds the size of one session: its record (Session.Bytes), its calls that are
	// not done (Call.Bytes), the state and the answers of those that wait, and the logs of its
	// streams. To make room, finished streams are dropped, and then progress and log messages. A
	// subscription, call, question or answer that still does not fit is refused with a RoomError.
	SessionBytes int
	// PrincipalBytes bounds the sum of the sizes (SessionBytes) of all sessions of one principal, or
	// of all anonymous callers of one address (mcp.CountedAddress), over all media that share
	// accounts. Below 0 means no bound.
	//
	// A session, subscription, call, question, answer or response that does not fit is refused with
	// a PrincipalRoomError. A response of up to 4 KiB always fits. Progress and log messages are not
	// refused; instead the growing stream drops its oldest ones. What a medium lends a session
	// beyond its needs also counts: at most an eighth or 1 KiB.
	PrincipalBytes int
	// Subscriptions bounds the resource subscriptions of one session.
	Subscriptions int
	// Lease is the time after its last heartbeat at which a replica's calls are taken over.
	Lease time.Duration
}

// OrDefaults returns l with defaults in place of zeros.
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

// ClaimLife is the lifetime of a claim under which nothing is written. After that its claimer is
// lost, or never got the claim's reply.
func (l Limits) ClaimLife() time.Duration { return 3 * l.Lease }

// DefaultLimits returns the documented defaults.
func DefaultLimits() Limits {
	return Limits{
		SessionTTL: time.Hour, LogTTL: 5 * time.Minute,
		LogEvents: 1024, LogBytes: 4 << 20, ResultBytes: 16 << 20,
		SessionsPerPrincipal: 100_000, StreamsPerSession: 256, SessionBytes: 32 << 20, PrincipalBytes: 256 << 20, Subscriptions: 1024,
		Lease: 3 * time.Second,
	}
}

// SessionInfo is a session as it was read, with what the medium knows in addition to its record.
type SessionInfo struct {
	*Session
	// OpenCalls is the number of calls that are not done, including those that wait for an answer.
	OpenCalls int
	// Expires is when the session ends without further use; later while its calls or streams keep
	// it.
	Expires time.Time
	// Requests are the client's request ids of the calls that are not done, each once and in no
	// particular order. A medium sets them only if the session was loaded with use.
	Requests []string
}

package medium

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// Store is a whole medium as one replica, that is one incarnation of a process, sees it. Its constructor is given what
// the replica does on an Event and what it does when the medium was away (Returning). Safe for concurrent use; each method
// is one atomic step.
type Store interface {
	Sessions
	Calls
	Logs
	Replicas
}

// Sessions keeps the records of sessions.
type Sessions interface {
	// Create stores a new session as it is given, Serial included. ErrLimit when its principal has too many, or it
	// has more bytes than a session may have; ErrExists.
	Create(ctx context.Context, s *state.Session) error
	// Load reads a session. With use it keeps the session alive and registers this replica as one of its holders, as
	// does all that hands out a copy or makes this replica a call's owner; OpenCalls and Expires are then zero.
	// Without, it is a look that changes nothing. ErrNotFound.
	Load(ctx context.Context, id string, use bool) (*state.Sighting, error)
	// Update applies a patch and returns the record after it. ErrNotFound; ErrLimit for a subscription too many, or one
	// that finds no room.
	Update(ctx context.Context, id string, p state.Patch) (*state.Session, error)
	// Touch gives the serials of those of the sessions that exist. With use it keeps them alive, and this replica among
	// their holders, as long as it comes at least every SessionTTL. It is cheap enough to come every second.
	Touch(ctx context.Context, ids []string, use bool) (map[string]uint64, error)
	// Delete erases the session, its streams and its calls, whoever runs them. Erasing it again while its holders can be
	// notified (state.NotifiableFor) does nothing; after that, or if there never was one, it is ErrNotFound.
	Delete(ctx context.Context, id string) error
}

// Calls keeps the calls that run or wait.
type Calls interface {
	// Commit begins the records of w.Begin and the log of w.Stream, and then takes w's step, all or nothing.
	//
	// The records are indexed before they exist, so that no orphan is missed, and are this replica's. They are those of
	// all calls of the stream, whose name has no dot. A record that is there under the same epoch, and nothing was written
	// under that but the step, is a repetition; any other, or another's log of that name, is ErrExists. ErrLimit for a
	// stream too many, unless the step ends it, and where the session has no room. A medium of which a number of copies has to have
	// what begins is state.ErrUnacknowledged where they do not within its time.
	//
	// A step is applied as Record.Apply says and its entries are appended in their places (Write.Placed); to the log
	// of a batch in the order in which they come, under an epoch of the log that begins with every claim, and every Restore
	// that changed something, of one of its calls. In this order:
	// *RewoundError when the record is missing, or w.Epoch is above its epoch; ErrFenced when w.Epoch is below it, or the
	// owner another replica; nil and nothing done when w.N is not above its N; ErrFenced when the call is done or its lease
	// has ended; *RewoundError when w.After is above its N, or the log has entries at w.Seq or behind, which are of a branch that
	// a Restore takes out; ErrExists when an ask's id is that of another of w's, or of
	// another call that waits for its answer; ErrLimit (a state.RoomError) where the session has no room for asks or a
	// state. ErrNotFound when the session is gone. ErrTooLarge, before all of these, for an entry that may not be
	// dropped, or a state, above Limits.ResultBytes.
	Commit(ctx context.Context, w *Write) error
	// Answer records the answer to a pending question of the session, once. The one that completes the set claims the
	// call, as Record.Claim says with the random bits: AnswerCompleted, and the replica owns it. The Record is nil
	// for AnswerUnknown and AnswerDuplicate. The same Token again has the outcome that it had: AnswerCompleted as long as
	// the claim stands and nothing was written under it, else AnswerTaken, never AnswerDuplicate. A set that a Restore
	// completed is an orphan. ErrNotFound when the session is gone; ErrLimit when the answer finds no room: it is still
	// pending.
	Answer(ctx context.Context, session, ask string, a state.Answer, random uint32) (state.AnswerOutcome, *Owned, error)
	// Asking gives the call that waits for the answer to a pending question of the session, as it is; nil: none does. It changes
	// nothing of the call. ErrNotFound when the session is gone.
	Asking(ctx context.Context, session, ask string) (*Record, error)
	// Claim takes a call from its owner, whether or not that one lives, as Record.Claim says. Repeated with the same
	// random bits it gives the same, as long as nothing was written under it. ErrFenced when somebody else was first
	// (the epoch is not w.Epoch), the call is done, or it has come to wait, not past its deadline, and w names an epoch;
	// ErrNotFound. Of several calls with one request id it is the youngest.
	Claim(ctx context.Context, w Which) (*Owned, error)
	// Restore gives back what this replica knows of a call: its record after the last step that was acknowledged to it,
	// and entries in their order. The medium merges them (Record.Merge, MergeLog); of a batch the log is not merged: what it
	// lacks of the entries is appended. runs: this replica runs the call under
	// r.Epoch, and has the lease again if that was lost and stands; without, the lease ends if it is its own, and the call is an
	// orphan unless it waits. Superseded: another owner or the end of the call stands. ErrNotFound when the session is
	// gone. No bound refuses it: what is restored was within them.
	Restore(ctx context.Context, r *Record, entries []Entry, runs bool) (Verdict, error)
}

// Owned is a call that the replica which asked for it now owns, or with AnswerTaken the call as it is.
type Owned struct {
	Record *Record
	// Session as it is now.
	Session *state.Session
}

// Which names a call to claim: by its id at an epoch (a takeover), or by its id or the client's request id at any.
type Which struct {
	Session string
	// Call and Epoch; zero: any epoch. Or RequestID, as JSON text.
	Call      string
	Epoch     Epoch
	RequestID string
	// Lapsed: the owner's heartbeat lapsed though it had not left, so the call may be what ends whoever runs it.
	Lapsed bool
	// Cancel: the client has cancelled the request (Record.Cancelled).
	Cancel bool
	// Random are the bits of the new epoch, drawn once for all repetitions.
	Random uint32
}

// Logs reads logs.
type Logs interface {
	// Read gives the page behind a position (PageOf), of at most max entries; 0: of the medium's choice. It changes
	// nothing. ErrNotFound when the session or the stream is gone.
	Read(ctx context.Context, session, stream string, after Position, max int) (Page, error)
	// Glance gives the call of the stream of that name in each of the sessions, one call to a stream; nil for what is gone. It is no use of the
	// sessions, and reads nothing in proportion to logs, params, states or questions.
	Glance(ctx context.Context, sessions []string, stream string) ([]*Glance, error)
	// Follow calls wake whenever the log may have grown, or gone: a hint, which may come for nothing or be lost. wake does not
	// block and does not call the medium. Follow, read, then wait. stop ends it; call it once, from anywhere but wake.
	Follow(session, stream string, wake func()) (stop func())
}

// Glance is what a medium tells of the one call of a stream without its log.
type Glance struct {
	Session *state.Session
	// Brief is Record.Brief.
	Brief []byte
	// Waits are the ids of the questions that have no answer, in the order in which they were asked; nil: the call does not wait.
	Waits []string
	// Ended: the call is done.
	Ended bool
}

// Replicas lets the replicas of a medium know of each other.
type Replicas interface {
	// Beat says that this incarnation lives, and then gives at most max orphans in no order: calls that are not done and
	// whose owner is lost or whose lease ended without an owner, whose claim nothing was written under for
	// Limits.ClaimLife, that wait with all answers there, or whose deadline has passed. A replica that is silent for longer than Limits.Lease
	// is lost, its beginning counting as a beat. leaving ends the incarnation in order: its leases end at once, without a
	// lapse; from then on Beat is ErrFenced.
	Beat(ctx context.Context, max int, leaving bool) ([]Which, error)
	// Notify tells every other holder of the session and returns when all have handled the event, at the latest after 250
	// ms. A lost event costs time, never correctness.
	Notify(ctx context.Context, b state.SessionEvent) error
	// List returns at most max sessions, of any principal and in no order, behind a cursor, and the
	// cursor behind them; empty: from the beginning, and: that was the last. It is no use of them. A page may be short, or
	// empty, and not the last: the work for one is bounded. What is there all the while, unused, comes
	// once; what is made, used or ended meanwhile may be missing or come again. state.ErrCursor.
	List(ctx context.Context, cursor string, max int) (page []*state.Sighting, next string, err error)
	// Of returns the ids of a principal's sessions, each once and in no order; at most as many as it may have. It is no use of them, and
	// some may have ended of late.
	Of(ctx context.Context, owner mcp.Principal) (ids []string, err error)
}

// Hooks are what the constructor of a medium is given by its replica. Both are called from goroutines of the medium's and may block.
type Hooks struct {
	// Event handles what another replica tells; it returns when the news has taken effect here.
	Event func(state.SessionEvent)
	// Returning hears that the medium was away and may have lost what it acknowledged: the connection broke, or another
	// master answers. May come for nothing. Nil: nobody.
	Returning func()
}

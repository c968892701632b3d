package medium

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// Store is a medium as seen by one replica, that is one incarnation of a process. Its constructor
// is given the replica's Hooks. It is safe for concurrent use; each method is one atomic step.
type Store interface {
	Sessions
	Calls
	Logs
	Replicas
}

// Sessions keeps the records of sessions.
type Sessions interface {
	// Create stores a new session as given, Serial included. ErrLimit: its principal has too many
	// sessions, or it has more bytes than a session may have. ErrExists.
	Create(ctx context.Context, s *state.Session) error
	// Load reads a session. With use it keeps the session alive and registers this replica as a
	// holder, as does every operation that returns a copy or makes this replica the owner of a
	// call; OpenCalls and Expires are then zero. Without use it changes nothing, and Requests is
	// nil. ErrNotFound.
	Load(ctx context.Context, id string, use bool) (*state.SessionInfo, error)
	// Update applies a patch and returns the record after it. ErrNotFound. ErrLimit: a subscription
	// is one too many or does not fit.
	Update(ctx context.Context, id string, p state.Patch) (*state.Session, error)
	// Touch returns the serials of those sessions that exist. With use it keeps them alive, with
	// this replica among their holders, if it is called at least every SessionTTL. It is cheap
	// enough to call every second.
	Touch(ctx context.Context, ids []string, use bool) (map[string]uint64, error)
	// Delete erases the session, its streams and its calls, whichever replicas run them. Erasing it
	// again while its holders can be notified (state.NotifiableFor) does nothing; after that, or if
	// it never existed, Delete returns ErrNotFound.
	Delete(ctx context.Context, id string) error
}

// Calls keeps the calls that run or wait.
type Calls interface {
	// Commit begins the records of w.Begin and the log of w.Stream, and then takes w's step, all or
	// nothing.
	//
	// The records are indexed before they exist, so that no orphan is missed, and this replica owns
	// them. They are the records of all calls of the stream, whose name has no dot. If a record
	// exists under the same epoch, and nothing but the step was written under it, the write is a
	// repetition; any other existing record, or another log of that name, is ErrExists. ErrLimit:
	// one stream too many, unless the step ends it, or the session has no room. The other holders
	// of the session get an event state.RequestBegan for each record, unless the step ends it;
	// Commit does not wait for them. state.ErrUnacknowledged: a medium that requires a number of
	// copies did not reach it in time.
	//
	// A step is applied as by Record.Apply, and its entries are appended at their places
	// (Write.Placed). In the log of a batch they are appended in the order of arrival, under an
	// epoch of the log, which begins with each claim, and each effective Restore, of one of its
	// calls. The checks, in this order: ErrTooLarge if an entry that may not be dropped, or a
	// state, exceeds Limits.ResultBytes. ErrNotFound if the session does not exist. *RewoundError
	// if the record is missing or w.Epoch is above its epoch. ErrFenced if w.Epoch is below it or
	// another replica is the owner. nil, without effect, if w.N is not above its N. ErrFenced if
	// the call is done or its lease has ended. *RewoundError if w.After is above its N, or the log
	// has entries at or after w.Seq, which belong to a branch that a Restore removes. ErrExists if
	// the id of an ask is that of another ask of w, or of another waiting call. ErrLimit (a
	// state.RoomError) if the session has no room for asks or a state.
	Commit(ctx context.Context, w *Write) error
	// Answer records the answer to an open question of the session, once. The answer that completes
	// the set claims the call, as by Record.Claim with the random bits: the status is
	// AnswerCompleted, and this replica is the owner. Owned is nil for AnswerUnknown and
	// AnswerDuplicate. A repeated Token has the same status: AnswerCompleted as long as the claim
	// stands and nothing was written under it, else AnswerTaken, never AnswerDuplicate. A set that
	// a Restore completed is an orphan. ErrNotFound: the session does not exist. ErrLimit: the
	// answer does not fit; the question stays open.
	Answer(ctx context.Context, session, ask string, a state.Answer, random uint32) (state.AnswerStatus, *Owned, error)
	// Asking returns the call that waits for the answer to an open question of the session, or nil.
	// It does not change the call. ErrNotFound: the session does not exist.
	Asking(ctx context.Context, session, ask string) (*Record, error)
	// Claim takes over a call from its owner, whether that is alive or not, by the rules of
	// Record.Claim. If it is repeated with the same random bits, it returns the same result as long
	// as nothing was written under the claim. Of several calls with one request id it takes the
	// youngest.
	//
	// The error is ErrFenced if another replica was first (the epoch is not w.Epoch), if the call is
	// done, or if w has an epoch and the call waits before its deadline. It is ErrNotFound if there
	// is no such call.
	Claim(ctx context.Context, w ClaimTarget) (*Owned, error)
	// Restore restores what this replica knows of a call: its record after the last step that it
	// had acknowledged, and entries in their order. The medium merges them (Record.Merge,
	// MergeLog); the log of a batch is not merged, but entries that it lacks are appended. With
	// runs, this replica runs the call under r.Epoch, and regains a lost lease if the epoch stands.
	// Without, the replica's own lease ends, and the call is an orphan unless it waits. Superseded:
	// another owner or the end of the call stands. ErrNotFound: the session does not exist. No
	// bound refuses it, because what it restores was within the bounds.
	Restore(ctx context.Context, r *Record, entries []Entry, runs bool) (Verdict, error)
}

// Owned is a call that the asking replica now owns; with AnswerTaken, the call as it is.
type Owned struct {
	Record *Record
	// Session is the session as it is now.
	Session *state.Session
}

// ClaimTarget names a call to claim: by its id and an epoch (a takeover), or by its id or the client's
// request id at any epoch.
type ClaimTarget struct {
	Session string
	// Call and Epoch, where 0 means any epoch; or RequestID, as JSON text.
	Call      string
	Epoch     Epoch
	RequestID string
	// Latest is the latest deadline that the call may have: a later call may use RequestID again.
	// The call may also have none. Zero means any deadline. Deadlines are by the clocks of the replicas
	// that began the calls: if these differ, a call of the last moments may be missed.
	Latest time.Time
	// Lapsed means that the owner's heartbeat lapsed although it had not left, so the call may be
	// what crashes its owners.
	Lapsed bool
	// Lost is the name of the replica that was lost, for the log. Empty means none, or unknown.
	Lost string
	// Cancel means that the client has cancelled the request (Record.Cancelled).
	Cancel bool
	// CancelledBy is, with Cancel, the canceller. The medium stores the text with the record, for
	// the replica that ends the call. Empty means unknown.
	CancelledBy string
	// Random are the random bits of the new epoch, drawn once for all repetitions.
	Random uint32
}

// Misses reports whether a call with a deadline is later than the target; zero means without a deadline.
func (w *ClaimTarget) Misses(deadline time.Time) bool {
	return !w.Latest.IsZero() && deadline.After(w.Latest)
}

// Logs reads logs.
type Logs interface {
	// Read returns the page after a position (PageOf), of at most max entries; 0 lets the medium
	// choose. It changes nothing. ErrNotFound: the session or the stream does not exist.
	Read(ctx context.Context, session, stream string, after Position, max int) (Page, error)
	// Summaries returns, for each of the sessions, the summary of the call in its stream of that name;
	// each such stream has one call. Missing ones are nil. It does not use the sessions, and its cost
	// does not depend on logs, params, states or questions.
	Summaries(ctx context.Context, sessions []string, stream string) ([]*Summary, error)
	// Follow calls wake whenever the log may have grown or gone. This is a hint, which may be
	// spurious or lost. wake must not block or call the medium. Follow, read, then wait. stop ends
	// it; call it once, and not from wake.
	Follow(session, stream string, wake func()) (stop func())
}

// Summary describes the only call of a stream without its log.
type Summary struct {
	Session *state.Session
	// Brief is Record.Brief.
	Brief []byte
	// Waits are the ids of the unanswered questions in the order of asking. nil means that the call
	// does not wait.
	Waits []string
	// Ended is true if the call is done.
	Ended bool
}

// Replicas coordinates the replicas of a medium.
type Replicas interface {
	// Beat is the heartbeat of this incarnation. It returns at most max orphans in no particular
	// order: calls that are not done and whose owner is lost, whose lease ended without an owner,
	// whose claim had no write for Limits.ClaimLife, which wait with all answers there, or whose
	// deadline has passed. A replica that is silent for longer than Limits.Lease, while the medium
	// can be reached, is lost; its start counts as a beat. When the medium was away, every replica
	// has a whole lease from its return on. leaving ends the incarnation: its leases end at once,
	// without a lapse; from then on Beat returns ErrFenced. A Beat does not wait for another one
	// that looks for orphans; it then returns none.
	Beat(ctx context.Context, max int, leaving bool) ([]ClaimTarget, error)
	// Notify sends an event to every other holder of the session. It returns when all have handled
	// it, or after 250 ms. A lost event costs time, never correctness.
	Notify(ctx context.Context, b state.SessionEvent) error
	// List returns at most max sessions, of any principal and in no particular order, after a
	// cursor, and the cursor after them. An empty cursor begins the list; an empty result cursor
	// ends it. It does not use the sessions. A page may be short or empty without being the last,
	// because its cost is bounded. A session that exists throughout, unused, is listed once; one
	// that is created, used or ended meanwhile may be missing or listed again. state.ErrCursor.
	List(ctx context.Context, cursor string, max int) (page []*state.SessionInfo, next string, err error)
	// Of returns the ids of a principal's sessions, each once and in no particular order; at most
	// as many as it may have. It does not use the sessions, and some may have ended recently.
	Of(ctx context.Context, owner mcp.Principal) (ids []string, err error)
}

// Hooks are the callbacks of a medium. The replica passes them to the constructor. Goroutines of
// the medium call them, and they may block.
type Hooks struct {
	// Event handles an event from another replica. It returns when the event has taken effect here.
	Event func(state.SessionEvent)
	// Returning reports that the medium was away and may have lost acknowledged writes: the
	// connection broke, or another master answers. It may be spurious. nil ignores it.
	Returning func()
}

package state

import (
	"context"
	"time"
)

// Replicas finds what lost replicas left behind. Safe for concurrent use.
type Replicas interface {
	// Beat says that this incarnation lives. A replica that is silent for longer than Limits.Lease, its
	// beginning counting as a beat, has lost its calls. After Leave it is ErrFenced.
	Beat(ctx context.Context) error
	// Orphans returns at most max calls that are not done and whose owner is lost, whose claim was not
	// written under for Limits.ClaimLife, or whose deadline has passed, as what to Claim, in no order.
	// Those that are this replica's own by their record are orphans too if runs, which is asked about
	// each of them, says that it does not run them: a medium that lost writes may have lost what ended
	// them. A nil runs stands for always true; it is called without locks and must not call the medium.
	Orphans(ctx context.Context, max int, runs func(Which) bool) ([]Which, error)
	// Leave ends this incarnation in order: its leases are released at once.
	Leave(ctx context.Context) error
}

// BellKind is what a bell tells.
type BellKind uint8

// The kinds of bells.
const (
	// BellChanged: the session's record changed; load it again.
	BellChanged BellKind = iota + 1
	// BellDeleted: the session is gone.
	BellDeleted
	// BellCancelled: the client cancelled the request RequestID.
	BellCancelled
	// BellRoots: the client's roots changed.
	BellRoots
	// BellReturned: the medium was away, and may have lost what it acknowledged last. It is not rung and
	// names no session: the medium tells it.
	BellReturned
)

// Bell is a hint about a session to the replicas that hold it. The record tells the truth.
type Bell struct {
	Kind      BellKind
	Session   string
	RequestID string
}

// Ringable is how long the holders of an erased session can still be rung.
const Ringable = 10 * time.Second

// Bus carries hints between replicas. A lost hint costs time, never correctness. Safe for concurrent use.
type Bus interface {
	// Ring tells every other holder of the session and returns when all have handled the bell, at
	// the latest after 250 ms. The holders of an erased session can be rung for Ringable more: erase
	// first, then ring.
	Ring(ctx context.Context, b Bell) error
	// Answering sets who handles this replica's bells; called once, before the first Load.
	Answering(fn func(Bell))
	// Follow wakes a reader of a stream's log: the channel holds a token whenever the log may have
	// grown, or gone, since the last receive. Register, read, then wait. stop releases it; call it once.
	Follow(session, stream string) (wake <-chan struct{}, stop func())
}

// Store is a whole medium as one replica sees it.
type Store interface {
	Sessions
	Log
	Calls
	Replicas
	Bus
}
